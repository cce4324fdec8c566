// Package openapi checks the API's description as partners use it: linters read
// it, generators make clients of it, and the clients talk to the running service
// through a proxy that compares every request and answer with the description.
package openapi

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
)

// TestToolchainClients lints the description, generates clients with five generators, and takes
// each client from a new session to the customer's answers. doc/benchmarks.md has the results.
func TestToolchainClients(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	description := save(t, web.URL+"/v1/openapi.json", "$0")
	published := save(t, web.URL+"/v1/openapi.json", "https://candor.example") // linters refuse http

	proxied := proxy(t, description, web.URL+"/v1")
	partner := func(t *testing.T, words ...string) {
		t.Helper()
		// Each has its own account: it looks for its session at the head of the list.
		account := process.CreateAccount(t, env, "--email", strings.ToLower(rand.Text())+"@acme.example")
		converse(t, web, exec.CommandContext(t.Context(), words[0], append(words[1:], proxied, account.TestKey)...))
	}
	partnerInGo := func(t *testing.T, folder string) {
		t.Helper()
		program := filepath.Join(t.TempDir(), "partner")
		goTool(t, "vet", folder)
		goTool(t, "build", "-o", program, folder)
		partner(t, program)
	}
	checks := map[string]func(*testing.T){
		"redocly": func(t *testing.T) {
			node(t, "redocly", "lint", "--format=github-actions", "--extends=recommended-strict", published)
		},
		"spectral": func(t *testing.T) { node(t, "spectral", "lint", "--fail-severity=hint", published) },
		"openapi-typescript": func(t *testing.T) {
			node(t, "openapi-typescript", description, "--output", "generated/api.ts")
			node(t, "tsc", "--project", ".")
			partner(t, "node", "generated/client.js")
		},
		"hey-api and orval": func(t *testing.T) {
			node(t, "openapi-ts", "--input", description, "--output", "generated/hey", "--plugins", "@hey-api/client-fetch",
				"@hey-api/sdk", "@hey-api/typescript", "zod")
			node(t, "orval", "--input", description, "--output", "generated/orval/api.ts", "--client", "fetch")
			node(t, "orval", "--input", description, "--output", "generated/orval/zod.ts", "--client", "zod")
			node(t, "tsc", "--project", "tsconfig.zod.json")
			partner(t, "node", "generated/zod.js", "hey")
			partner(t, "node", "generated/zod.js", "orval")
		},
		"oapi-codegen": func(t *testing.T) {
			goTool(t, "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", description)
			partnerInGo(t, ".")
		},
		"ogen": func(t *testing.T) {
			goTool(t, "tool", "ogen", "-config", "ogen/ogen.yaml", "-target", "ogen/generated", "-package", "generated", "-clean",
				description)
			partnerInGo(t, "./ogen")
		},
	}
	t.Run("all", func(t *testing.T) {
		for name, check := range checks {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				check(t)
			})
		}
	})
	worker.Stop()
}

// save keeps the description in a file, as a service at the address has it; $0 is its own.
func save(t *testing.T, url, address string) string {
	t.Helper()
	status, _, body := process.NewPartner(t, strings.TrimSuffix(url, "/v1/openapi.json"), "").Do(http.MethodGet, "/openapi.json", "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d", url, status)
	}
	body = regexp.MustCompile(`http://localhost:\d+`).ReplaceAll(body, []byte(address))
	name := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// node runs a program of node_modules. What it prints is shown if it fails or
// warns.
func node(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", name), args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "::warning") {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = "goclient"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// proxy starts Prism before the service. It answers 4xx or 5xx itself, with a
// problem document, if a request or an answer isn't as described.
func proxy(t *testing.T, description, service string) (address string) {
	t.Helper()
	free := ports.ForTest(t, 1)
	address = ports.Local(free[0])
	command := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "prism"), "proxy", "--errors", "--port",
		strconv.Itoa(free[0]), description, service)
	testkit.Start(t, command)
	testkit.Await(t, "Prism listens", func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return connection.Close() == nil
	})
	return "http://" + address
}

// converse runs a partner's program. It prints a session's link, and continues when
// the customer has sent the form.
func converse(t *testing.T, web *process.Candor, partner *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = partner.Process.Kill() })
	defer stop()
	var failure strings.Builder
	partner.Stderr = &failure
	in, err := partner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := partner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := partner.Start(); err != nil {
		t.Fatal(err)
	}
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s printed no link: %v %v\n%s", partner, err, partner.Wait(), &failure)
	}
	customer := process.OpenForm(t, process.LinkOn(web, client.Session{SessionURL: strings.TrimSpace(link)}))
	for _, section := range statement.SectionNames {
		values := statementtest.Values(section)
		if section == statement.AssetsSection {
			values.Set("bank_accounts.0.balance", "1,234,567.89")
		}
		if section == statement.DocumentsSection {
			customer.Upload("payslip.pdf", []byte("%PDF-1.4\n%%EOF\n"))
		}
		customer.Answer(section, values)
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if err := partner.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", partner, err, &failure)
	}
}
