package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/service/accounts"
	"candor/internal/service/forms"
	"candor/internal/service/staff/passwords"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
	"candor/jobs"
)

// start is the time at which the tests' clocks begin.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bench is a service on a test's own database, with an account and a clock
// that stands still.
type bench struct {
	testing.TB
	*servicetest.Services
	ctx     context.Context
	dsn     string
	blobs   *blob.Files
	offset  atomic.Int64 // of the clock, from start
	account *accounts.Created
}

func newBench(t testing.TB, change ...func(*servicetest.Config)) *bench {
	t.Helper()
	b := &bench{TB: t, ctx: context.Background(), dsn: dbtest.DSN(t)}
	database := dbtest.Open(t, b.dsn)
	logger := slog.New(slog.DiscardHandler)
	inserter, err := jobs.NewInserter(database, logger)
	b.ok(err)
	ring, err := keyring.Parse(keyring.Generate("test"))
	b.ok(err)
	b.blobs, err = blob.NewFiles(t.TempDir())
	b.ok(err)
	config := servicetest.Config{
		DB: database, Outbox: outbox.New(inserter, nil), Ring: ring, Blobs: b.blobs, BaseURL: "https://candor.example",
		Policy: webhook.Policy{Development: true}, Logger: logger,
		Clock:        func() time.Time { return start.Add(time.Duration(b.offset.Load())) },
		PasswordCost: passwords.Cost{Time: 1, Memory: 8}, // in no time
	}
	for _, f := range change {
		f(&config)
	}
	b.Services = servicetest.New(config)
	b.account, err = b.Accounts.Create(b.ctx, accounts.Params{Name: "Lender", Email: "owner@lender.example", Plan: "starter"}, someone)
	b.ok(err)
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// code reports an error that isn't an *domain.Error of the code.
func (b *bench) code(what string, err error, code domain.Code) {
	b.Helper()
	if !errors.Is(err, &domain.Error{Code: code}) {
		b.Errorf("%s: %v, want %s", what, err, code)
	}
}

// pass moves the clock on.
func (b *bench) pass(d time.Duration) { b.offset.Add(int64(d)) }

func (b *bench) test() domain.Scope { return domain.Scope{AccountID: b.account.AccountID} }
func (b *bench) live() domain.Scope {
	return domain.Scope{AccountID: b.account.AccountID, Livemode: true}
}

func (b *bench) create(scope domain.Scope, change ...func(*domain.NewSession)) (*domain.Session, error) {
	params := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example"}
	for _, f := range change {
		f(&params)
	}
	return b.Sessions.Create(b.ctx, scope, nil, params)
}

func (b *bench) session(change ...func(*domain.NewSession)) *domain.Session {
	b.Helper()
	session, err := b.create(b.test(), change...)
	b.ok(err)
	return session
}

// opened is a session that its customer has opened.
func (b *bench) opened() *domain.Session {
	b.Helper()
	session := b.session()
	b.open(session.ID)
	return session
}

func (b *bench) open(id domain.SessionID) *forms.State {
	b.Helper()
	state, err := b.Forms.Get(b.ctx, id)
	b.ok(err)
	b.ok(b.Forms.Open(b.ctx, state, domain.Visitor{UserAgent: "Test/1", IPAddress: "192.0.2.7"}))
	return state
}

// fill completes a section with the full example's answers.
func (b *bench) fill(id domain.SessionID, name string) error {
	if name == statement.DocumentsSection {
		return b.Forms.CompleteDocuments(b.ctx, id)
	}
	return b.Forms.SaveSection(b.ctx, id, statementtest.Full().Section(name, b.Clock.Now()))
}

// filled is an opened session with all sections but the declaration.
func (b *bench) filled() *domain.Session {
	b.Helper()
	session := b.opened()
	for _, name := range statement.SectionNames[:6] {
		b.ok(b.fill(session.ID, name))
	}
	return session
}

func (b *bench) submit(id domain.SessionID) error {
	return b.Forms.Submit(b.ctx, id, statement.Declaration{Accepted: true, FullName: "Jo Customer"}, "")
}

func (b *bench) submitted() *domain.Session {
	b.Helper()
	session := b.filled()
	b.ok(b.submit(session.ID))
	return session
}

// kinds are the types of the session's events, in order.
func (b *bench) kinds(id domain.SessionID) []domain.EventType {
	b.Helper()
	events, err := b.DB.Events(b.ctx, id)
	b.ok(err)
	var out []domain.EventType
	for _, event := range events {
		out = append(out, event.Type)
	}
	return out
}

func (b *bench) has(id domain.SessionID, kind domain.EventType) (n int) {
	b.Helper()
	for _, k := range b.kinds(id) {
		if k == kind {
			n++
		}
	}
	return n
}

// payload reads the data of the session's last event.
func payload[T any](b *bench, id domain.SessionID) T {
	b.Helper()
	events, err := b.DB.Events(b.ctx, id)
	b.ok(err)
	var envelope struct{ Data T }
	b.ok(json.Unmarshal(events[len(events)-1].Body, &envelope))
	return envelope.Data
}

func (b *bench) count(query string, args ...any) (n int) {
	b.Helper()
	b.ok(b.DB.Raw().GetContext(b.ctx, &n, query, args...))
	return n
}

// someone does what a test has done.
var someone = domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: "a test"}
