package main_test

import (
	"regexp"
	"strings"
	"testing"

	"candor/internal/platform/keyring"
)

// An operator retires a secret key: adds a new one, reseals, checks, and takes
// the old one away. Away too early, check and start say what is missing.
func TestSecretKeyIsRetired(t *testing.T) {
	t.Parallel()
	old, fresh := keyring.Generate("old"), keyring.Generate("fresh")
	env := testEnvironment(t)
	first, early := env.with("CANDOR_SECRET_KEYS", old), env.with("CANDOR_SECRET_KEYS", fresh)
	createAccount(t, first)
	says := func(env environment, code int, name string, want ...string) {
		t.Helper()
		r := command(t, env, append([]string{"keys"}, name)...)
		for _, text := range want {
			if r.code != code || !regexp.MustCompile(text).MatchString(r.stdout+r.stderr) {
				t.Errorf("candor keys %s: exit code %d, %q; want %d and %q", name, r.code, r.stdout+r.stderr, code, text)
			}
		}
	}
	says(first, 0, "check", `webhook secrets +old +2 +yes`)
	says(early, 1, "check", `webhook secrets +old +2 +no`, `add that key to CANDOR_SECRET_KEYS`)
	says(early, 1, "reseal", `webhook secrets +0 +2\n`, `add that key`)
	p := serve(t, early, "web")
	p.waitFor(regexp.MustCompile(`isn't configured.*webhook secrets.*old.*2`))
	p.stop()

	both := env.with("CANDOR_SECRET_KEYS", fresh+","+old)
	type resealed struct {
		Kind           string
		Resealed, Left int
	}
	for i, want := range []int{2, 0} {
		for _, r := range commandJSON[[]resealed](t, both, "keys", "reseal") {
			if r.Kind == "webhook secrets" && r.Resealed != want || r.Left != 0 {
				t.Errorf("run %d: %+v, want %d", i, r, want)
			}
		}
	}
	says(early, 0, "check", `webhook secrets +fresh +2 +yes`)
	p = serve(t, early, "web")
	p.stop()
	if log := p.stderr.String() + p.stdout.String(); strings.Contains(log, "isn't configured") {
		t.Errorf("the start still says %q", log)
	}
}
