package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
	"candor/internal/testkit/smtptest"
	"candor/internal/webhook"
)

// TestToolchainSDKs installs both SDKs from their packed files, and takes them from a session
// to its PDF through a network that loses answers, and through the guide's samples
// (D100).
func TestToolchainSDKs(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	packed := t.TempDir()
	mails := smtptest.New(t, nil)
	env := process.WebEnvironment(t).With("CANDOR_SMTP_URL", "smtp://"+mails.Address, "CANDOR_MAIL_FROM", "no-reply@candor.example")
	account := process.CreateAccount(t, env)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	guide := samples(t, web.URL)
	sdks := install(t, packed, guide)
	t.Run("all", func(t *testing.T) {
		t.Run("the whole way", func(t *testing.T) {
			t.Parallel()
			wholeWay(t, web.URL, guide, account, filepath.Join(packed, "candor-node-1.2.3.tgz"), mails)
		})
		for _, one := range sdks {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				one.verify(t)
				one.first(t, guide, account)
				one.receive(t, guide, account, env)
			})
		}
	})
	for _, one := range sdks {
		one.flow(t, web, account)
	}
	worker.Stop()
}

// An sdk is one that is installed, with the program of testdata.
type sdk struct {
	name    string
	program []string
	sample  func(name, code string) []string // writes a program, and returns its command
}

// install packs the SDKs into a folder, and installs the files into empty ones by the guide's
// own commands.
func install(t *testing.T, packed string, guide map[string]string) []sdk {
	t.Helper()
	node, golang := t.TempDir(), t.TempDir()
	command(t, ".", "sh", "../../scripts/pack-sdks.sh", "1.2.3", packed)

	tools := absolute(t, "../openapi/node_modules")
	keep := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	byGuide := func(folder, name, sample string) {
		copyFile(t, filepath.Join(packed, name), filepath.Join(folder, name))
		command(t, folder, "sh", "-euc", strings.ReplaceAll(sample, "1.0.0", "1.2.3"))
	}
	keep(filepath.Join(node, "package.json"), `{"private": true, "type": "module"}`)
	byGuide(node, "candor-node-1.2.3.tgz", guide["sdks-code-1"])
	for _, name := range []string{"flow.ts", "tsconfig.json"} {
		copyFile(t, filepath.Join("testdata/node", name), filepath.Join(node, name))
	}
	command(t, node, filepath.Join(tools, ".bin/tsc"), "--typeRoots", filepath.Join(tools, "@types"), "--project", ".")

	keep(filepath.Join(golang, "go.mod"), "module partner\n\ngo 1.24\n")
	byGuide(golang, "candor-go-1.2.3.tgz", guide["sdks-code-2"])
	build := func(name string) []string {
		command(t, golang, "go", "build", "-o", "bin/"+name, "./"+name)
		return []string{filepath.Join(golang, "bin", name)}
	}
	source := func(name string) string {
		if err := os.MkdirAll(filepath.Join(golang, name), 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(golang, name, "main.go")
	}
	copyFile(t, "testdata/go/main.go", source("flow"))
	command(t, golang, "go", "vet", "./flow", "candor.example/candor-go")
	return []sdk{
		{"node", []string{"node", filepath.Join(node, "flow.js")}, func(name, code string) []string {
			keep(filepath.Join(node, name+".js"), code)
			return []string{"node", filepath.Join(node, name+".js")}
		}},
		{"go", build("flow"), func(name, code string) []string {
			keep(source(name), code)
			return build(name)
		}},
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, folder string, words ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	c.Dir, c.Env = folder, append(os.Environ(), "GOPROXY=off", "GOWORK=off", "npm_config_offline=true")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// start starts a program of the SDK's in an empty folder; it is killed if the test ends first.
func start(t *testing.T, words []string, env ...string) (c *exec.Cmd, in io.WriteCloser, out *bufio.Reader,
	failure *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	t.Cleanup(cancel)
	c = exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.Env, failure = t.TempDir(), append(os.Environ(), env...), new(bytes.Buffer)
	c.Stderr, c.SysProcAttr = failure, &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // what a shell started, too
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, in, bufio.NewReader(pipe), failure
}

// flow takes the SDK from a session to its PDF, through a network with faults.
func (s sdk) flow(t *testing.T, web *process.Candor, account client.Account) {
	t.Helper()
	env := process.NewPartner(t, web.URL, account.TestKey)
	before := total(t, env)
	target, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	network := &faults{proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
	}}, calls: map[string][]attempt{}}
	server := testkit.Serve(t, network)
	c, in, out, failure := start(t, append(slices.Clone(s.program), server.URL, account.TestKey, account.TestWebhookSecret))
	link, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s printed no link: %v %v\n%s", s.name, err, c.Wait(), failure)
	}
	process.OpenForm(t, process.LinkOn(web, client.Session{SessionURL: strings.TrimSpace(link)})).
		Upload("payslip.pdf", []byte("%PDF-1.4\n%%EOF\n"))
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	printed, _ := io.ReadAll(out)
	if err := c.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", s.name, err, failure)
	}
	var made []string
	if err := json.Unmarshal(printed, &made); err != nil || len(made) != 5 {
		t.Fatalf("%s made %s (%v)", s.name, printed, err)
	}
	if got := total(t, env) - before; got != 5 {
		t.Errorf("%s made 5 sessions, there are %d more: a retry made another", s.name, got)
	}
	network.check(t)
}

func total(t *testing.T, partner process.Partner) int {
	t.Helper()
	var list struct{ Pagination struct{ Total int } }
	_, _, body := partner.Do(http.MethodGet, "/sessions", "")
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Pagination.Total
}

// faults is a network. Of each operation it loses the first answer, after the service
// has done its work, and puts a 503 in place of the second; usage is refused for a
// second first.
type faults struct {
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	calls map[string][]attempt
}

type attempt struct {
	at  time.Time
	key string
}

var ids = regexp.MustCompile(`(sess|doc)_[0-9a-z]{26}`)

// ServeHTTP passes a request on, or doesn't.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("after") == "7777" { // what the service says 90 days later
		_, _ = io.WriteString(w, `{"data": [], "next_after": 7777, "latest_sequence": 9999, "oldest_sequence": 9000, "has_more": false}`)
		return
	}
	name := r.Method + " " + ids.ReplaceAllString(r.URL.Path, "{id}")
	f.mu.Lock()
	before := len(f.calls[name])
	f.calls[name] = append(f.calls[name], attempt{time.Now(), r.Header.Get("Idempotency-Key")})
	f.mu.Unlock()
	switch {
	case before == 0 && strings.HasSuffix(name, "/usage"):
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case before == 0 && r.Method != http.MethodDelete: // else the repeated cancellation is a conflict
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case before == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		f.proxy.ServeHTTP(w, r)
	}
}

// check holds the calls to what the SDKs promise.
func (f *faults) check(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := map[string]int{}
	for _, one := range f.calls["POST /v1/sessions"] {
		keys[one.key]++
	}
	// Five sessions and a wrong address; of the first call two tries failed.
	if first := keys[f.calls["POST /v1/sessions"][0].key]; len(keys) != 6 || first != 3 || keys[""] != 0 {
		t.Errorf("the keys of POST /v1/sessions: %v", keys)
	}
	usage := f.calls["GET /v1/billing/usage"]
	if len(usage) != 3 || usage[1].at.Sub(usage[0].at) < time.Second {
		t.Errorf("after Retry-After: 1 usage was asked for at %v", usage)
	}
	for _, name := range []string{"GET /v1/sessions/{id}/pdf", "GET /v1/sessions/{id}/documents/{id}", "GET /v1/events",
		"GET /v1/sessions/{id}/data"} {
		if len(f.calls[name]) < 3 {
			t.Errorf("%s was tried %d times", name, len(f.calls[name]))
		}
	}
}

// samples are the code blocks of the guide, by their ids, with the service's address.
func samples(t *testing.T, address string) map[string]string {
	t.Helper()
	answer, err := client.New(address).Send(t.Context(), http.MethodGet, "/docs/guides", nil, nil)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("the guides: %d %v", answer.Status, err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<code id="(sdks-[^"]+)" class="[^"]+">(.*?)</code>`).
		FindAllStringSubmatch(string(answer.Body), -1) {
		text := html.UnescapeString(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(m[2], ""))
		out[m[1]] = strings.ReplaceAll(text, "http://localhost:8080", address)
	}
	return out
}

// first runs the guide's first sample: it prints a net worth and keeps a PDF.
func (s sdk) first(t *testing.T, guide map[string]string, account client.Account) {
	t.Helper()
	c, _, out, failure := start(t, s.sample("first", guide["sdks-code-3-"+s.name]), "CANDOR_API_KEY="+account.TestKey)
	printed, _ := io.ReadAll(out)
	if err := c.Wait(); err != nil || !regexp.MustCompile(`^Net worth: \d`).Match(printed) {
		t.Fatalf("the guide's first sample: %v\n%s%s", err, printed, failure)
	}
	keepsPDF(t, c.Dir)
}

// keepsPDF holds a folder to having a statement's whole PDF.
func keepsPDF(t *testing.T, folder string) {
	t.Helper()
	kept, _ := filepath.Glob(filepath.Join(folder, "financial_statement_sess_*.pdf"))
	if len(kept) != 1 {
		t.Fatalf("it kept %v", kept)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !bytes.HasPrefix(text, []byte("%PDF-")) ||
		!bytes.Contains(text[len(text)-10:], []byte("%%EOF")) {
		t.Errorf("it kept no whole PDF: %v", err)
	}
}

// wholeWay does what the guide says, from an empty folder to an email, a completed form,
// verified webhooks and the PDF: in at most 6 commands and 20 lines.
func wholeWay(t *testing.T, address string, guide map[string]string, account client.Account, packed string,
	mails *smtptest.Server) {
	t.Helper()
	first, program, second := guide["sdks-code-5"], guide["sdks-code-6"], guide["sdks-code-7"]
	commands, lines := len(strings.Split(first+"\n"+second, "\n")), len(strings.Split(program, "\n"))
	t.Logf("%d commands and %d lines", commands, lines)
	if commands > 6 || lines > 20 {
		t.Errorf("%d commands and %d lines, want at most 6 and 20", commands, lines)
	}
	real := strings.NewReplacer("./candor-node-1.0.0.tgz", packed, "candor_test_…", account.TestKey,
		"whsec_…", account.TestWebhookSecret, "3000", freePort(t), "you@example.com", account.Email)
	shell := func(commands string) (*exec.Cmd, *bufio.Reader, *bytes.Buffer) {
		c, _, out, failure := start(t, []string{"bash", "-euc", real.Replace(commands)}, "npm_config_offline=true",
			"CANDOR_URL="+address) // listen.mjs has that of the service's own configuration
		return c, out, failure
	}
	listener, out, failure := shell(first)
	for line := ""; !strings.HasPrefix(line, "Listening"); {
		var err error
		if line, err = out.ReadString('\n'); err != nil {
			t.Fatalf("the first terminal: %v\n%s", err, failure)
		}
	}
	if err := os.WriteFile(filepath.Join(listener.Dir, "journey.mjs"), []byte(real.Replace(program)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, out, failure := shell("cd '" + listener.Dir + "'\n" + second)
	printed, _ := io.ReadAll(out)
	if err := c.Wait(); err != nil {
		t.Fatalf("the second terminal: %v\n%s%s", err, printed, failure)
	}
	for _, want := range []string{"Email: sent", "Verified: session.completed", "Verified: session.pdf_ready"} {
		if !bytes.Contains(printed, []byte(want)) {
			t.Errorf("it printed no %q:\n%s", want, printed)
		}
	}
	if emails := mails.Emails(); len(emails) != 1 || emails[0].To != account.Email || !strings.Contains(emails[0].Text, "/f/sess_") {
		t.Errorf("%d emails arrived: %v", len(emails), emails)
	}
	keepsPDF(t, listener.Dir)
}

// receive runs the guide's receiver: it prints what Candor sends, and nothing else.
func (s sdk) receive(t *testing.T, guide map[string]string, account client.Account, env process.Environment) {
	t.Helper()
	port := freePort(t)
	code := strings.ReplaceAll(guide["sdks-code-4-"+s.name], "3000", port)
	_, _, out, failure := start(t, s.sample("receive", code), "CANDOR_WEBHOOK_SECRET="+account.TestWebhookSecret)
	partner := client.New("http://localhost:" + port)
	testkit.Await(t, "the receiver refuses what isn't signed", func() bool {
		answer, err := partner.Send(t.Context(), http.MethodPost, "/webhooks", strings.NewReader(`{"event": "session.completed"}`), nil)
		return err == nil && answer.Status == http.StatusUnauthorized
	})
	if result := process.Run(t, env, "webhooks", "test", "--account", account.AccountID, "--type", "session.completed", "--url",
		"http://localhost:"+port+"/webhooks"); result.Code != 0 {
		t.Fatalf("a test event: %d\n%s%s\n%s", result.Code, result.Stdout, result.Stderr, failure)
	}
	if line, err := out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "sess_") {
		t.Errorf("the receiver printed %q (%v)\n%s", line, err, failure)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(ports.ForTest(t, 1)[0])
}

// verify gives the SDK webhooks, of which some are genuine.
func (s sdk) verify(t *testing.T) {
	t.Helper()
	type webhookCase struct {
		name    string
		want    bool
		Secrets []string    `json:"secrets"`
		Headers http.Header `json:"headers"`
		Body    []byte      `json:"body"`
	}
	own, next, other := webhook.NewSecret(), webhook.NewSecret(), webhook.NewSecret()
	sent := func(late time.Duration, secrets ...string) http.Header {
		header, err := webhook.Request{Body: []byte(body), DeliveryID: "whd_01hzy", Attempt: 1,
			Secrets: secrets}.Header(time.Now().Add(-late))
		if err != nil {
			t.Fatal(err)
		}
		return header
	}
	with := func(name, value string) http.Header {
		header := sent(0, own)
		header.Set(name, value)
		return header
	}
	right := sent(0, own).Get("Webhook-Signature")
	cases := []webhookCase{
		{"genuine", true, []string{own}, sent(0, own), []byte(body)},
		{"the current secret, while there is a next one", true, []string{own}, sent(0, own, next), []byte(body)},
		{"the receiver has the next secret already", true, []string{own, next}, sent(0, own), []byte(body)},
		{"the receiver still has the old secret", true, []string{own, next}, sent(0, next), []byte(body)},
		{"four minutes late", true, []string{own}, sent(4*time.Minute, own), []byte(body)},
		{"six minutes late", false, []string{own}, sent(6*time.Minute, own), []byte(body)},
		{"six minutes early", false, []string{own}, sent(-6*time.Minute, own), []byte(body)},
		{"another secret", false, []string{own}, sent(0, other), []byte(body)},
		{"another body", false, []string{own}, sent(0, own), []byte(body + " ")},
		{"another id", false, []string{own}, with("Webhook-ID", "whd_other"), []byte(body)},
		{"another time", false, []string{own}, with("Webhook-Timestamp", "now"), []byte(body)},
		{"no signature", false, []string{own}, with("Webhook-Signature", ""), []byte(body)},
		{"half a signature", false, []string{own}, with("Webhook-Signature", right[:20]), []byte(body)},
		{"a later version beside the right one", true, []string{own}, with("Webhook-Signature", "v9,abc "+right), []byte(body)},
		{"no secret", false, nil, sent(0, own), []byte(body)},
		{"an empty secret", false, []string{""}, sent(0, own), []byte(body)},
		{"a secret without a key", false, []string{"whsec_"}, sent(0, own), []byte(body)},
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	c, in, out, failure := start(t, append(slices.Clone(s.program), "--verify"))
	_, _ = in.Write(text) // if it has ended, it says why
	_ = in.Close()
	var got []bool
	if err := json.NewDecoder(out).Decode(&got); err != nil || len(got) != len(cases) {
		t.Fatalf("%v (%v, %v)\n%s", got, err, c.Wait(), failure)
	}
	for i, one := range cases {
		if got[i] != one.want {
			t.Errorf("%s: %t, want %t", one.name, got[i], one.want)
		}
	}
}

const body = `{"event":"session.completed","session_id":"sess_01m7xsggnverxbaf5yh399t1b6","livemode":false,"sequence":3,` +
	`"timestamp":"2026-11-20T03:36:05.000Z","data":{"name":"Zoë"}}`

// TestSDKsAreSmall bounds what is written by hand.
func TestSDKsAreSmall(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../sdk/go/*.go", "../../sdk/node/src/*.ts"} {
		lines := 0
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(filepath.Base(name), "generated") {
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if lines == 0 || lines > 500 {
			t.Errorf("%s has %d lines written by hand, want at most 500", pattern, lines)
		}
	}
}
