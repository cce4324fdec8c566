package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// TestToolchainSamples runs every sample of the reference against a server, as staff
// who are signed in can copy it.
func TestToolchainSamples(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, _ := harness.ListenAsItself(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	h.Open(session.ID)
	h.Upload(session.ID, "payslip.pdf")
	h.Complete(session.ID)
	h.StorePDF(session.ID, harness.PDFOf(2000))
	document := harness.QueryOne[domain.DocumentID](h, `SELECT id FROM document WHERE session_id = $1`, session.ID)
	delivery := harness.QueryOne[domain.DeliveryID](h, `SELECT id FROM delivery WHERE session_id = $1 LIMIT 1`, session.ID)
	real := strings.NewReplacer("doc_01m7xsggqsf43scdh9320874jm", document.String(), "whd_01m7xsggnverxbaf5yh399t1bc",
		delivery.String())
	endpoint := h.NewEndpoint(h.TestScope(), "https://lender.example/candor").String()
	page := h.Owner().Get("/docs/reference").Body.String()
	var samples []sample
	for _, b := range blocks(page) {
		operation, isSample := strings.CutSuffix(b.id, "-"+b.language)
		if !isSample {
			continue
		}
		code := real.Replace(b.code)
		if operation == "cancelSession" {
			code = strings.ReplaceAll(code, session.ID.String(), h.NewSession(h.TestScope(), domain.NewSession{}).ID.String())
		}
		if operation == "deleteWebhookEndpoint" {
			endpoint = h.NewEndpoint(h.TestScope(), "https://lender.example/candor").String()
		}
		code = strings.ReplaceAll(code, "whe_01m7xsggnverxbaf5yh399t1bd", endpoint)
		samples = append(samples, sample{operation, b.language, code})
	}
	sdks := packed(t)
	program, node := link(t, h, samples, sdks), nodeSDK(t, sdks)
	ran := map[string]int{}
	for _, s := range samples {
		if s.run(t, h, program, node) {
			ran[s.language]++
		}
		t.Logf("%s in %s", s.operation, s.language)
	}
	t.Logf("samples that ran: %v", ran)
	if ran["curl"] < 10 || ran["go"] != ran["curl"] || ran["node"] != ran["curl"] {
		t.Errorf("%v samples ran", ran)
	}
}

// A sample is the code for an operation in a language.
type sample struct{ operation, language, code string }

// run runs a sample and reports whether its language is on this machine. Those in Go are
// in the program; node is the folder that has the SDK for Node.
func (s sample) run(t *testing.T, h *harness.Harness, program, node string) bool {
	t.Helper()
	file := map[string]string{"curl": "sample.sh", "node": "sample.mjs", "python": "sample.py", "go": s.operation}[s.language]
	command := map[string][]string{"curl": {"bash", "-e"}, "node": {"node"}, "python": {"python3"}, "go": {program}}[s.language]
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Logf("NOT RUN: there is no %s on this machine", command[0])
		return false
	}
	folder := t.TempDir()
	if s.language == "node" {
		h.OK(os.Symlink(node, filepath.Join(folder, "node_modules")))
	}
	h.OK(os.WriteFile(filepath.Join(folder, file), []byte(s.code), 0o600))
	out, err := shell(t, h, folder, append(command, file))
	if err != nil || bytes.Contains(out, []byte(`"error"`)) {
		t.Errorf("%s: %v\n%s\n%s", s.language, err, s.code, out)
	}
	kept, _ := filepath.Glob(filepath.Join(folder, "download*"))
	if len(kept) == 0 && !bytes.ContainsAny(out, "{") || len(kept) == 1 && size(kept[0]) < 20 {
		t.Errorf("%s shows and keeps nothing:\n%s\n%s", s.language, s.code, out)
	}
	return true
}

// link makes one program of the samples in Go, each a package of it, and returns its
// path: to link takes longer than all else that a sample does. The program runs the
// sample of the operation that it is given.
func link(t *testing.T, h *harness.Harness, samples []sample, sdks string) string {
	t.Helper()
	folder := t.TempDir()
	var imports, operations strings.Builder
	for _, s := range samples {
		if s.language != "go" {
			continue
		}
		code := strings.Replace(s.code, "package main\n", "package "+s.operation+"\n", 1)
		code = strings.Replace(code, "func main() {", "func Main() {", 1)
		at := filepath.Join(folder, "src", "samples", s.operation)
		h.OK(os.MkdirAll(at, 0o700))
		h.OK(os.WriteFile(filepath.Join(at, "sample.go"), []byte(code), 0o600))
		fmt.Fprintf(&imports, "\t%q\n", "samples/"+s.operation)
		fmt.Fprintf(&operations, "\t\t%q: %s.Main,\n", s.operation, s.operation)
	}
	unpack(t, filepath.Join(sdks, "candor-go-0.0.0.tgz"), filepath.Join(folder, "src", "candor.example", "candor-go"))
	main := "package main\n\nimport (\n\t\"os\"\n" + imports.String() + ")\n\nfunc main() {\n\tmap[string]func(){\n" +
		operations.String() + "\t}[os.Args[1]]()\n}\n"
	h.OK(os.WriteFile(filepath.Join(folder, "main.go"), []byte(main), 0o600))
	if out, err := shell(t, h, folder, []string{"go", "build", "-o", "samples", "main.go"}); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "samples")
}

// packed returns a folder with the SDKs as partners get them.
func packed(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("../../tools/openapi/node_modules/.bin/tsc"); err != nil {
		t.Fatal("the compiler of the SDK for Node isn't installed: run make test, which installs it")
	}
	folder := t.TempDir()
	pack := exec.CommandContext(t.Context(), "sh", "../../scripts/pack-sdks.sh", "0.0.0", folder)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// nodeSDK returns the folder that programs find the SDK for Node in.
func nodeSDK(t *testing.T, sdks string) string {
	t.Helper()
	modules := t.TempDir()
	unpack(t, filepath.Join(sdks, "candor-node-0.0.0.tgz"), filepath.Join(modules, "@candor", "node"))
	return modules
}

// unpack writes the one folder of an archive into a folder of another name.
func unpack(t *testing.T, archive, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", folder, "--strip-components=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// shell runs a command in a folder, with the account's test key.
func shell(t *testing.T, h *harness.Harness, folder string, command []string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = folder
	c.Env = append(os.Environ(), "CANDOR_API_KEY="+h.Account.TestKey, "GO111MODULE=off", "GOPATH="+folder, "CGO_ENABLED=0",
		"GOFLAGS=")
	return c.CombinedOutput()
}

// TestQuickStart runs the commands of the quick start as they stand on the page,
// one after the other in one shell, with a key and nothing else: two to the data
// of a completed session, two more to its events.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	h, _ := harness.ListenAsItself(t)
	var commands []string
	for _, b := range blocks(part(get(h, "/docs/guides"), "quick-start")) {
		if b.language == "sh" {
			commands = append(commands, strings.Replace(b.code, "candor_test_…", h.Account.TestKey, 1))
		}
	}
	t.Logf("commands after the key: %d", len(commands)-1)
	if len(commands)-1 != 4 {
		t.Fatalf("%d commands after the key, and the guide says two and two", len(commands)-1)
	}
	folder := t.TempDir()
	out, err := shell(t, h, folder, []string{"bash", "-euo", "pipefail", "-c", strings.Join(commands[:3], "\n")})
	if err != nil || !bytes.Contains(out, []byte(`"session_url"`)) || !bytes.Contains(out, []byte(`"net_worth"`)) ||
		bytes.Contains(out, []byte(`"error"`)) {
		t.Errorf("%v\n%s\n%s", err, strings.Join(commands, "\n"), out)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Log("NOT RUN: there is no node on this machine, so no events were received")
		return
	}
	receiveEvents(t, h, folder, append(commands[:1], commands[3:]...))
}

// receiveEvents runs commands of which the last doesn't end, until it shows that
// the session was completed.
func receiveEvents(t *testing.T, h *harness.Harness, folder string, commands []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euc", strings.Join(commands, "\n"))
	c.Dir, c.SysProcAttr = folder, &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // node, too
	out, err := c.StdoutPipe()
	h.OK(err)
	h.OK(c.Start())
	var shown strings.Builder
	for lines := bufio.NewScanner(out); !strings.Contains(shown.String(), "session.completed"); {
		if !lines.Scan() {
			t.Errorf("the listener ended:\n%s", shown.String())
			break
		}
		shown.WriteString(lines.Text() + "\n")
	}
	cancel()
	_ = c.Wait() // it was killed
}

// TestVectors holds the test vectors to what they were when partners wrote code
// by them, and runs the commands that compute them.
func TestVectors(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	page := html.UnescapeString(part(get(h, "/docs/guides"), "port"))
	vectors := []string{"v1,eG5DakZ+su7EAzHtYovSa21ngZucK5AW9/KzQkgN0uc=",
		"46a28fa8c52fe761cbdcc61b7c6b9cddb46b882693f5c7004d9eedb18e0e2e48"}
	for _, vector := range vectors {
		if !strings.Contains(page, vector) {
			t.Errorf("the guide doesn't have %s", vector)
		}
	}
	for _, program := range []string{"bash", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("NOT RUN: there is no %s on this machine", program)
			return
		}
	}
	commands := blocks(part(get(h, "/docs/guides"), "port"))[0].code
	out, err := shell(t, h, t.TempDir(), []string{"bash", "-c", commands})
	if err != nil || !strings.Contains(string(out), strings.TrimPrefix(vectors[0], "v1,")) ||
		!strings.Contains(string(out), vectors[1]) {
		t.Errorf("%v\n%s\n%s", err, commands, out)
	}
}

// TestGuideSamplesRun runs the commands of the guides that have no test of their own, each
// as it stands on the page: beside a PDF, for the guide that verifies one.
func TestGuideSamplesRun(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, _ := harness.ListenAsItself(t)
	h.Mailbox() // workers, which draw the PDF
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Complete(session.ID)
	testkit.Await(h, "the PDF is never ready", func() bool {
		return harness.QueryOne[int](h, `SELECT count(*) FROM session WHERE id = $1 AND pdf_ready_at IS NOT NULL`, session.ID) > 0
	})
	// Unchecked: this harness is development, at another address than the document's.
	pdf := h.Serve(h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions/" + session.ID.String() + "/pdf"})).Body.Bytes()
	folder, ran := t.TempDir(), 0
	h.OK(os.WriteFile(filepath.Join(folder, "financial_statement_sess_….pdf"), pdf, 0o600))
	for _, b := range blocks(get(h, "/docs/guides")) {
		guide, _, _ := strings.Cut(b.id, "-code-")
		switch {
		case b.language == "json" && !json.Valid([]byte(b.code)):
			t.Errorf("%s isn't JSON:\n%s", b.id, b.code)
		case b.language != "sh" || runElsewhere[guide] != "":
			continue
		}
		out, err := shell(t, h, folder, []string{"bash", "-euo", "pipefail", "-c", b.code})
		if signed := strings.HasPrefix(b.code, "pdfsig"); err != nil && !signed || bytes.Contains(out, []byte(`"error"`)) {
			t.Errorf("%s: %v\n%s\n%s", b.id, err, b.code, out)
		}
		ran++
	}
	if ran < 7 {
		t.Errorf("%d samples ran", ran)
	}
}

// runElsewhere are the guides whose commands another test runs.
var runElsewhere = map[string]string{
	"quick-start": "TestQuickStart", "port": "TestVectors", "sdks": "TestToolchainSDKs", "webhooks": "TestListen",
}
