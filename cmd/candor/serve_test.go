package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
)

// The main path: a session by the API, the form by plain POSTs, webhooks
// checked by a receiver that shares no code with the sender, JSON and PDF.
func TestStatementFromStartToEnd(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	a := process.CreateAccount(t, env)
	hooks := hooktest.NewReceiver(t, nil)
	hooks.SetSecret(a.TestWebhookSecret)
	p := process.Serve(t, env, "serve")
	api := process.NewPartner(t, p.URL, a.TestKey)

	s := api.CreateSession(hooks.URL)
	form := process.OpenForm(t, s.SessionURL)
	form.Upload("notice of assessment.pdf", []byte("%PDF-1.4\n%%EOF\n"))
	form.Submit()

	ready := hooks.Wait("session.pdf_ready", 1)[0]
	hooks.Wait("session.section_completed", 7)
	hooks.Wait("session.completed", 1)
	checkEvents(t, hooks.Requests(), s.ID)
	checkCompleted(t, hooks.Of("session.completed")[0])
	checkPDF(t, api, s.ID, ready, checkData(t, api, s.ID))
	p.Stop()
	var calls int // with the queued ones
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&calls,
		`SELECT count(*) FROM api_request WHERE status IN (200, 201)`); err != nil || calls != 3 {
		t.Errorf("%d API requests in the log, %v; want 3", calls, err)
	}
	if logs := p.Stderr.String(); !strings.Contains(logs, "route=/v1/sessions") || strings.Contains(logs, "zoe.obrien") ||
		strings.Contains(logs, "Wattle") || strings.Contains(logs, a.TestKey) || strings.Contains(logs, s.SessionURL) {
		t.Error("the log has no line for a request, or something personal or secret in it")
	}
}

func checkEvents(t *testing.T, calls []hooktest.Request, sessionID string) {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range calls {
		if c.SessionID != sessionID || c.Livemode || c.Timestamp.IsZero() {
			t.Errorf("envelope of %s: %s", c.Event, c.Body)
		}
		if c.Header.Get("X-Webhook-Retry-Count") != "" || c.Header.Get("X-Webhook-Original-Timestamp") != "" {
			t.Errorf("%s has the headers of a retry at its first attempt", c.Event)
		}
		if ids[c.DeliveryID()] {
			t.Errorf("%s came twice", c.DeliveryID())
		}
		ids[c.DeliveryID()] = true
	}
	if len(calls) != 10 || calls[0].Event != "session.accessed" {
		t.Errorf("%d webhooks, the first %s; want 10 from session.accessed on", len(calls), calls[0].Event)
	}
}

func checkCompleted(t *testing.T, call hooktest.Request) {
	t.Helper()
	var data struct {
		ReferenceID string         `json:"reference_id"`
		Summary     map[string]any `json:"summary"`
	}
	decodeNumbers(t, call.Data, &data)
	sum := statementtest.Full().Summary()
	for name, want := range map[string]statement.Cents{"total_assets": sum.TotalAssets, "total_liabilities": sum.TotalLiabilities,
		"net_worth": sum.NetWorth} {
		wantJSON, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(data.Summary[name]); got != string(wantJSON) {
			t.Errorf("session.completed: %s = %s, want %s", name, got, wantJSON)
		}
	}
	if data.ReferenceID != "loan-7" {
		t.Errorf("session.completed: reference_id = %q", data.ReferenceID)
	}
}

// decodeNumbers decodes JSON and keeps amounts exact.
func decodeNumbers(t *testing.T, content []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%s: %v", content, err)
	}
}

// checkData returns the data's bytes.
func checkData(t *testing.T, api process.Partner, id string) (data []byte) {
	t.Helper()
	status, _, content := api.Do(http.MethodGet, "/sessions/"+id+"/data", "")
	var got struct {
		Status string `json:"status"`
		Data   struct {
			Summary   map[string]any   `json:"summary"`
			Documents []map[string]any `json:"documents"`
			Personal  map[string]any   `json:"personal_details"`
		} `json:"data"`
	}
	decodeNumbers(t, content, &got)
	sum := statementtest.Full().Summary()
	surplus, err := json.Marshal(sum.MonthlySurplus)
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || got.Status != "completed" || fmt.Sprint(got.Data.Summary["monthly_surplus"]) != string(surplus) ||
		len(got.Data.Documents) != 1 || got.Data.Documents[0]["content_type"] != "application/pdf" ||
		got.Data.Personal["full_name"] != "Zoë Margaret O'Brien" {
		t.Errorf("the data endpoint returned %d %s, want monthly_surplus %s", status, content, surplus)
	}
	return dataIn(t, content)
}

// dataIn is the member data of the data endpoint's answer, byte for byte.
func dataIn(t *testing.T, answer []byte) []byte {
	t.Helper()
	var exact struct {
		Data json.RawMessage `json:"data"`
	}
	decodeNumbers(t, answer, &exact)
	return exact.Data
}

func checkPDF(t *testing.T, api process.Partner, id string, ready hooktest.Request, data []byte) {
	t.Helper()
	status, header, content := api.Do(http.MethodGet, "/sessions/"+id+"/pdf?download=true", "")
	if status != http.StatusOK || header.Get("Content-Type") != "application/pdf" || !bytes.HasPrefix(content, []byte("%PDF-")) ||
		!strings.Contains(header.Get("Content-Disposition"), "financial_statement_"+id+".pdf") {
		t.Errorf("the PDF endpoint returned %d %v", status, header)
	}
	var event struct {
		FileSize  int    `json:"file_size_bytes"`
		PageCount int    `json:"page_count"`
		URL       string `json:"pdf_url"`
	}
	decodeNumbers(t, ready.Data, &event)
	if event.FileSize != len(content) || event.PageCount < 2 || event.URL != api.Base+"/v1/sessions/"+id+"/pdf" {
		t.Errorf("session.pdf_ready says %s; the PDF has %d bytes", ready.Data, len(content))
	}
	checkAttached(t, id, content, data)
}

func TestRetriesFollowTheSchedule(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t).With("CANDOR_WEBHOOK_SCHEDULE", "0s,100ms,200ms,100ms")
	a := process.CreateAccount(t, env)
	var others atomic.Int32
	hooks := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case bytes.Contains(body, []byte(`"session.section_completed"`)):
			w.WriteHeader(http.StatusInternalServerError) // always
		case others.Add(1) <= 2:
			w.WriteHeader(http.StatusFound) // a redirect is a failure too
		}
	})
	hooks.SetSecret(a.TestWebhookSecret)
	p := process.Serve(t, env, "serve")
	s := process.NewPartner(t, p.URL, a.TestKey).CreateSession(hooks.URL)
	process.OpenForm(t, s.SessionURL).Complete("income")

	accessed := hooks.Wait("session.accessed", 3)
	first := accessed[0].Header.Get("X-Webhook-Timestamp")
	for i, call := range accessed {
		count, original := call.Header.Get("X-Webhook-Retry-Count"), call.Header.Get("X-Webhook-Original-Timestamp")
		wantCount, wantOriginal := "", ""
		if i > 0 {
			wantCount, wantOriginal = strconv.Itoa(i), first
		}
		if count != wantCount || original != wantOriginal {
			t.Errorf("attempt %d: retry count %q, original timestamp %q; want %q, %q", i+1, count, original, wantCount, wantOriginal)
		}
		if call.DeliveryID() != accessed[0].DeliveryID() || !bytes.Equal(call.Body, accessed[0].Body) {
			t.Errorf("attempt %d has another id or body", i+1)
		}
	}
	hooks.Wait("session.section_completed", 4)
	p.WaitFor(regexp.MustCompile(`attempt=4 state=failed`))
	p.Stop() // after this no attempt can follow
	if n := len(hooks.Of("session.section_completed")); n != 4 {
		t.Errorf("%d attempts with a schedule of 4", n)
	}
	if n := len(hooks.Of("session.accessed")); n != 3 {
		t.Errorf("%d attempts, want none after success", n)
	}
}

// openDir returns a folder that PostgreSQL's user can enter, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "candor-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

var keyLine = regexp.MustCompile(`Test API key +(candor_test_\w+)`)

// wantDemoSignIn fails unless the demo account's password opens the dashboard.
// Development shows it at each start, so it need not be changed.
func wantDemoSignIn(t *testing.T, dir, base string) {
	t.Helper()
	var demo client.Account
	content, err := os.ReadFile(filepath.Join(dir, "demo-account.json"))
	if err == nil {
		err = json.Unmarshal(content, &demo)
	}
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	typed := url.Values{"email": {demo.Email}, "password": {demo.Password}, "then": {"/dashboard/test/keys"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/dashboard/sign-in", strings.NewReader(typed.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := (&http.Client{Jar: jar}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // only its address matters
	if answer.StatusCode != http.StatusOK || answer.Request.URL.Path != "/dashboard/test/keys" {
		t.Errorf("signing in leads to %s, status %d, want the page that was asked for", answer.Request.URL.Path, answer.StatusCode)
	}
}

// A developer's start: nothing is configured, everything is printed, other
// commands share the database, and a second start keeps it.
func TestPrivatePostgresKeepsTheData(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	env := process.Environment{"CANDOR_ADDR": "localhost:0", "CANDOR_DATA_DIR": dir}
	first := process.Launch(t, env)
	key := first.WaitFor(keyLine)[1]
	first.WaitFor(regexp.MustCompile(`curl http`))
	base := regexp.MustCompile(`ready on (http://localhost:\d+) `).FindStringSubmatch(first.Stdout.String())[1]
	for _, want := range []string{"candor_live_", "whsec_", "-H 'Authorization: Bearer " + key + "'", "financial_statement"} {
		if !strings.Contains(first.Stdout.String(), want) {
			t.Errorf("the welcome does not show %s", want)
		}
	}
	s := process.NewPartner(t, base, key).CreateSession("")
	process.OpenForm(t, s.SessionURL)
	wantDemoSignIn(t, dir, base)
	// The other command shares the running server and doesn't end it.
	if list := process.RunJSON[[]map[string]string](t, env, "account", "list"); len(list) != 1 {
		t.Errorf("account list = %v beside serve, want the demo account", list)
	}
	pid := postmaster(t, dir)
	first.Stop()
	if first.Stderr.String() != "" {
		t.Errorf("development printed more than its welcome: %s", first.Stderr)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("PostgreSQL, process %d, is still there after candor has ended", pid)
	}
	for _, file := range []string{"secret-keys", "demo-account.json"} {
		if st, err := os.Stat(filepath.Join(dir, file)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", file, st.Mode(), err)
		}
	}

	second := process.Launch(t, env)
	if again := second.WaitFor(keyLine)[1]; again != key {
		t.Errorf("the second start shows key %s, the first showed %s", again, key)
	}
	second.WaitFor(regexp.MustCompile(`curl http`))
	base = regexp.MustCompile(`ready on (http://localhost:\d+) `).FindStringSubmatch(second.Stdout.String())[1]
	if status := (process.NewPartner(t, base, key)).Status(s.ID); status != "in_progress" {
		t.Errorf("after the second start the session is %q, want in_progress", status)
	}
	process.OpenForm(t, base+s.SessionURL[strings.Index(s.SessionURL, "/f/"):]) // the link is still valid
	second.Stop()
}

// postmaster returns the process id of the private PostgreSQL.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// checkAttached extracts the file from the PDF: it is the member of the API's answer,
// byte for byte (D81).
func checkAttached(t *testing.T, id string, content, data []byte) {
	t.Helper()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "statement.pdf"), filepath.Join(dir, "data.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "pdfdetach", "-savefile", "financial_statement_"+id+".json", "-o", out, path).
		CombinedOutput(); err != nil {
		t.Fatalf("pdfdetach (install poppler-utils): %v\n%s", err, said)
	}
	if attached, err := os.ReadFile(out); err != nil || !bytes.Equal(attached, data) {
		t.Errorf("the PDF has the data\n%s\nand the API answers (%v)\n%s", attached, err, data)
	}
}

// Without S3 uploads get 503, and nothing else fails (doc/operations.md, What is lost).
func TestServesWithoutS3(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t).With("CANDOR_BLOBS", "s3", "CANDOR_S3_ENDPOINT", "http://"+ports.Local(ports.ForTest(t, 1)[0]),
		"CANDOR_S3_BUCKET", "documents", "CANDOR_S3_ACCESS_KEY", "key", "CANDOR_S3_SECRET_KEY", "secret")
	account := process.CreateAccount(t, env)
	web := process.Serve(t, env, "web")
	customer := process.OpenForm(t, process.LinkOn(web, process.NewPartner(t, web.URL, account.TestKey).CreateSession("")))
	customer.Complete(statement.IncomeSection)
	body, header := client.Document("tax_return", "a.pdf", []byte("%PDF-1.4\n%%EOF\n"))
	upload, err := customer.Send(t.Context(), http.MethodPost, customer.Form+"/documents", bytes.NewReader(body), header)
	if err != nil || upload.Status != http.StatusServiceUnavailable {
		t.Errorf("an upload without S3: %d, %v, want 503", upload.Status, err)
	}
	if ready, err := client.New(web.URL).Get(t.Context(), "/readyz"); err != nil || ready.Status != http.StatusOK {
		t.Errorf("/readyz: %d, %v, want 200", ready.Status, err)
	}
}
