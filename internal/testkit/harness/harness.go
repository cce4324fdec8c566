// Package harness starts a whole server over a test's own database and drives
// it as its users do: the API's client, the customer's browser, the staff's
// browser and the mailbox of emails. Its clock stands still until a test moves
// it. For tests only.
package harness

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/handlers/dashboard/auth"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

// BaseURL is where the tested servers believe to be.
const BaseURL = "https://candor.example"

// A Harness is a whole server over a database of its own, with one account.
type Harness struct {
	testing.TB
	Handler http.Handler
	Config  handlers.Config
	Service *servicetest.Services
	DSN     string
	BlobDir string
	DB      *db.DB
	Clock   *Clock
	Logs    *testkit.LogBuffer
	Account *accounts.Created
}

// New starts a server; change adapts its configuration. Its limiter lets
// through as much as a test sends.
func New(t testing.TB, change ...func(*handlers.Config)) *Harness {
	t.Helper()
	dsn, pool := dbtest.Lend(t)
	h := &Harness{TB: t, DSN: dsn, DB: pool, Clock: &Clock{t: StartTime}, Logs: &testkit.LogBuffer{}}
	logger := slog.New(slog.NewJSONHandler(h.Logs, nil))
	inserter, err := jobs.NewInserter(h.DB, logger)
	h.OK(err)
	ring, err := keyring.Parse(keyring.Generate("test"))
	h.OK(err)
	h.BlobDir = t.TempDir()
	blobs, err := blob.NewFiles(h.BlobDir)
	h.OK(err)
	h.Service = servicetest.New(servicetest.Config{
		DB: h.DB, Outbox: outbox.New(inserter, nil), Ring: ring, Blobs: blobs, Policy: webhook.Policy{},
		BaseURL: BaseURL, Clock: h.Clock.Now, Logger: logger, Terms: InvoiceTerms(),
		PasswordCost: servicetest.QuickPasswords,
	})
	h.Service.Webhooks.SecretsLease = 0 // no worker signs with what it read before a test changed it
	limit := ratelimit.Config{PerMinute: 100, Burst: 1_000_000, Keys: 1000}
	limiter, err := ratelimit.New(limit)
	h.OK(err)
	config := handlers.Config{
		Services: h.Service.Services,
		Logger:   logger, Clock: h.Clock.Now, BaseURL: BaseURL, Limiter: limiter, Rate: limit,
		Schedule: webhook.DefaultSchedule(), SignedOutLimiter: limiter,
		StaffLimits: auth.Limits{Person: limiter, Account: limiter, Changes: limiter, Exports: limiter}, LinkLimiter: limiter,
		OpenedLimiter: limiter, NetworkLimiter: limiter,
		CookieKeys: ring.CookieKeys(), Ready: func(context.Context) error { return nil }, Version: "test",
		Fonts: Fonts(),
	}
	for _, f := range change {
		f(&config)
	}
	h.Config = config
	h.Handler, err = handlers.New(config)
	h.OK(err)
	h.Account = h.NewAccount("partner@lender.example", "professional")
	return h
}

// InvoiceTerms are those of the tests: 10 % GST, by bank transfer.
func InvoiceTerms() billing.Terms {
	return billing.Terms{GSTBasisPoints: 1000, DueDays: 14, Seller: domain.Seller{
		Name: "Candor Pty Ltd", ABN: "51 824 753 556", Transfer: []string{"BSB 062-000, account 1234 5678"},
	}}
}

// Fonts are loaded once for all tests.
var Fonts = sync.OnceValue(func() *pdf.Fonts {
	loaded, err := pdf.LoadFonts("")
	if err != nil {
		panic(err)
	}
	return loaded
})

// In is the harness in a subtest.
func (h *Harness) In(t testing.TB) *Harness {
	sub := *h
	sub.TB = t
	return &sub
}

// OK ends the test on an error.
func (h *Harness) OK(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// NewAccount creates an account with an owner.
func (h *Harness) NewAccount(email, plan string) *accounts.Created {
	h.Helper()
	account, err := h.Service.Accounts.Create(h.Context(), accounts.Params{Name: "Lender & Sons", Email: email, Plan: plan},
		Operator)
	h.OK(err)
	return account
}

// WaitForLock returns once something waits for a lock in the harness's database.
func (h *Harness) WaitForLock() {
	h.Helper()
	h.WaitForLocks(1)
}

// WaitForLocks returns once as many things wait for a lock.
func (h *Harness) WaitForLocks(many int) {
	h.Helper()
	testkit.Await(h, "nothing came to wait for the lock", func() bool {
		return QueryOne[int](h,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= many
	})
}

// TestScope is the account in test mode.
func (h *Harness) TestScope() domain.Scope { return domain.Scope{AccountID: h.Account.AccountID} }

// Address gives a request the name that development answers to.
func (h *Harness) Address(r *http.Request) {
	if h.Config.Development {
		_, r.Host, _ = strings.Cut(h.Config.BaseURL, "://")
	}
}

// Serve sends a request through the router.
func (h *Harness) Serve(r *http.Request) *httptest.ResponseRecorder {
	h.Helper()
	h.Address(r)
	recorder := httptest.NewRecorder()
	h.Handler.ServeHTTP(recorder, r)
	return recorder
}

// NewSession makes a session in the scope.
func (h *Harness) NewSession(scope domain.Scope, params domain.NewSession) *domain.Session {
	h.Helper()
	if params.FormType == "" {
		params.FormType = domain.FinancialStatement
	}
	if params.CustomerEmail == "" {
		params.CustomerEmail = "jo@customer.example"
	}
	session, err := h.Service.Sessions.Create(h.Context(), scope, nil, params, func() {})
	h.OK(err)
	return session
}

// Open opens a session's form as its customer.
func (h *Harness) Open(id domain.SessionID) *forms.State {
	h.Helper()
	state, err := h.Service.Forms.Get(h.Context(), id)
	h.OK(err)
	h.OK(h.Service.Forms.Open(h.Context(), state, domain.Visitor{UserAgent: "Test/1", IPAddress: "192.0.2.7"}))
	return state
}

// Fill completes the named section with the full example's answers.
func (h *Harness) Fill(id domain.SessionID, name string) {
	h.Helper()
	h.OK(servicetest.Fill(h.Context(), h.Service.Forms, id, name))
}

// Complete opens, fills and submits a session's form.
func (h *Harness) Complete(id domain.SessionID) {
	h.Helper()
	h.Open(id)
	for _, name := range statement.SectionNames {
		if name != statement.DeclarationSection {
			h.Fill(id, name)
		}
	}
	h.OK(h.Service.Forms.Submit(h.Context(), &domain.Session{ID: id},
		forms.Signature{Declaration: statementtest.Full().Declaration}))
}

// Upload adds a small PDF to an open session and returns its bytes.
func (h *Harness) Upload(id domain.SessionID, name string) []byte {
	h.Helper()
	content := []byte("%PDF-1.7\n% " + name + "\n%%EOF\n")
	h.OK(h.Service.Forms.AddDocument(h.Context(), &domain.Session{ID: id}, forms.Upload{Category: "identification", FileName: name,
		Content: bytes.NewReader(content)}))
	return content
}

// StorePDF stores a completed session's PDF in place of the worker.
func (h *Harness) StorePDF(id domain.SessionID, content []byte) {
	h.Helper()
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) error {
		_, err := h.Service.Vault.InsertPDF(h.Context(), tx, id, domain.PDF{Content: content, Pages: 4}, h.Clock.Now())
		return err
	}))
}

// Operator does what a test has done.
var Operator = domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: "a test"}

// Restart replaces the harness's service by one of that configuration.
func (h *Harness) Restart(config servicetest.Config) {
	h.Helper()
	h.Service = servicetest.New(config)
	h.Config.Services = h.Service.Services
	var err error
	h.Handler, err = handlers.New(h.Config)
	h.OK(err)
}

// CountFigures counts the figures that are due now (D129).
func (h *Harness) CountFigures() {
	h.Helper()
	for at := h.Clock.Now(); ; at = at.Add(time.Minute) { // no day rests so long
		n, err := h.DB.CountFigures(h.Context(), at, 1000)
		h.OK(err)
		if n == 0 {
			return
		}
	}
}

// SessionOf is a session as it is stored.
func (h *Harness) SessionOf(id domain.SessionID) *domain.Session {
	h.Helper()
	session, err := h.DB.SessionByID(h.Context(), id)
	h.OK(err)
	return session
}

// Burst is a limiter that lets n requests through at once, and 60 a minute.
func Burst(t testing.TB, n int) *ratelimit.Memory {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{PerMinute: 60, Burst: n, Keys: 100})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Looks are the ways in which pages are looked at. Colours depend on the scheme
// and the layout on the width: two looks show each of them. With -pictures
// there are all four.
func Looks() []browsertest.Options {
	two := []browsertest.Options{{Device: browsertest.Phone}, {Device: browsertest.Desktop, Dark: true}}
	if browsertest.Pictures() {
		return append(two, browsertest.Options{Device: browsertest.Phone, Dark: true}, browsertest.Options{Device: browsertest.Desktop})
	}
	return two
}

// Hostile is text that must not become part of a page, a script or a formula.
const Hostile = `=cmd|'/c calc'!A1 <script>alert("x")</script> ` + "\u202ekcab"

// QueryOne is the id that the query finds, as the dashboard writes it.
func QueryOne[ID any](h *Harness, query string, args ...any) ID {
	h.Helper()
	var id ID
	h.OK(h.DB.Raw().GetContext(h.Context(), &id, query, args...))
	return id
}

// Listen puts the harness's server on a loopback address.
func Listen(t *testing.T, change ...func(*handlers.Config)) (*Harness, string) {
	t.Helper()
	h := New(t, append(change, func(c *handlers.Config) { c.Development = true })...)
	server := testkit.Serve(t, h.Handler)
	return h, server.URL
}

// ListenAsItself is Listen for a server that knows the address at which it listens.
func ListenAsItself(t *testing.T) (*Harness, string) {
	t.Helper()
	var h *Harness
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Handler.ServeHTTP(w, r) }))
	h = New(t, func(c *handlers.Config) { c.Development, c.BaseURL = true, server.URL })
	return h, server.URL
}

// PDFOf is a file of that many bytes that begins as a PDF does.
func PDFOf(size int) []byte {
	return append([]byte("%PDF-1.7\n"), make([]byte, size-len("%PDF-1.7\n"))...)
}
