package admin_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// An operator verifies a PDF: only the bytes that were
// issued pass. The feed has their digest, and the webhook has the members of the
// contract.
func TestPDFVerify(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	a := process.CreateAccount(t, env)
	hooks := hooktest.NewReceiver(t, nil)
	hooks.SetSecret(a.TestWebhookSecret)
	p := process.Serve(t, env, "serve")
	api := process.NewPartner(t, p.URL, a.TestKey)
	s := api.CreateSession(hooks.URL)
	process.OpenForm(t, s.SessionURL).Submit()
	ready := hooks.Wait("session.pdf_ready", 1)[0]
	_, _, issued := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", "")
	sum := sha256.Sum256(issued)
	digest := hex.EncodeToString(sum[:])

	for kind, want := range map[string]string{"session.pdf_ready": digest, "session.completed": ""} {
		var feed struct {
			Data []struct {
				PDFSHA256 *string `json:"pdf_sha256"`
				Data      json.RawMessage
			}
		}
		_, _, body := api.Do(http.MethodGet, "/events?type="+kind, "")
		if err := json.Unmarshal(body, &feed); err != nil || len(feed.Data) != 1 {
			t.Fatalf("the feed of %s: %s", kind, body)
		}
		if got := feed.Data[0].PDFSHA256; (got == nil) != (want == "") || got != nil && *got != want {
			t.Errorf("the feed's %s has the digest %v, want %q", kind, got, want)
		}
	}
	if bytes.Contains(ready.Body, []byte("sha256")) {
		t.Errorf("the webhook isn't the contract's: %s", ready.Body)
	}

	verify := func(content []byte, code int, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "statement.pdf")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := process.Run(t, env, "pdf", "verify", path); r.Code != code || !strings.Contains(r.Stdout, want) {
			t.Errorf("verify: exit code %d, %q; want %d and %q", r.Code, r.Stdout+r.Stderr, code, want)
		}
	}
	verify(issued, 0, "Issued. These are the bytes that Candor issued for "+s.ID)
	verify(issued, 0, "SHA-256 "+digest)
	if out := verifyStdin(t, env, issued); !strings.Contains(out, "Issued. These are the bytes") {
		t.Errorf("verify -: %s", out)
	}
	changed := bytes.Clone(issued)
	changed[len(changed)/2] ^= 1
	verify(changed, 1, "the file was changed. The PDF that was issued for "+s.ID+" has the SHA-256 "+digest)
	verify(append(bytes.Clone(issued), '\n'), 1, "the file was changed")
	verify([]byte("%PDF-1.7"), 1, "the file names no session")
	verify([]byte("%PDF-1.7 sess_01m7xsggnverxbaf5yh399t1b6"), 1, "there is no session sess_01m7xsggnverxbaf5yh399t1b6 here")
	unsigned := api.CreateSession(hooks.URL)
	verify([]byte("%PDF-1.7 "+unsigned.ID), 1, "no PDF was issued for "+unsigned.ID)

	if r := process.Run(t, env, "pdf", "verify"); r.Code != 2 {
		t.Errorf("without a file: exit code %d", r.Code)
	}
	p.Stop()
}

// verifyStdin verifies what comes by standard input, as a file that root alone can read.
func verifyStdin(t *testing.T, env process.Environment, content []byte) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), process.Binary(t), "pdf", "verify", "-")
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(content)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, _ := cmd.CombinedOutput() // says why it failed
	return string(out)
}
