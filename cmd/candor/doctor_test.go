package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/process"
)

// report is what candor doctor --json prints.
type report struct {
	OK     bool `json:"ok"`
	Checks []struct{ Check, Status, Result, Remedy string }
}

// The doctor finds no fault in a service that runs, and tells what is wrong with one
// that can't start, with exit code 1. Its output has no secret.
func TestDoctor(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	process.Serve(t, env, "serve")
	testkit.Await(t, "a healthy report", func() bool {
		r := process.Run(t, env, "doctor", "--json")
		var healthy report
		return r.Code == 0 && json.Unmarshal([]byte(r.Stdout), &healthy) == nil && healthy.OK && len(healthy.Checks) > 10
	})

	broken := process.ProductionEnvironment(t, "postgres://u:hidden@127.0.0.1:1/candor?sslmode=disable").
		With("CANDOR_SMTP_URL", "smtp://u:hidden@127.0.0.1:1", "CANDOR_MAIL_FROM", "a@example.com")
	r := process.Run(t, broken, "doctor", "--url", "https://10.0.0.1/hidden")
	failed := regexp.MustCompile(`^candor: 3 checks failed:\n  database: .+\n  email: .+\n  webhooks: .+\n$`)
	if r.Code != 1 || !failed.MatchString(r.Stderr) {
		t.Errorf("exit code %d, %q; want 1 and three failed checks:\n%s", r.Code, r.Stderr, r.Stdout)
	}
	for _, want := range []string{"connection refused", "DATABASE_URL is right", "CANDOR_SMTP_URL", "refused_target",
		"not checked without the database"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("printed no %q:\n%s", want, r.Stdout)
		}
	}
	if strings.Contains(r.Stdout+r.Stderr, "hidden") || strings.Contains(r.Stdout, "AAAA") {
		t.Errorf("printed a secret:\n%s", r.Stdout)
	}

	r = process.Run(t, process.Environment{"CANDOR_ENV": "production"}, "doctor", "--json")
	var misconfigured report
	if err := json.Unmarshal([]byte(r.Stdout), &misconfigured); r.Code != 1 || err != nil || misconfigured.OK ||
		!strings.Contains(misconfigured.Checks[0].Result, "DATABASE_URL is missing") {
		t.Errorf("without a configuration: exit code %d, %v, %s", r.Code, err, r.Stdout)
	}
}
