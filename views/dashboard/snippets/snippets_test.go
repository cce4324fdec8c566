package snippets_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/webhook"
	"candor/views/dashboard/snippets"
	"candor/views/dashboard/snippets/receiver"
)

// A check is a request as it arrived, and whether it is genuine.
type check struct {
	name   string
	secret string // the receiver's
	header http.Header
	body   []byte
	want   bool
}

// sent is a request that Candor signed at a time, as it arrives.
func sent(t *testing.T, at time.Time, body []byte, secrets ...string) http.Header {
	t.Helper()
	header, err := webhook.Request{Body: body, DeliveryID: "whd_01hzy", Attempt: 1, Secrets: secrets}.Header(at)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

// checks are genuine requests and others.
func checks(t *testing.T) []check {
	t.Helper()
	now := time.Now()
	own, other := webhook.NewSecret(), webhook.NewSecret()
	body := []byte(
		"{\"event\":\"session.completed\",\"data\":{\"name\":\"Zoë \\u0026 雪\",\"odd\":\"%s $(x) `y` \\\\\"}}\r\n\x00\xff \n")
	with := func(name, value string) http.Header {
		header := sent(t, now, body, own)
		header.Set(name, value)
		return header
	}
	right := sent(t, now, body, own).Get("Webhook-Signature")
	contract := sent(t, now, body, own).Get("X-Webhook-Signature")
	return []check{
		{"genuine", own, sent(t, now, body, own), body, true},
		{"empty body", own, sent(t, now, nil, own), nil, true},
		{"the current secret, while there is a next one", own, sent(t, now, body, own, other), body, true},
		{"the next secret, while there is one", own, sent(t, now, body, other, own), body, true},
		{"four minutes late", own, sent(t, now.Add(-4*time.Minute), body, own), body, true},
		{"a clock that is four minutes behind", own, sent(t, now.Add(4*time.Minute), body, own), body, true},
		{"changed body", own, sent(t, now, body, own), append([]byte(" "), body...), false},
		{"shortened body", own, sent(t, now, body, own), body[:len(body)-1], false},
		{"six minutes old", own, sent(t, now.Add(-6*time.Minute), body, own), body, false},
		{"six minutes ahead", own, sent(t, now.Add(6*time.Minute), body, own), body, false},
		{"another secret", own, sent(t, now, body, other), body, false},
		{"two other secrets", own, sent(t, now, body, other, webhook.NewSecret()), body, false},
		{"another id", own, with("Webhook-ID", "whd_other"), body, false},
		{"a newer time that isn't signed", own, with("Webhook-Timestamp", fmt.Sprint(now.Unix()+1)), body, false},
		{"no time", own, with("Webhook-Timestamp", ""), body, false},
		{"a time that is none", own, with("Webhook-Timestamp", "now"), body, false},
		{"no signature", own, with("Webhook-Signature", ""), body, false},
		{"an empty signature", own, with("Webhook-Signature", "v1,"), body, false},
		{"another version", own, with("Webhook-Signature", "v2"+strings.TrimPrefix(right, "v1")), body, false},
		{"half a signature", own, with("Webhook-Signature", right[:len(right)/2]), body, false},
		{"a signature of the body alone", own, with("Webhook-Signature", "v1,"+contract), body, false},
		{"one of a later version beside the right one", own, with("Webhook-Signature", "v9,abc "+right), body, true},
	}
}

func TestGoSnippet(t *testing.T) {
	t.Parallel()
	for _, c := range checks(t) {
		if got := receiver.VerifyWebhook(c.secret, c.header, c.body); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// A runtime runs the snippet of a language by a program that answers checks.
type runtime struct {
	id    string
	needs []string   // programs
	build [][]string // commands before it; $src and $out are folders
	run   []string
}

var runtimes = []runtime{
	{id: "node", needs: []string{"node"}, run: []string{"node", "$src/testdata/drive.mjs", "$src"}},
	{id: "python", needs: []string{"python3"}, run: []string{"python3", "$src/testdata/drive.py", "$src"}},
	{id: "php", needs: []string{"php"}, run: []string{"php", "$src/testdata/drive.php", "$src"}},
	{id: "ruby", needs: []string{"ruby"}, run: []string{"ruby", "$src/testdata/drive.rb", "$src"}},
	{id: "openssl", needs: []string{"bash", "openssl"}, run: []string{"bash", "$src/testdata/drive.sh", "$src"}},
	{
		id: "java", needs: []string{"java", "javac"},
		build: [][]string{{"javac", "-d", "$out", "$src/VerifyWebhook.java", "$src/testdata/Drive.java"}},
		run:   []string{"java", "-XX:TieredStopAtLevel=1", "-cp", "$out", "Drive"},
	},
	{
		id: "csharp", needs: []string{"mcs", "mono"},
		build: [][]string{{"mcs", "-out:$out/drive.exe", "$src/VerifyWebhook.cs", "$src/testdata/Drive.cs"}},
		run:   []string{"mono", "$out/drive.exe"},
	},
	{
		id: "csharp", needs: []string{"dotnet"},
		build: [][]string{
			{"cp", "$src/VerifyWebhook.cs", "$src/testdata/Drive.cs", "$src/testdata/drive.csproj", "$out"},
			{"dotnet", "build", "--nologo", "--output", "$out/built", "$out/drive.csproj"},
		},
		run: []string{"dotnet", "$out/built/drive.dll"},
	},
}

// Every snippet accepts what is genuine and nothing else, where what it needs
// is on the machine.
func TestSnippets(t *testing.T) {
	t.Parallel()
	for _, r := range runtimes {
		t.Run(r.id+" by "+r.needs[0], func(t *testing.T) {
			t.Parallel()
			for _, program := range r.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Logf("NOT RUN: there is no %s on this machine, so its snippet was not tried", program)
					return
				}
			}
			r.try(t)
		})
	}
}

func (r *runtime) try(t *testing.T) {
	t.Helper()
	src, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.NewReplacer("$src", src, "$out", t.TempDir())
	command := func(words []string) *exec.Cmd {
		for i, word := range words {
			words[i] = folders.Replace(word)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		t.Cleanup(cancel)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	for _, words := range r.build {
		if out, err := command(words).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", words, err, out)
		}
	}
	checks := checks(t)
	var in strings.Builder
	for _, c := range checks {
		fmt.Fprintln(&in, strings.Join([]string{
			c.secret, c.header.Get("Webhook-ID"), c.header.Get("Webhook-Timestamp"), c.header.Get("Webhook-Signature"),
			base64.StdEncoding.EncodeToString(c.body),
		}, "|"))
	}
	run := command(r.run)
	run.Stdin, run.Stderr = strings.NewReader(in.String()), os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", r.run, err, out)
	}
	answers := strings.Fields(string(out))
	if len(answers) != len(checks) {
		t.Fatalf("%d answers to %d checks:\n%s", len(answers), len(checks), out)
	}
	for i, c := range checks {
		if answers[i] != fmt.Sprint(c.want) {
			t.Errorf("%s: %s, want %t", c.name, answers[i], c.want)
		}
	}
}

// What is sent by hand, with curl, is what a receiver takes for genuine.
func TestSendSnippet(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("NOT RUN: there is no %s on this machine, so the snippet was not tried", program)
			return
		}
	}
	secret := webhook.NewSecret()
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		genuine := err == nil && receiver.VerifyWebhook(secret, r.Header, body) &&
			r.Header.Get("X-Webhook-Signature") == webhook.Signature(secret, body) &&
			r.Header.Get("X-Webhook-ID") == r.Header.Get("Webhook-ID") &&
			r.Header.Get("X-Webhook-Timestamp") == r.Header.Get("Webhook-Timestamp")
		if !genuine {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for with, want := range map[string]string{secret: "200", webhook.NewSecret(): "401"} {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", `source ./send.sh && send_webhook "$1" "$2"`, "bash", with,
			server.URL).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("the receiver answered %q, %v; want %s", out, err, want)
		}
	}
}

func TestSnippetsAreAll(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range snippets.All() {
		if s.Text == "" || seen[s.ID] || s.Note == "" {
			t.Errorf("snippet %q is empty or there twice", s.ID)
		}
		seen[s.ID] = true
	}
	tried := map[string]bool{"go": true, "curl": true} // by tests of their own
	for _, r := range runtimes {
		tried[r.id] = true
	}
	for id := range seen {
		if !tried[id] {
			t.Errorf("no test runs the snippet of %s", id)
		}
	}
}
