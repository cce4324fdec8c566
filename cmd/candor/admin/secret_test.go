package admin_test

import (
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

// secretState is the JSON of the commands of a rotation.
type secretState struct {
	AccountID     string `json:"account_id"`
	Livemode      bool
	State         string
	NextSecret    string     `json:"next_secret"`
	NextSince     *time.Time `json:"next_since"`
	PreviousUntil *time.Time `json:"previous_until"`
}

// secretCommands runs the commands of a rotation.
type secretCommands struct {
	*testing.T
	env     process.Environment
	account string
}

func newSecretCommands(t *testing.T) secretCommands {
	t.Helper()
	env := process.NewEnvironment(t)
	return secretCommands{t, env, process.CreateAccount(t, env).AccountID}
}

// says runs a step, checks its exit code and output, and returns the output.
func (c secretCommands) says(step string, code int, want ...string) string {
	c.Helper()
	words := strings.Fields("webhooks secret " + step)
	r := process.Run(c.T, c.env, append(words, "--account", c.account)...)
	for _, text := range want {
		if r.Code != code || !strings.Contains(r.Stdout+r.Stderr, text) {
			c.Errorf("candor %s: exit code %d, %q; want %d and %q", words, r.Code, r.Stdout+r.Stderr, code, text)
		}
	}
	return r.Stdout + r.Stderr
}

// An operator is led through a rotation: each output names the next command.
func TestSecretIsRotatedByCommand(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := newSecretCommands(t)
	step := func(name string) string { return "candor webhooks secret " + name + " --account " + c.account + "\n" }
	c.says("show-state", 0, "Acme Loans", "test mode", "one secret", step("next"))
	c.says("switch", 1, "There is no next webhook secret")
	made := c.says("next", 0, "shown once", "webhooks test --account "+c.account, step("switch"), step("abandon"))
	if strings.Count(made, "whsec_") != 1 {
		t.Errorf("next printed %q", made)
	}
	if waiting := c.says("show-state", 0, "There is a next secret since", step("switch")); strings.Contains(waiting, "whsec_") {
		t.Errorf("show-state shows a secret: %q", waiting)
	}
	c.says("switch", 0, "Switched", "within 15 seconds", "can be restored until", step("restore"))
	c.says("restore", 0, "Restored", "There is a next secret since", step("switch"))
	var audited []string
	err := dbtest.Open(t, c.env["DATABASE_URL"]).Raw().Select(&audited,
		`SELECT action || ' by ' || actor_kind FROM audit_log WHERE action LIKE 'webhook_secret.%' ORDER BY at`)
	want := "webhook_secret.next_made by operator, webhook_secret.switched by operator, webhook_secret.restored by operator"
	if got := strings.Join(audited, ", "); err != nil || got != want {
		t.Errorf("the audit log has %s, %v; want %s", got, err, want)
	}
	c.account = "acct_1"
	c.says("next", 1, "is not an account id")
	c.account = "acct_00000000000000000000000000"
	c.says("next", 1, "not found")
}

func TestNextSecretIsAbandonedByCommand(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := newSecretCommands(t)
	state := func(step string) secretState {
		return process.RunJSON[secretState](t, c.env, "webhooks", "secret", step, "--live", "--account", c.account)
	}
	next := state("next")
	if next.AccountID != c.account || !next.Livemode || next.State != "rotating" || !strings.HasPrefix(next.NextSecret, "whsec_") ||
		next.NextSince == nil || next.PreviousUntil != nil {
		t.Errorf("next --json printed %+v", next)
	}
	c.says("next --live", 1, "next webhook secret already", "Switch to it or abandon it first")
	c.says("show-state", 0, "test mode", "There is no next secret")
	if shown := state("show-state"); shown.State != "rotating" || shown.NextSecret != "" || shown.NextSince == nil {
		t.Errorf("show-state --json printed %+v", shown)
	}
	c.says("abandon --live", 0, "live mode", "Abandoned", "There is no next secret", "secret next --account "+c.account+" --live\n")
	c.says("abandon --live", 1, "There is no next webhook secret")
	if r := process.Run(t, c.env, "webhooks", "secret", "next"); r.Code != 2 || !strings.Contains(r.Stderr, "needs --account") {
		t.Errorf("without an account: exit code %d, %q", r.Code, r.Stderr)
	}
}
