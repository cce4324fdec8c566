package jobs_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
	"candor/internal/vault"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// bench is a test's own database with an account, and what workers need.
type bench struct {
	testing.TB
	ctx      context.Context
	db       *db.DB
	dsn      string
	enqueuer *jobs.Enqueuer
	ring     *keyring.Keyring
	blobs    *blob.Files
	vault    *vault.Vault
	scope    domain.Scope
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, ctx: context.Background(), dsn: dbtest.DSN(t)}
	b.db = dbtest.Open(t, b.dsn)
	var err error
	b.enqueuer, err = jobs.NewEnqueuer(b.db, discard, nil)
	b.ok(err)
	b.ring, err = keyring.Parse(keyring.Generate("test"))
	b.ok(err)
	b.blobs, err = blob.NewFiles(t.TempDir())
	b.ok(err)
	b.vault = vault.New(b.ring, b.blobs)
	account := &domain.Account{ID: domain.NewAccountID(), Name: "Lender", BillingEmail: "bills@lender.example", CreatedAt: now()}
	b.scope = domain.Scope{AccountID: account.ID, Livemode: true}
	b.tx(func(tx *db.Tx) error {
		if err := tx.InsertAccount(b.ctx, account); err != nil {
			return err
		}
		return tx.InsertWebhookSetting(b.ctx, b.scope, &db.WebhookSetting{Secret: b.ring.Seal(b.scope.SecretOwner(), []byte(secret))})
	})
	return b
}

var discard = slog.New(slog.DiscardHandler)

func now() time.Time { return domain.SystemClock.Now() }

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) tx(work func(tx *db.Tx) error) {
	b.Helper()
	b.ok(b.db.InTx(b.ctx, work))
}

// worker makes a worker that is not started yet.
func (b *bench) worker(change ...func(*jobs.Config)) *jobs.Worker {
	b.Helper()
	fonts, err := fonts()
	b.ok(err)
	client := webhook.NewClient(webhook.Policy{Development: true}, webhook.WithTimeouts(time.Second, 3*time.Second))
	b.Cleanup(client.Close)
	config := jobs.Config{
		DB: b.db, DSN: b.dsn, Enqueuer: b.enqueuer, Ring: b.ring, Blobs: b.blobs, Fonts: fonts,
		Client: client, Schedule: webhook.DefaultSchedule(), BaseURL: "https://candor.example", Clock: domain.SystemClock, Logger: discard,
		SweepEvery: time.Hour, RescueAfter: 2 * time.Minute, PDFWorkers: 2,
	}
	for _, f := range change {
		f(&config)
	}
	w, err := jobs.NewWorker(b.ctx, config)
	b.ok(err)
	return w
}

var fonts = sync.OnceValues(func() (*pdf.Fonts, error) { return pdf.LoadFonts("") })

// start sets a new worker to work until the test ends.
func (b *bench) start(change ...func(*jobs.Config)) {
	b.Helper()
	w := b.worker(change...)
	b.ok(w.Start(b.ctx))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			b.Errorf("stop: %v", err)
		}
	})
}

func schedule(t testing.TB, text string) func(*jobs.Config) {
	t.Helper()
	s, err := webhook.ParseSchedule(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *jobs.Config) { c.Schedule = s }
}

func sweeping(c *jobs.Config) { c.SweepEvery = 100 * time.Millisecond }

// session makes a session that was created at the given time and sends its
// events to url, "" for none of its own.
func (b *bench) session(url string, created time.Time) *domain.Session {
	b.Helper()
	s, err := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example", WebhookURL: url}.
		Session(b.scope, created, func(string) error { return nil })
	b.ok(err)
	b.tx(func(tx *db.Tx) error { return tx.InsertSession(b.ctx, s) })
	return s
}

// completed makes a session with a full statement, completed at the given
// time.
func (b *bench) completed(url string, at time.Time) *domain.Session {
	b.Helper()
	s := b.session(url, at)
	b.tx(func(tx *db.Tx) error {
		for _, section := range statementtest.Full().Sections(at) {
			answers, err := section.MarshalJSON()
			b.ok(err)
			_, err = b.vault.SaveSection(b.ctx, tx, s.ID, section.Name, answers, at)
			b.ok(err)
		}
		if _, err := tx.OpenSession(b.ctx, s.ID, at); err != nil {
			return err
		}
		s.Status, s.CompletedAt, s.SectionsCompleted = domain.Completed, &at, statement.SectionsTotal
		return tx.CompleteSession(b.ctx, s)
	})
	return s
}

// emit records an event of the session and returns its body.
func (b *bench) emit(s *domain.Session, number int) {
	b.Helper()
	b.tx(func(tx *db.Tx) error { return b.enqueuer.SessionEvent(b.ctx, tx, s, section(s, number), now()) })
}

func section(s *domain.Session, number int) domain.Payload {
	return domain.SectionCompletedPayload{SessionID: s.ID, Section: "income", SectionNumber: number, SectionsTotal: 7}
}

// eventually waits until check returns nil.
func (b *bench) eventually(what string, check func() bool) {
	b.Helper()
	deadline, tick := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !check() {
		select {
		case <-deadline.C:
			b.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// delivery waits until the session's only delivery is in the state.
func (b *bench) delivery(s *domain.Session, state domain.DeliveryState) domain.Delivery {
	b.Helper()
	var all []domain.Delivery
	b.eventually("a delivery that is "+string(state), func() (done bool) {
		var err error
		all, err = b.db.Deliveries(b.ctx, s.ID)
		b.ok(err)
		return len(all) == 1 && all[0].State == state
	})
	return all[0]
}

// endpoint is the account's endpoint of a URL.
func (b *bench) endpoint(url string) (id domain.EndpointID) {
	b.Helper()
	b.ok(b.db.Raw().GetContext(b.ctx, &id, "SELECT id FROM webhook_endpoint WHERE origin = $1", domain.Origin(url)))
	return id
}

// events are the session's events of a type.
func (b *bench) events(s *domain.Session, kind domain.EventType) []domain.Event {
	b.Helper()
	all, err := b.db.Events(b.ctx, s.ID)
	b.ok(err)
	var out []domain.Event
	for _, event := range all {
		if event.Type == kind {
			out = append(out, event)
		}
	}
	return out
}

func (b *bench) count(query string, args ...any) (n int) {
	b.Helper()
	b.ok(b.db.Raw().GetContext(b.ctx, &n, query, args...))
	return n
}

// receiver is a partner's server that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []received
	peak int // of requests at once
	now  int
}

type received struct {
	header http.Header
	body   string
	at     time.Time
}

// newReceiver answers its nth request, from 1, with what answer writes; nil
// answers 200.
func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("receiver: %v", err)
		}
		rec.mu.Lock()
		rec.got = append(rec.got, received{r.Header.Clone(), string(body), at})
		n := len(rec.got)
		rec.now++
		rec.peak = max(rec.peak, rec.now)
		rec.mu.Unlock()
		if answer != nil {
			answer(n, w, r)
		}
		rec.mu.Lock()
		rec.now--
		rec.mu.Unlock()
	}))
	t.Cleanup(rec.CloseClientConnections)
	t.Cleanup(rec.Close)
	return rec
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// most is how many requests there were at once.
func (r *receiver) most() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peak
}

func (b *bench) received(r *receiver, n int) []received {
	b.Helper()
	b.eventually("webhooks", func() bool { return len(r.requests()) >= n })
	return r.requests()
}

// data reads the data of a webhook's body.
func data[T any](t testing.TB, body []byte) T {
	t.Helper()
	var envelope struct{ Data T }
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatal(err)
	}
	return envelope.Data
}

// hang answers when the client has gone or the test lets go.
func hang(release <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}
