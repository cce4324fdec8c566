// Package examples runs each of the partners' servers against the service.
package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
)

// TestServers takes each server from an application to the customer's net worth and
// the PDF, by webhooks alone.
func TestServers(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	account := process.CreateAccount(t, env)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	partner := process.NewPartner(t, web.URL, account.TestKey)
	t.Run("all", func(t *testing.T) {
		for name, command := range map[string][]string{
			"node": {"node", absolute(t, "node/server.mjs")}, "python": {"python3", absolute(t, "python/server.py")}, "go": {buildGo(t)},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := start(t, command, "CANDOR_API_KEY="+account.TestKey, "CANDOR_WEBHOOK_SECRET="+account.TestWebhookSecret,
					"CANDOR_URL="+web.URL+"/v1")
				s.run(partner)
				test := []string{"webhooks", "test", "--account", account.AccountID, "--type", "session.completed", "--url",
					s.url + "/webhooks"}
				if result := process.Run(t, env, test...); result.Code != 0 {
					t.Errorf("a test event: %d\n%s%s", result.Code, result.Stdout, result.Stderr)
				}
			})
		}
	})
	worker.Stop()
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// buildGo builds the server in Go, which is a module of its own.
func buildGo(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "partner")
	for _, args := range [][]string{{"vet", "."}, {"build", "-o", program, "."}} {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = "go"
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return program
}

// A server is a running partner's server.
type server struct {
	*testing.T
	url, folder string
}

// start starts a server in an empty folder, and waits until it listens.
func start(t *testing.T, command []string, env ...string) *server {
	t.Helper()
	port := strconv.Itoa(ports.ForTest(t, 1)[0])
	s := &server{T: t, url: "http://localhost:" + port, folder: t.TempDir()}
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir, program.Env = s.folder, append(os.Environ(), append(env, "PORT="+port)...)
	testkit.Start(t, program)
	testkit.Await(t, "the server listens", func() bool {
		status, _ := s.send(http.MethodGet, "/applications/none", "")
		return status == http.StatusNotFound
	})
	return s
}

// run makes an application and waits for what the server finds out about it.
func (s *server) run(partner process.Partner) {
	s.Helper()
	reference := "A " + s.Name()
	apply := fmt.Sprintf(`{"reference": %q, "email": "jo@customer.example", "simulate": "completed"}`, reference)
	status, first := s.send(http.MethodPost, "/applications", apply)
	if _, again := s.send(http.MethodPost, "/applications", apply); status != http.StatusOK || first["session_url"] == nil ||
		again["session_url"] != first["session_url"] {
		s.Fatalf("the application was answered %d %v, again %v", status, first, again)
	}
	var known map[string]any
	address := "/applications/" + strings.NewReplacer(" ", "%20", "/", "%2F").Replace(reference)
	testkit.Await(s.T, "the webhooks came", func() bool {
		_, known = s.send(http.MethodGet, address, "")
		return known["pdf"] != nil && known["net_worth"] != nil
	})
	id, _ := known["session"].(string)
	_, _, body := partner.Do(http.MethodGet, "/sessions/"+id+"/data", "")
	var submitted struct {
		Data struct{ Summary map[string]json.Number }
	}
	if err := json.Unmarshal(body, &submitted); err != nil {
		s.Fatal(err)
	}
	want, _ := submitted.Data.Summary["net_worth"].Float64()
	if got := fmt.Sprint(known["net_worth"]); got != fmt.Sprintf("%.2f", want) &&
		got != submitted.Data.Summary["net_worth"].String() || known["status"] != "completed" {
		s.Errorf("the server knows %v, the API says %s", known, submitted.Data.Summary["net_worth"])
	}
	_, _, pdf := partner.Do(http.MethodGet, "/sessions/"+id+"/pdf", "")
	if kept, err := os.ReadFile(filepath.Join(s.folder, id+".pdf")); err != nil || !bytes.Equal(kept, pdf) {
		s.Errorf("the server kept %d bytes of a PDF of %d (%v)", len(kept), len(pdf), err)
	}
	if status, _ := s.send(http.MethodPost, "/webhooks", `{"event": "session.completed", "session_id": "`+id+
		`"}`); status != http.StatusUnauthorized {
		s.Errorf("a webhook without a signature was answered %d", status)
	}
}

func (s *server) send(method, path, body string) (status int, answer map[string]any) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil // it doesn't listen yet
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&answer) // an error's body needn't be JSON
	return response.StatusCode, answer
}
