package handlers_test

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
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/forms"
	"candor/internal/service/staff/passwords"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

// baseURL is where the tested servers believe to be.
const baseURL = "https://candor.example"

// startTime is what a bench's clock says at first: a moment within a month
// and a day, so that both have a past and a future.
var startTime = time.Date(2026, 11, 20, 3, 4, 5, 678_000_000, time.UTC)

// quickPasswords are hashed in no time: under the race detector a real hash
// takes longer than all else that a test does.
var quickPasswords = passwords.Cost{Time: 1, Memory: 8}

// A bench is a whole server over a database of its own, with one account.
type bench struct {
	testing.TB
	handler http.Handler
	config  handlers.Config
	service *servicetest.Services
	dsn     string
	blobDir string
	db      *db.DB
	clock   *testClock
	logs    *logBuffer
	account *accounts.Created
}

// newBench starts a server; change adapts its configuration. Its limiter lets
// through as much as a test sends.
func newBench(t testing.TB, change ...func(*handlers.Config)) *bench {
	t.Helper()
	dsn := dbtest.DSN(t)
	b := &bench{TB: t, dsn: dsn, db: dbtest.Open(t, dsn), clock: &testClock{now: startTime}, logs: &logBuffer{}}
	logger := slog.New(slog.NewJSONHandler(b.logs, nil))
	inserter, err := jobs.NewInserter(b.db, logger)
	b.ok(err)
	ring, err := keyring.Parse(keyring.Generate("test"))
	b.ok(err)
	b.blobDir = t.TempDir()
	blobs, err := blob.NewFiles(b.blobDir)
	b.ok(err)
	b.service = servicetest.New(servicetest.Config{
		DB: b.db, Outbox: outbox.New(inserter, nil), Ring: ring, Blobs: blobs, Policy: webhook.Policy{},
		BaseURL: baseURL, Clock: b.clock.Now, Logger: logger, Terms: invoiceTerms(),
		PasswordCost: quickPasswords,
	})
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 100, Burst: 1_000_000, Keys: 1000})
	b.ok(err)
	config := handlers.Config{
		Logger: logger, Clock: b.clock.Now, BaseURL: baseURL, Limiter: limiter, SignedOutLimiter: limiter, LinkLimiter: limiter, NetworkLimiter: limiter,
		CookieKeys: ring.CookieKeys(), Ready: func(context.Context) error { return nil }, Version: "test",
		Fonts: fonts(),
	}
	config = using(config, b.service)
	for _, f := range change {
		f(&config)
	}
	b.config = config
	b.handler, err = handlers.New(config)
	b.ok(err)
	b.account = b.newAccount("partner@lender.example", "professional")
	return b
}

// invoiceTerms are those of the tests: 10 % GST, by bank transfer.
func invoiceTerms() billing.Terms {
	return billing.Terms{GSTBasisPoints: 1000, DueDays: 14, Seller: domain.Seller{
		Name: "Candor Pty Ltd", ABN: "51 824 753 556", Transfer: []string{"BSB 062-000, account 1234 5678"},
	}}
}

// fonts are loaded once for all tests.
var fonts = sync.OnceValue(func() *pdf.Fonts {
	loaded, err := pdf.LoadFonts("")
	if err != nil {
		panic(err)
	}
	return loaded
})

// in is the bench in a subtest.
func (b *bench) in(t testing.TB) *bench {
	sub := *b
	sub.TB = t
	return &sub
}

// ok ends the test on an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) newAccount(email, plan string) *accounts.Created {
	b.Helper()
	account, err := b.service.Accounts.Create(b.Context(), accounts.Params{Name: "Lender & Sons", Email: email, Plan: plan}, someone)
	b.ok(err)
	return account
}

// waiting returns once something waits for a lock in the bench's database.
func (b *bench) waiting() {
	b.Helper()
	b.waitingFor(1)
}

// waitingFor returns once as many things wait for a lock.
func (b *bench) waitingFor(many int) {
	b.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		var n int
		b.ok(b.db.Raw().GetContext(b.Context(), &n, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
		if n >= many {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal("nothing came to wait for the lock")
		}
	}
}

// testScope is the account in test mode.
func (b *bench) testScope() domain.Scope { return domain.Scope{AccountID: b.account.AccountID} }

// address gives a request the name that development answers to.
func (b *bench) address(r *http.Request) {
	if b.config.Development {
		_, r.Host, _ = strings.Cut(b.config.BaseURL, "://")
	}
}

// serve sends a request through the router.
func (b *bench) serve(r *http.Request) *httptest.ResponseRecorder {
	b.Helper()
	b.address(r)
	recorder := httptest.NewRecorder()
	b.handler.ServeHTTP(recorder, r)
	return recorder
}

// newSession makes a session in the scope.
func (b *bench) newSession(scope domain.Scope, params domain.NewSession) *domain.Session {
	b.Helper()
	if params.FormType == "" {
		params.FormType = domain.FinancialStatement
	}
	if params.CustomerEmail == "" {
		params.CustomerEmail = "jo@customer.example"
	}
	session, err := b.service.Sessions.Create(b.Context(), scope, nil, params)
	b.ok(err)
	return session
}

// open opens a session's form as its customer.
func (b *bench) open(id domain.SessionID) *forms.State {
	b.Helper()
	state, err := b.service.Forms.Get(b.Context(), id)
	b.ok(err)
	b.ok(b.service.Forms.Open(b.Context(), state, domain.Visitor{UserAgent: "Test/1", IPAddress: "192.0.2.7"}))
	return state
}

// fill completes the named section with the full example's answers.
func (b *bench) fill(id domain.SessionID, name string) {
	b.Helper()
	if name == statement.DocumentsSection {
		b.ok(b.service.Forms.CompleteDocuments(b.Context(), id))
		return
	}
	b.ok(b.service.Forms.SaveSection(b.Context(), id, statementtest.Full().Section(name, b.clock.Now())))
}

// complete opens, fills and submits a session's form.
func (b *bench) complete(id domain.SessionID) {
	b.Helper()
	b.open(id)
	for _, name := range statement.SectionNames {
		if name != statement.DeclarationSection {
			b.fill(id, name)
		}
	}
	b.ok(b.service.Forms.Submit(b.Context(), id, statementtest.Full().Declaration, ""))
}

// upload adds a small PDF to an open session and returns its bytes.
func (b *bench) upload(id domain.SessionID, name string) []byte {
	b.Helper()
	content := []byte("%PDF-1.7\n% " + name + "\n%%EOF\n")
	b.ok(b.service.Forms.AddDocument(b.Context(), id, forms.Upload{Category: "identification", FileName: name, Content: bytes.NewReader(content)}))
	return content
}

// storePDF stores a completed session's PDF in place of the worker.
func (b *bench) storePDF(id domain.SessionID, content []byte) {
	b.Helper()
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) error {
		_, err := b.service.Vault.InsertPDF(b.Context(), tx, id, content, 4, b.clock.Now())
		return err
	}))
}

// testClock is a clock that tests set.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the clock's time.
func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *testClock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// logBuffer keeps what the server logs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends a log line.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// clear forgets the lines so far.
func (l *logBuffer) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// String returns all lines.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// someone does what a test has done.
var someone = domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: "a test"}

// restart replaces the bench's service by one of that configuration.
func (b *bench) restart(config servicetest.Config) {
	b.Helper()
	b.service = servicetest.New(config)
	b.config = using(b.config, b.service)
	var err error
	b.handler, err = handlers.New(b.config)
	b.ok(err)
}

// using is the configuration with those use cases.
func using(c handlers.Config, s *servicetest.Services) handlers.Config {
	c.Accounts, c.Attempts, c.Audit, c.StaffAuth, c.Billing, c.Forms, c.Home = s.Accounts, s.Attempts, s.Audit, s.Auth, s.Billing, s.Forms, s.Home
	c.Idempotency, c.Keys, c.RequestLog, c.Sessions, c.Team, c.Webhooks = s.Idempotency, s.Keys, s.RequestLog, s.Sessions, s.Team, s.Webhooks
	return c
}
