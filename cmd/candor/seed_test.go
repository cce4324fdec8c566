package main_test

import (
	"strings"
	"testing"

	"candor/internal/demo"
	"candor/internal/testkit/dbtest"
)

func TestDemoSeed(t *testing.T) {
	t.Parallel()
	dsn := dbtest.DSN(t)
	refused := command(t, production(t, dsn), "demo", "seed", "--sessions", "1")
	if refused.code != 1 || !strings.Contains(refused.stderr, "CANDOR_ENV is production") {
		t.Errorf("in production: exit code %d, %q", refused.code, refused.stderr)
	}
	env := environment{"DATABASE_URL": dsn, "CANDOR_DATA_DIR": t.TempDir()}
	seeded := command(t, env, "demo", "seed", "--sessions", "20")
	if seeded.code != 0 {
		t.Fatalf("exit code %d: %s", seeded.code, seeded.stderr)
	}
	for _, want := range []string{"Harbour Lending has 20 sessions", "http://localhost:8080/dashboard", "owner ", "developer ", "support ", "finance ", demo.Password} {
		if !strings.Contains(seeded.stdout, want) {
			t.Errorf("it doesn't say %q:\n%s", want, seeded.stdout)
		}
	}
	again := command(t, env, "demo", "seed", "--sessions", "20")
	if again.code != 1 || !strings.Contains(again.stderr, "already") || !strings.Contains(again.stderr, "delete the data folder") {
		t.Errorf("again: exit code %d, %q, want to be told how to start afresh", again.code, again.stderr)
	}
}
