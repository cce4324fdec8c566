package main_test

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
	"candor/internal/testkit/signtest"
)

// The whole way with a certificate: a worker signs the PDF that the API answers, and
// one changed byte shows (D81). The web process needs no certificate, and no process
// logs anything of the key. A simulated session is signed, too.
func TestStatementIsSigned(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	files := signtest.New(t, signtest.RSA(t, 2048))
	env := process.WebEnvironment(t)
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	web := process.Serve(t, env, "web")
	worker := process.Serve(t, env.With("CANDOR_PDF_CERT", files.Certificate, "CANDOR_PDF_KEY", files.Key), "worker")
	api := process.NewPartner(t, web.URL, a.TestKey)
	s := api.CreateSession("")
	process.OpenForm(t, process.LinkOn(web, s)).Submit()
	if status, _, body := api.Do(http.MethodPost, "/sessions",
		`{"form_type":"financial_statement","customer_email":"jo@customer.example","simulate":"completed"}`); status != http.StatusCreated {
		t.Fatalf("a simulated session: %d %s", status, body)
	}
	hooks.Wait("session.pdf_ready", 2)
	trusted := files.Trusting(t)
	for _, ready := range hooks.Of("session.pdf_ready") {
		id := ready.SessionID
		_, _, pdf := api.Do(http.MethodGet, "/sessions/"+id+"/pdf", "")
		said := signtest.Verify(t, pdf, trusted)
		for _, want := range []string{"Signature is Valid.", "Certificate is Trusted.", "Total document signed", signtest.Subject} {
			if !strings.Contains(said, want) {
				t.Errorf("pdfsig doesn't say %q:\n%s", want, said)
			}
		}
		changed := bytes.Clone(pdf)
		changed[len(changed)/3] ^= 1
		if said := signtest.Verify(t, changed, trusted); strings.Contains(said, "is Valid") {
			t.Errorf("after one changed byte pdfsig says:\n%s", said)
		}
		_, _, data := api.Do(http.MethodGet, "/sessions/"+id+"/data", "")
		checkAttached(t, id, pdf, dataIn(t, data))
	}
	web.Stop()
	worker.Stop()
	key, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(key), "\n")[1]
	if logs := web.Stderr.String() + worker.Stderr.String(); strings.Contains(logs, line) ||
		!strings.Contains(logs, files.Certificate) {
		t.Error("the log has the key, or doesn't name the certificate's file")
	}
}

// A worker doesn't start with a certificate that can't be read or doesn't fit its key, and
// says which variable is wrong. config check says the same. With one that has expired it
// starts, so that a restart isn't an outage of all that signs nothing.
func TestWorkerRefusesOddCertificates(t *testing.T) {
	t.Parallel()
	good := signtest.New(t, signtest.ECDSA(t))
	expired := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, -1) })
	env := process.NewEnvironment(t)
	for name, tt := range map[string]struct {
		certificate, key, want string
		starts                 bool // the worker
	}{
		"expired": {expired.Certificate, expired.Key, "CANDOR_PDF_CERT the certificate of " + signtest.Subject + " expired on ",
			true},
		"another's key": {good.Certificate, expired.Key, "CANDOR_PDF_KEY is not the key of the certificate of " + signtest.Subject,
			false},
		"no file": {"/nowhere.pem", good.Key, "CANDOR_PDF_CERT open /nowhere.pem: no such file", false},
		"no key":  {good.Certificate, "", "CANDOR_PDF_CERT is set without CANDOR_PDF_KEY", false},
	} {
		env := env.With("CANDOR_PDF_CERT", tt.certificate, "CANDOR_PDF_KEY", tt.key)
		for _, command := range [][]string{{"config", "check"}, {"worker"}} {
			if command[0] == "worker" && tt.starts {
				continue
			}
			if r := process.Run(t, env, command...); r.Code != 1 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("%s: %v: exit code %d, %s; want %q", name, command, r.Code, r.Stderr, tt.want)
			}
		}
	}
	if r := process.Run(t, env.With("CANDOR_PDF_CERT", good.Certificate, "CANDOR_PDF_KEY", good.Key), "config",
		"check"); r.Code != 0 {
		t.Errorf("a good certificate: exit code %d, %s", r.Code, r.Stderr)
	}
}

// With a certificate that has expired the service runs, and says once that it needs another.
// A statement is completed, and its PDF waits unsigned until the certificate was renewed (D81).
func TestPDFsWaitForAnotherCertificate(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	expired := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, -1) })
	env := process.NewEnvironment(t)
	a := process.CreateAccount(t, env)
	hooks := hooktest.NewReceiver(t, nil)
	hooks.SetSecret(a.TestWebhookSecret)
	serve := func(files signtest.Files) *process.Candor {
		return process.Serve(t, env.With("CANDOR_PDF_CERT", files.Certificate, "CANDOR_PDF_KEY", files.Key), "serve")
	}
	p := serve(expired)
	api := process.NewPartner(t, p.URL, a.TestKey)
	s := api.CreateSession(hooks.URL)
	process.OpenForm(t, s.SessionURL).Submit()
	hooks.Wait("session.completed", 1)
	testkit.Await(t, "the PDF is tried", func() bool { return strings.Contains(p.Stderr.String(), "job failed") })
	if status, _, body := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusAccepted {
		t.Errorf("the PDF without a certificate: %d %s, want 202", status, body)
	}
	p.Stop()
	if n := strings.Count(p.Stderr.String(), "PDFs wait: "); n != 1 {
		t.Errorf("the start says %d times that the certificate has expired, want once:\n%s", n, p.Stderr.String())
	}

	renewed := signtest.New(t, signtest.ECDSA(t))
	p = serve(renewed)
	hooks.Wait("session.pdf_ready", 1)
	api = process.NewPartner(t, p.URL, a.TestKey)
	_, _, pdf := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", "")
	if said := signtest.Verify(t, pdf, renewed.Trusting(t)); !strings.Contains(said, "Signature is Valid.") {
		t.Errorf("pdfsig says:\n%s", said)
	}
	p.Stop()
}
