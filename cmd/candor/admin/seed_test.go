package admin_test

import (
	"strings"
	"testing"

	"candor/internal/demo"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

func TestDemoSeed(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.DSN(t)
	refused := process.Run(t, process.ProductionEnvironment(t, dsn), "demo", "seed", "--sessions", "1")
	if refused.Code != 1 || !strings.Contains(refused.Stderr, "CANDOR_ENV is production") {
		t.Errorf("in production: exit code %d, %q", refused.Code, refused.Stderr)
	}
	env := process.Environment{"DATABASE_URL": dsn, "CANDOR_DATA_DIR": t.TempDir()}
	seeded := process.Run(t, env, "demo", "seed", "--sessions", "20")
	if seeded.Code != 0 {
		t.Fatalf("exit code %d: %s", seeded.Code, seeded.Stderr)
	}
	for _, want := range []string{"Harbour Lending has 20 sessions", "http://localhost:8080/dashboard", "owner ", "developer ",
		"support ", "finance ", demo.Password} {
		if !strings.Contains(seeded.Stdout, want) {
			t.Errorf("it doesn't say %q:\n%s", want, seeded.Stdout)
		}
	}
	again := process.Run(t, env, "demo", "seed", "--sessions", "20")
	if again.Code != 1 || !strings.Contains(again.Stderr, "already") || !strings.Contains(again.Stderr, "delete the data folder") {
		t.Errorf("again: exit code %d, %q, want how to start over", again.Code, again.Stderr)
	}
}
