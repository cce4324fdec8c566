// Package servicetest has the use cases on a database of the test.
package servicetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/service"
	"candor/internal/service/accounts"
	"candor/internal/service/forms"
	"candor/internal/service/staff/passwords"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/s3test"
	"candor/internal/vault"
	"candor/internal/webhook"
	"candor/jobs"
)

// Start is the time at which the tests' clocks begin.
var Start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A Fixture is the use cases on a database of the test, with an account and a
// clock that stands still.
type Fixture struct {
	testing.TB
	*Services
	Ctx     context.Context
	DSN     string
	Files   blob.Place
	Offset  atomic.Int64 // of the clock, from Start
	Account *accounts.Created
}

// QuickPasswords are hashed in no time: under the race detector a real hash
// takes longer than all else that a test does.
var QuickPasswords = passwords.Cost{Time: 1, Memory: 8}

// NewFixture returns a Fixture; change adapts its configuration.
func NewFixture(t testing.TB, change ...func(*Config)) *Fixture {
	t.Helper()
	dsn, database := dbtest.Lend(t)
	f := &Fixture{TB: t, Ctx: context.Background(), DSN: dsn}
	logger := slog.New(slog.DiscardHandler)
	inserter, err := jobs.NewInserter(database, logger)
	f.OK(err)
	ring, err := keyring.Parse(keyring.Generate("test"))
	f.OK(err)
	f.Files = s3test.Place(t)
	config := Config{
		DB: database, Outbox: outbox.New(inserter, nil), Ring: ring, Blobs: f.Files, BaseURL: "https://candor.example",
		Policy: webhook.Policy{Development: true}, Logger: logger,
		Clock:        func() time.Time { return Start.Add(time.Duration(f.Offset.Load())) },
		PasswordCost: QuickPasswords,
	}
	for _, set := range change {
		set(&config)
	}
	f.Services = New(config)
	f.Account, err = f.Accounts.Create(f.Ctx, accounts.Params{Name: "Lender", Email: "owner@lender.example", Plan: "starter"},
		Someone)
	f.OK(err)
	return f
}

// OK ends the test on an error.
func (f *Fixture) OK(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// Code reports an error that isn't an *domain.Error of the code.
func (f *Fixture) Code(what string, err error, code domain.Code) {
	f.Helper()
	if !errors.Is(err, &domain.Error{Code: code}) {
		f.Errorf("%s: %v, want %s", what, err, code)
	}
}

// Pass moves the clock on.
func (f *Fixture) Pass(d time.Duration) { f.Offset.Add(int64(d)) }

// Test is the account in test mode.
func (f *Fixture) Test() domain.Scope { return domain.Scope{AccountID: f.Account.AccountID} }

// Live is the account in live mode.
func (f *Fixture) Live() domain.Scope {
	return domain.Scope{AccountID: f.Account.AccountID, Livemode: true}
}

// Create makes a session in the scope.
func (f *Fixture) Create(scope domain.Scope, change ...func(*domain.NewSession)) (*domain.Session, error) {
	params := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example"}
	for _, set := range change {
		set(&params)
	}
	return f.Sessions.Create(f.Ctx, scope, nil, params, func() {})
}

// Session is a new session in test mode.
func (f *Fixture) Session(change ...func(*domain.NewSession)) *domain.Session {
	f.Helper()
	session, err := f.Create(f.Test(), change...)
	f.OK(err)
	return session
}

// Opened is a session that its customer has opened.
func (f *Fixture) Opened() *domain.Session {
	f.Helper()
	session := f.Session()
	f.Open(session.ID)
	return session
}

// Open opens a session's form as its customer.
func (f *Fixture) Open(id domain.SessionID) *forms.State {
	f.Helper()
	state, err := f.Forms.Get(f.Ctx, id)
	f.OK(err)
	f.OK(f.Forms.Open(f.Ctx, state, domain.Visitor{UserAgent: "Test/1", IPAddress: "192.0.2.7"}))
	return state
}

// Fill completes a section with the full example's answers.
func (f *Fixture) Fill(id domain.SessionID, name string) error {
	return Fill(f.Ctx, f.Forms, id, name)
}

// Fill completes a section with the full example's answers, or returns why they are refused.
func Fill(ctx context.Context, service *forms.Service, id domain.SessionID, name string) error {
	state := &forms.State{Session: &domain.Session{ID: id}}
	if name == statement.DocumentsSection {
		return service.CompleteDocuments(ctx, state.Session)
	}
	done, err := service.Edit(ctx, state, name, forms.Change{Edit: form.Edit{Ours: statementtest.Values(name)},
		Action: forms.Complete})
	if err == nil && len(done.Refused) > 0 {
		return done.Refused
	}
	return err
}

// Filled is an opened session with all sections but the declaration.
func (f *Fixture) Filled() *domain.Session {
	f.Helper()
	session := f.Opened()
	for _, name := range statement.SectionNames[:6] {
		f.OK(f.Fill(session.ID, name))
	}
	return session
}

// Submit signs and submits a session's form.
func (f *Fixture) Submit(id domain.SessionID) error {
	return f.Forms.Submit(f.Ctx, &domain.Session{ID: id}, forms.Signature{Declaration: statement.Declaration{Accepted: true,
		FullName: "Jo Customer"}})
}

// Submitted is a session whose form is submitted.
func (f *Fixture) Submitted() *domain.Session {
	f.Helper()
	session := f.Filled()
	f.OK(f.Submit(session.ID))
	return session
}

// Kinds are the types of the session's events, in order.
func (f *Fixture) Kinds(id domain.SessionID) []domain.EventType {
	f.Helper()
	events, err := f.DB.Events(f.Ctx, id)
	f.OK(err)
	var out []domain.EventType
	for _, event := range events {
		out = append(out, event.Type)
	}
	return out
}

// Has counts a session's events of a type.
func (f *Fixture) Has(id domain.SessionID, kind domain.EventType) (n int) {
	f.Helper()
	for _, k := range f.Kinds(id) {
		if k == kind {
			n++
		}
	}
	return n
}

// Payload reads the data of the session's last event.
func Payload[T any](f *Fixture, id domain.SessionID) T {
	f.Helper()
	events, err := f.DB.Events(f.Ctx, id)
	f.OK(err)
	var envelope struct{ Data T }
	f.OK(json.Unmarshal(events[len(events)-1].Body, &envelope))
	return envelope.Data
}

// Count returns the number that a query selects.
func (f *Fixture) Count(query string, args ...any) (n int) {
	f.Helper()
	f.OK(f.DB.Raw().GetContext(f.Ctx, &n, query, args...))
	return n
}

// Someone does what a test has done.
var Someone = domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: "a test"}

// Using is the fixture with other use cases.
func (f *Fixture) Using(s *Services) *Fixture {
	return &Fixture{TB: f.TB, Services: s, Ctx: f.Ctx, DSN: f.DSN, Files: f.Files, Account: f.Account}
}

// Race runs the functions at once and returns what each came to.
func Race(work ...func() error) []error {
	out := make([]error, len(work))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, f := range work {
		wg.Go(func() {
			<-begin
			out[i] = f()
		})
	}
	close(begin)
	wg.Wait()
	return out
}

// Bomb is a PNG of a few bytes that claims to be 60,000 pixels square.
func Bomb(t testing.TB) string {
	t.Helper()
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	raw := small.Bytes()
	binary.BigEndian.PutUint32(raw[16:], 60_000)
	binary.BigEndian.PutUint32(raw[20:], 60_000)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	return string(raw)
}

// Config is what the use cases need.
type Config = service.Config

// Services are the use cases, with what they were made of.
type Services struct {
	service.Services
	Config
	Vault *vault.Vault
}

// New wires the use cases.
func New(c Config) *Services {
	return &Services{Services: service.New(c), Config: c, Vault: vault.New(c.Ring, c.Blobs)}
}
