// Package hooktest has what tests of events and webhooks share: a database with
// an account, its sessions and their events, and a receiver. It knows neither
// River nor the dispatcher.
package hooktest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/keyring"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/webhook"
)

// Secret is the account's current webhook secret.
var Secret = webhook.NewSecret()

// A Harness is a test's own database with one account. The caller sets Outbox.
type Harness struct {
	testing.TB
	Ctx    context.Context
	DSN    string
	DB     *db.DB
	Ring   *keyring.Keyring
	Scope  domain.Scope // the account's live mode
	Outbox *outbox.Outbox
}

// New makes a Harness.
func New(t testing.TB) *Harness {
	t.Helper()
	dsn, pool := dbtest.Lend(t)
	h := &Harness{TB: t, Ctx: context.Background(), DSN: dsn, DB: pool}
	var err error
	h.Ring, err = keyring.Parse(keyring.Generate("test"))
	h.OK(err)
	h.NewAccount()
	return h
}

// NewAccount makes another account, which Scope is about from now on.
func (h *Harness) NewAccount() {
	h.Helper()
	account := &domain.Account{ID: domain.NewAccountID(), Name: "Lender", BillingEmail: "bills@lender.example", CreatedAt: Now()}
	h.Scope = domain.Scope{AccountID: account.ID, Livemode: true}
	h.Tx(func(tx *db.Tx) error {
		if err := tx.InsertAccount(h.Ctx, account); err != nil {
			return err
		}
		return tx.InsertDefaultEndpoint(h.Ctx, h.Scope, h.Ring.Seal(h.Scope.SecretOwner(), []byte(Secret)), Now())
	})
}

// Now is the time, as the service's clock has it.
func Now() time.Time { return domain.SystemClock.Now() }

// OK ends the test on an error.
func (h *Harness) OK(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// SetDefaultURL sets the account's default URL; "" removes it.
func (h *Harness) SetDefaultURL(url string) {
	h.Helper()
	h.Tx(func(tx *db.Tx) error {
		e, _, err := tx.LockEndpoints(h.Ctx, h.Scope)
		switch {
		case err != nil:
			return err
		case url == "":
			return tx.DeleteEndpoint(h.Ctx, e.ID, Now())
		}
		e.SetURL(url)
		return tx.UpdateEndpoint(h.Ctx, e)
	})
}

// AddEndpoint sets up another endpoint of the account, for events of the types or for
// all, with a secret of its own.
func (h *Harness) AddEndpoint(url string, types ...domain.EventType) (e *domain.Endpoint, secret string) {
	h.Helper()
	e = &domain.Endpoint{ID: domain.NewEndpointID(), AccountID: h.Scope.AccountID, Livemode: h.Scope.Livemode, EventTypes: types,
		CreatedAt: Now()}
	e.SetURL(url)
	secret = webhook.NewSecret()
	h.Tx(func(tx *db.Tx) error {
		return tx.InsertEndpoint(h.Ctx, e, h.Ring.Seal(h.Scope.SecretOwner(), []byte(secret)))
	})
	return e, secret
}

// Tx runs work in a transaction.
func (h *Harness) Tx(work func(tx *db.Tx) error) {
	h.Helper()
	h.OK(h.DB.InTx(h.Ctx, work))
}

// Count returns the number that the query selects.
func (h *Harness) Count(query string, args ...any) (n int) {
	h.Helper()
	h.OK(h.DB.Raw().GetContext(h.Ctx, &n, query, args...))
	return n
}

// Session makes a session that sends its events to url, or to the account's
// default URL if url is "".
func (h *Harness) Session(url string, created time.Time) *domain.Session {
	h.Helper()
	s, err := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example", WebhookURL: url}.
		Session(h.Scope, created, func(string) error { return nil }, nil)
	h.OK(err)
	h.Tx(func(tx *db.Tx) error { return tx.InsertSession(h.Ctx, s) })
	return s
}

// Emit records an event of the session.
func (h *Harness) Emit(s *domain.Session, number int) {
	h.Helper()
	h.Tx(func(tx *db.Tx) error { return h.Outbox.SessionEvent(h.Ctx, tx, s, SectionCompleted(s, number), Now()) })
}

// SectionCompleted is the payload of an event whose section has that number.
func SectionCompleted(s *domain.Session, number int) domain.Payload {
	return domain.SectionCompletedPayload{SessionID: s.ID, Section: "income", SectionNumber: number, SectionsTotal: 7}
}

// Events returns the session's events of a type.
func (h *Harness) Events(s *domain.Session, kind domain.EventType) []domain.Event {
	h.Helper()
	all, err := h.DB.Events(h.Ctx, s.ID)
	h.OK(err)
	var out []domain.Event
	for _, event := range all {
		if event.Type == kind {
			out = append(out, event)
		}
	}
	return out
}

// Delivery waits until the session's only delivery is in the state.
func (h *Harness) Delivery(s *domain.Session, state domain.DeliveryState) domain.Delivery {
	h.Helper()
	var all []domain.Delivery
	testkit.Await(h, "a delivery that is "+string(state), func() (done bool) {
		var err error
		all, err = h.DB.Deliveries(h.Ctx, s.ID)
		h.OK(err)
		return len(all) == 1 && all[0].State == state
	})
	return all[0]
}

// Endpoint is the account's endpoint of a URL.
func (h *Harness) Endpoint(url string) (id domain.EndpointID) {
	h.Helper()
	h.OK(h.DB.Raw().GetContext(h.Ctx, &id, "SELECT id FROM webhook_endpoint WHERE origin = $1", domain.Origin(url)))
	return id
}

// SwitchSecret makes fresh the account's current secret.
func (h *Harness) SwitchSecret(fresh string) {
	h.Helper()
	h.OK(h.DB.InTx(h.Ctx, func(tx *db.Tx) error {
		return errors.Join(tx.SetNextSecret(h.Ctx, h.Scope, nil, h.Ring.Seal(h.Scope.SecretOwner(), []byte(fresh)), Now()),
			tx.SwitchSecret(h.Ctx, h.Scope, nil, Now().Add(24*time.Hour)))
	}))
}

// Data reads the data of a webhook's body.
func Data[T any](t testing.TB, body []byte) T {
	t.Helper()
	var envelope struct{ Data T }
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatal(err)
	}
	return envelope.Data
}
