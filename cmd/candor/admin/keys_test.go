package admin_test

import (
	"regexp"
	"strings"
	"testing"

	"candor/internal/platform/keyring"
	"candor/internal/testkit"
	"candor/internal/testkit/process"
)

// An operator retires a secret key: adds a new one, reseals, checks, and
// removes the old one. If it is removed too early, check and start say what is
// missing.
func TestSecretKeyIsRetired(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	old, fresh := keyring.Generate("old"), keyring.Generate("fresh")
	env := process.NewEnvironment(t)
	first, early := env.With("CANDOR_SECRET_KEYS", old), env.With("CANDOR_SECRET_KEYS", fresh)
	process.CreateAccount(t, first)
	says := func(env process.Environment, code int, name string, want ...string) {
		t.Helper()
		r := process.Run(t, env, append([]string{"keys"}, name)...)
		for _, text := range want {
			if r.Code != code || !regexp.MustCompile(text).MatchString(r.Stdout+r.Stderr) {
				t.Errorf("candor keys %s: exit code %d, %q; want %d and %q", name, r.Code, r.Stdout+r.Stderr, code, text)
			}
		}
	}
	says(first, 0, "check", `webhook secrets +old +2 +yes`)
	says(early, 1, "check", `webhook secrets +old +2 +no`, `add that key to CANDOR_SECRET_KEYS`)
	says(early, 1, "reseal", `webhook secrets +0 +2\n`, `add that key`)
	p := process.Serve(t, early, "web")
	p.WaitFor(regexp.MustCompile(`isn't configured.*webhook secrets.*old.*2`))
	p.Stop()

	both := env.With("CANDOR_SECRET_KEYS", fresh+","+old)
	type resealed struct {
		Kind           string
		Resealed, Left int
	}
	for i, want := range []int{2, 0} {
		for _, r := range process.RunJSON[[]resealed](t, both, "keys", "reseal") {
			if r.Kind == "webhook secrets" && r.Resealed != want || r.Left != 0 {
				t.Errorf("run %d: %+v, want %d", i, r, want)
			}
		}
	}
	says(early, 0, "check", `webhook secrets +fresh +2 +yes`)
	p = process.Serve(t, early, "web")
	p.Stop()
	if log := p.Stderr.String() + p.Stdout.String(); strings.Contains(log, "isn't configured") {
		t.Errorf("the start still says %q", log)
	}
}
