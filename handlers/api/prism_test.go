package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/ports"
)

// TestMain has Prism compare the answers of all tests with the API's document, too,
// if PRISM is set: make test installs it.
func TestMain(m *testing.M) {
	if os.Getenv("PRISM") == "" {
		os.Exit(m.Run())
	}
	p := &proxy{}
	harness.Watch = p.check
	code := m.Run()
	p.stop()
	fmt.Printf("Prism compared %d answers\n", p.compared.Load())
	os.Exit(code)
}

// A proxy is Prism before a server that answers with what a test has got: a second
// validator beside the one of the harness.
type proxy struct {
	start    sync.Once
	failure  error
	url      string
	answers  sync.Map // recorded, by number
	number   atomic.Int64
	compared atomic.Int64
	dead     atomic.Bool
	command  *exec.Cmd
	upstream *httptest.Server
	folder   string
}

func (p *proxy) run(document []byte) error {
	p.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded, _ := p.answers.Load(r.Header.Get("X-Answer"))
		answer := recorded.(*httptest.ResponseRecorder)
		for name, values := range answer.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // Prism tells
	}))
	root, err := testkit.ModuleRoot()
	if err != nil {
		return err
	}
	if p.folder, err = os.MkdirTemp("", "prism"); err != nil {
		return err
	}
	file := filepath.Join(p.folder, "openapi.json")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return err
	}
	free, err := ports.Free(1)
	if err != nil {
		return err
	}
	p.url = "http://" + ports.Local(free[0])
	p.command = exec.Command(filepath.Join(root, "tools/openapi/node_modules/.bin/prism"), "proxy", "--port", strconv.Itoa(free[0]),
		file, p.upstream.URL)
	return p.command.Start()
}

func (p *proxy) stop() {
	if p.command != nil {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
		p.upstream.Close()
		_ = os.RemoveAll(p.folder)
	}
}

// check fails the test if Prism finds that the answer isn't as documented.
func (p *proxy) check(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	p.start.Do(func() { p.failure = p.run(harness.Described.Source) })
	if p.failure != nil {
		t.Fatal(p.failure)
	}
	if !utf8.ValidString(r.URL.Path) || p.dead.Load() {
		return // Prism ends if a path isn't UTF-8
	}
	number := fmt.Sprint(p.number.Add(1))
	p.answers.Store(number, w)
	defer p.answers.Delete(number)
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
	for deadline := time.Now().Add(time.Minute); ; {
		request, err := http.NewRequestWithContext(context.Background(), r.Method, p.url+path, nil)
		if err != nil {
			return // no client can send it
		}
		request.URL.RawQuery = r.URL.RawQuery
		request.Header.Set("X-Answer", number)
		request.Header.Set("Authorization", "Bearer candor_test_x")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			if time.Now().After(deadline) {
				p.dead.Store(true)
				t.Fatalf("Prism doesn't answer: %v", err)
			}
			<-time.After(50 * time.Millisecond)
			continue // it is starting
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		p.report(t, r, w, answer.Header.Get("Sl-Violations"))
		return
	}
}

func (p *proxy) report(t testing.TB, r *http.Request, w *httptest.ResponseRecorder, header string) {
	t.Helper()
	p.compared.Add(1)
	var violations []struct {
		Location []string
		Message  string
	}
	if header == "" {
		return
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(header))).Decode(&violations); err != nil {
		t.Errorf("Prism says %s", header)
	}
	for _, v := range violations {
		if len(v.Location) > 0 && v.Location[0] == "response" {
			t.Errorf("Prism on %s %s: %d: %s: %s\n%.500s", r.Method, r.URL.Path, w.Code, strings.Join(v.Location, "."), v.Message, w.Body)
		}
	}
}
