// Package scripts tests the scripts and the documents.
package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckVulnerabilities runs the script with a stub for govulncheck, which
// takes a minute to build.
func TestCheckVulnerabilities(t *testing.T) {
	t.Parallel()
	note, err := os.ReadFile("../doc/vulnerabilities-checked")
	if err != nil {
		t.Fatal(err)
	}
	const version = `echo "Go: go1.26"; echo "DB updated: 2026-08-21 20:38:00 +0000 UTC"; `
	for _, c := range []struct {
		name, govulncheck string
		stdout, stderr    []string
		code              int
	}{
		{
			"out of reach",
			`echo "govulncheck: fetching vulnerabilities: Get https://vuln.go.dev/index/db.json: dial tcp: lookup vuln.go.dev: no such host"; exit 1`, nil,
			[]string{"*****\n", "NOT CHECKED", "no such host", "Last checked: " + strings.TrimSpace(string(note)), "make vulnerabilities"},
			0,
		},
		{"nothing found", version + `exit 0`, []string{"nothing with a known vulnerability", "2026-08-21"}, nil, 0},
		{"found", version + `echo "Vulnerability #1: GO-2026-0001"; exit 3`, nil, []string{"GO-2026-0001"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+c.govulncheck+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr strings.Builder
			cmd := exec.Command("sh", "check-vulnerabilities.sh")
			cmd.Env = append(os.Environ(), "GOVULNCHECK="+fake)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run() // the exit code is checked below
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			for _, want := range c.stdout {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("stdout lacks %q:\n%s", want, stdout.String())
				}
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr.String())
				}
			}
			if now, err := os.ReadFile("../doc/vulnerabilities-checked"); err != nil || string(now) != string(note) {
				t.Errorf("the check changed doc/vulnerabilities-checked to %q, %v", now, err)
			}
		})
	}
}
