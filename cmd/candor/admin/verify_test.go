package admin_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candor/internal/platform/keyring"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

// TestVerify breaks each thing that candor verify checks, and each is reported with its
// remedy and without anything of the customer.
func TestVerify(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t).With("CANDOR_SECRET_KEYS", keyring.Generate("k1"), "CANDOR_SWEEP_INTERVAL", "1s")
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	p := process.Serve(t, env, "serve")
	session := process.NewPartner(t, p.URL, a.TestKey).CreateSession("")
	customer := process.OpenForm(t, process.LinkOn(p, session))
	customer.Upload("return.pdf", []byte("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"))
	customer.Submit()
	hooks.Wait("session.pdf_ready", 1)
	live := process.NewPartner(t, p.URL, a.LiveKey)
	if status, _, body := live.Do("POST", "/sessions",
		`{"form_type": "financial_statement", "customer_email": "zoe@example.com", "customer_name": "Zoe"}`); status != 201 {
		t.Fatalf("a live session: %d %s", status, body)
	}
	p.Stop()
	if r := process.Run(t, env, "billing", "cancel", "--account", a.AccountID, "--reason", "closed", "--now"); r.Code != 0 {
		t.Fatalf("billing cancel: %d %s", r.Code, r.Stderr)
	}
	whole := process.RunJSON[struct {
		Checks []struct {
			Check    string
			Examined int
		}
		Failed int
	}](t, env, "verify")
	if whole.Failed != 0 || len(whole.Checks) != 12 {
		t.Fatalf("before anything is broken: %+v", whole)
	}
	for _, c := range whole.Checks {
		if c.Examined == 0 && c.Check != "used sessions" {
			t.Errorf("%s examines nothing: the test proves nothing", c.Check)
		}
	}
	d := dbtest.Open(t, env["DATABASE_URL"])
	conn, err := d.Raw().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(statements string) {
		t.Helper()
		if _, err := conn.ExecContext(context.Background(), statements); err != nil {
			t.Fatalf("%s: %v", statements, err)
		}
	}
	run("SET session_replication_role = replica") // no trigger and no foreign key stands in the way
	without := func(table, condition string) (broken, mended string) {
		return "CREATE TABLE kept AS SELECT * FROM " + table + " WHERE " + condition + "; DELETE FROM " + table + " WHERE " + condition,
			"INSERT INTO " + table + " SELECT * FROM kept; DROP TABLE kept"
	}
	anEvent := "id = (SELECT id FROM event WHERE type = 'session.accessed')"
	for _, c := range []struct{ name, break1, mend string }{
		{"session counters", "UPDATE session_count SET created = created + 1", "UPDATE session_count SET created = created - 1"},
		{"search", "UPDATE session_search SET text = text || '?'", "UPDATE session_search SET text = rtrim(text, '?')"},
		{"event numbers", "UPDATE event_sequence SET last = last + 1", "UPDATE event_sequence SET last = last - 1"},
		{"deliveries have their event", "UPDATE delivery SET sequence = sequence + 1000",
			"UPDATE delivery SET sequence = sequence - 1000"},
		{"invoices", "UPDATE invoice SET total_cents = total_cents + 1", "UPDATE invoice SET total_cents = total_cents - 1"},
		{"invoices", "UPDATE invoice_number SET last = last + 1", "UPDATE invoice_number SET last = last - 1"},
		{"used sessions", "UPDATE invoice SET sessions_used = sessions_used + 1",
			"UPDATE invoice SET sessions_used = sessions_used - 1"},
		{"PDFs", "UPDATE statement_pdf SET content = set_byte(content, 50, 255 - get_byte(content, 50))",
			"UPDATE statement_pdf SET content = set_byte(content, 50, 255 - get_byte(content, 50))"},
		{"documents", "UPDATE document SET size_bytes = size_bytes + 1", "UPDATE document SET size_bytes = size_bytes - 1"},
	} {
		run(c.break1)
		wantWrong(t, c.name, env)
		run(c.mend)
	}
	for _, c := range []struct{ name, table, condition string }{
		{"event numbers", "event", anEvent},
		{"deliveries have their event", "event", anEvent},
		{"finished sessions have their event", "event", "type = 'session.completed'"},
		{"events have their delivery", "delivery", "type = 'session.accessed'"},
		{"PDFs are stored", "statement_pdf", "true"},
	} {
		broken, mended := without(c.table, c.condition)
		run(broken)
		wantWrong(t, c.name, env)
		run(mended)
	}
	file := aFile(t, filepath.Join(env["CANDOR_DATA_DIR"], "documents"))
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, content...)
	changed[len(changed)-1] ^= 1
	for _, broken := range [][]byte{changed, content[:len(content)/2], nil} {
		err := os.Remove(file)
		if err == nil && broken != nil {
			err = os.WriteFile(file, broken, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		wantWrong(t, "documents", env)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret keys", "documents", "PDFs"} {
		wantWrong(t, name, env.With("CANDOR_SECRET_KEYS", keyring.Generate("other")))
	}
	if r := process.Run(t, env, "verify"); r.Code != 0 || !strings.Contains(r.Stdout, "All 12 checks passed.") {
		t.Errorf("mended: exit code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// wantWrong fails the test unless candor verify finds the check wrong, with a remedy.
func wantWrong(t *testing.T, check string, env process.Environment) {
	t.Helper()
	r := process.Run(t, env, "verify")
	_, after, found := strings.Cut(r.Stdout, "WRONG  "+check+": ")
	lines := strings.SplitN(after, "\n", 3)
	if r.Code != 1 || !found || len(lines) < 3 || !strings.HasPrefix(lines[1], "       ") ||
		!strings.Contains(r.Stderr, "found something wrong") {
		t.Errorf("%s: exit code %d, %s%s", check, r.Code, r.Stdout, r.Stderr)
	}
	if said := strings.ToLower(r.Stdout + r.Stderr); strings.Contains(said, "example.com") || strings.Contains(said, "zoe") {
		t.Errorf("the customer is named: %s", said)
	}
}

// aFile is a file below the folder.
func aFile(t *testing.T, folder string) (file string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		t.Fatalf("%s has no file: %v", folder, err)
	}
	return file
}
