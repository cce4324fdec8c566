package db_test

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	second := s.newScope("Broker")
	all, err := s.Accounts(s.ctx)
	s.ok(err)
	if len(all) != 2 || all[0].ID != s.scope.AccountID || all[1].Name != "Broker" {
		t.Errorf("accounts %v", all)
	}
	one, err := s.Account(s.ctx, second.AccountID)
	if err != nil || !reflect.DeepEqual(*one, all[1]) {
		t.Errorf("Account = %v, %v", one, err)
	}
	one.FormLanguages = []domain.Language{domain.Vietnamese, domain.SimplifiedChinese}
	s.ok(s.InTx(s.ctx, func(tx *db.Tx) error { return tx.UpdateAccount(s.ctx, one) }))
	if stored, err := s.Account(s.ctx, one.ID); err != nil || !reflect.DeepEqual(stored, one) {
		t.Errorf("stored %+v, want %+v, %v", stored, one, err)
	}
	_, err = s.Account(s.ctx, domain.NewAccountID())
	s.missing("unknown account", err)
}

func TestStaffEmailIsTakenInAnyCase(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	insert := func(email string) error {
		return s.InTx(s.ctx, func(tx *db.Tx) error {
			return tx.InsertStaff(s.ctx, &domain.Staff{ID: domain.NewStaffID(), AccountID: s.scope.AccountID, Email: email,
				Role: domain.RoleOwner, CreatedAt: start}, "x")
		})
	}
	s.ok(insert("jo@lender.example"))
	if err := insert("JO@lender.example"); !errors.Is(err, db.ErrEmailTaken) {
		t.Errorf("the same address again: %v, want ErrEmailTaken", err)
	}
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	expires := start.Add(time.Hour)
	for _, permissions := range []domain.Permissions{nil, {}, {domain.SessionsRead, domain.BillingRead}} {
		key, text := domain.NewAPIKey(s.scope, "key", start)
		key.Permissions, key.ExpiresAt = permissions, &expires
		s.tx(func(tx *db.Tx) error { return tx.InsertAPIKey(s.ctx, &key) })
		hash := sha256.Sum256([]byte(text))
		got, err := s.Principal(s.ctx, hash[:], start)
		s.ok(err)
		if got.Ended || got.Scope != s.scope || got.KeyID != key.ID || (got.Permissions == nil) != (permissions == nil) ||
			len(got.Permissions) != len(permissions) {
			t.Errorf("key with %#v stands for %+v", permissions, got)
		}
		got, err = s.Principal(s.ctx, hash[:], expires)
		if s.ok(err); !got.Ended || got.KeyID != key.ID {
			t.Errorf("an expired key stands for %+v", got)
		}
		remove := func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.DeleteAPIKey(s.ctx, key.ID, start) })
		}
		s.ok(remove())
		got, err = s.Principal(s.ctx, hash[:], start)
		if s.ok(err); !got.Ended || got.KeyID != key.ID {
			t.Errorf("a deleted key stands for %+v", got)
		}
		s.missing("deleting again", remove())
	}
}

// subscribed is a new subscription of the store's account.
func (s *store) subscribed(plan string, at time.Time) *domain.Subscription {
	closes := at.AddDate(0, 1, 0)
	return &domain.Subscription{
		Plan: domain.Plan{ID: plan}, SubscriptionID: domain.NewSubscriptionID(), AccountID: s.scope.AccountID,
		Status: domain.SubscriptionActive, StartedAt: at, BilledTo: at, ClosesAt: &closes,
	}
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	account := s.scope.AccountID
	_, err := s.Subscription(s.ctx, account, start)
	s.missing("before there is one", err)
	s.tx(func(tx *db.Tx) error { return tx.InsertSubscription(s.ctx, s.subscribed("starter", start)) })
	got, err := s.Subscription(s.ctx, account, start)
	s.ok(err)
	if got.ID != "starter" || got.Name != "Starter" || *got.SessionsIncluded != 10 || *got.OverageCents != 1000 ||
		got.Status != domain.SubscriptionActive || !got.StartedAt.Equal(start) || got.EffectiveAt != nil {
		t.Errorf("subscription is %+v", got)
	}
	if err := s.InTx(s.ctx, func(tx *db.Tx) error {
		return tx.InsertSubscription(s.ctx, s.subscribed("enterprise", start))
	}); !db.ConstraintViolated(err, "subscription_current_key") {
		t.Errorf("a second current subscription: %v", err)
	}
	effective := start.Add(time.Hour)
	_, err = s.Raw().ExecContext(s.ctx, "UPDATE subscription SET status = 'cancelled', effective_at = $1", effective)
	s.ok(err)
	if got, err := s.Subscription(s.ctx, account, effective.Add(-1*time.Millisecond)); err != nil ||
		got.Status != domain.SubscriptionCancelled {
		t.Errorf("before the effective date: %v, %v", got, err)
	}
	_, err = s.Subscription(s.ctx, account, effective)
	s.missing("from the effective date on", err)
	s.tx(func(tx *db.Tx) error { return tx.InsertSubscription(s.ctx, s.subscribed("enterprise", effective)) })
	again, err := s.Subscription(s.ctx, account, effective)
	s.ok(err)
	if again.SessionsIncluded != nil || again.OverageCents != nil {
		t.Errorf("Enterprise has limits: %+v", again.Plan)
	}
}

// Creations side by side at the boundary of two billing periods are counted
// to the last one, each in its own period.
func TestLiveSessionsAreCountedExactly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	periods := []time.Time{start, start.AddDate(0, 1, 0)}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			err := s.InTx(s.ctx, func(tx *db.Tx) error {
				return tx.CountLiveSession(s.ctx, s.scope.AccountID, periods[i%10/7]) // 70 and 30
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, want := range []int{70, 30} {
		if got, err := s.UsedSessions(s.ctx, s.scope.AccountID, periods[i]); err != nil || got != want {
			t.Errorf("period %d: %d sessions, %v; want %d", i, got, err, want)
		}
	}
	if got, err := s.UsedSessions(s.ctx, s.scope.AccountID, start.AddDate(0, 2, 0)); err != nil || got != 0 {
		t.Errorf("unused period: %d, %v", got, err)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key := db.IdempotencyKey{Scope: s.scope, Path: "/v1/sessions", Key: "k"}
	others := []db.IdempotencyKey{
		{Scope: domain.Scope{AccountID: s.scope.AccountID, Livemode: true}, Path: key.Path, Key: "k"},
		{Scope: s.newScope("Other"), Path: key.Path, Key: "k"},
		{Scope: s.scope, Path: "/v1/other", Key: "k"},
		{Scope: s.scope, Path: key.Path, Key: "k2"},
		{Scope: s.scope, Path: "/v1/sessionsk", Key: ""},
	}
	s.tx(func(tx *db.Tx) error {
		if locked, err := tx.LockIdempotencyKey(s.ctx, key); err != nil || !locked {
			t.Errorf("first lock: %v, %v", locked, err)
		}
		s.tx(func(second *db.Tx) error {
			if locked, err := second.LockIdempotencyKey(s.ctx, key); err != nil || locked {
				t.Errorf("second lock of the same key: %v, %v", locked, err)
			}
			for _, other := range others {
				if locked, err := second.LockIdempotencyKey(s.ctx, other); err != nil || !locked {
					t.Errorf("lock of %+v: %v, %v", other, locked, err)
				}
			}
			return nil
		})
		_, err := tx.StoredResponse(s.ctx, key, start.Add(-24*time.Hour))
		s.missing("response before there is one", err)
		return tx.StoreResponse(s.ctx, key, &db.StoredResponse{Fingerprint: []byte("f"), Status: 201, Response: []byte{0, 1}}, start)
	})
	s.tx(func(tx *db.Tx) error {
		if locked, err := tx.LockIdempotencyKey(s.ctx, key); err != nil || !locked {
			t.Errorf("lock after the first transaction: %v, %v", locked, err)
		}
		got, err := tx.StoredResponse(s.ctx, key, start.Add(-time.Millisecond))
		if err != nil || got.Status != 201 || string(got.Fingerprint) != "f" || string(got.Response) != "\x00\x01" {
			t.Errorf("stored %+v, %v", got, err)
		}
		_, err = tx.StoredResponse(s.ctx, key, start)
		s.missing("response past its time", err)
		for _, other := range others {
			_, err := tx.StoredResponse(s.ctx, other, start.Add(-time.Millisecond))
			s.missing("another key", err)
		}
		return tx.StoreResponse(s.ctx, key, &db.StoredResponse{Fingerprint: []byte("g"), Status: 422, Response: []byte("r")},
			start.Add(time.Hour))
	})
	if n, err := s.DeleteStoredResponses(s.ctx, start.Add(time.Hour-1*time.Millisecond), 10); err != nil || n != 0 {
		t.Errorf("deleted %d, %v before its time", n, err)
	}
	if n, err := s.DeleteStoredResponses(s.ctx, start.Add(time.Hour), 10); err != nil || n != 1 {
		t.Errorf("deleted %d, %v; want 1", n, err)
	}
}

// TestTimeZonesAreKnownToPostgres: triggers convert times with the account's zone,
// so one that PostgreSQL doesn't know would fail new sessions.
func TestTimeZonesAreKnownToPostgres(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	account, err := s.Account(s.ctx, s.scope.AccountID)
	s.ok(err)
	if account.TimeZone != "Australia/Sydney" {
		t.Errorf("a new account's zone is %s", account.TimeZone)
	}
	store := func(zone string) error {
		account.TimeZone = zone
		return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.UpdateAccount(s.ctx, account) })
	}
	for _, zone := range domain.TimeZones {
		s.ok(store(zone))
	}
	if store("Australia/Nowhere") == nil {
		t.Error("a zone that PostgreSQL doesn't know was stored")
	}
}

// Keys and sessions that are asked for at the same time are found together, and no one
// gets another's: not a session of another account or mode, nor anything by an unknown key.
func TestPrincipalAndSessionAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	type caller struct {
		hash    [sha256.Size]byte
		key     domain.KeyID
		session domain.SessionID
	}
	var callers []caller
	for i := range 6 {
		scope := domain.Scope{AccountID: s.newScope("Lender").AccountID, Livemode: i%2 == 0}
		key, text := domain.NewAPIKey(scope, "key", start)
		s.tx(func(tx *db.Tx) error { return tx.InsertAPIKey(s.ctx, &key) })
		callers = append(callers, caller{sha256.Sum256([]byte(text)), key.ID, s.session(scope, start).ID})
	}
	var asking sync.WaitGroup
	for i := range 300 {
		asking.Go(func() {
			mine, other := callers[i%6], callers[(i+1+i%5)%6]
			got, session, err := s.PrincipalAndSession(s.ctx, mine.hash[:], start, mine.session)
			if err != nil || got.KeyID != mine.key || session.ID != mine.session || session.Scope() != got.Scope {
				t.Errorf("own session: %v, %v, %v", got, session, err)
			}
			if _, _, err := s.PrincipalAndSession(s.ctx, mine.hash[:], start, other.session); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("another account's session: %v", err)
			}
			if _, _, err := s.PrincipalAndSession(s.ctx, make([]byte, sha256.Size), start, mine.session); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("unknown key: %v", err)
			}
		})
	}
	asking.Wait()
	s.tx(func(tx *db.Tx) error { return tx.DeleteAPIKey(s.ctx, callers[0].key, start) })
	if got, _, err := s.PrincipalAndSession(s.ctx, callers[0].hash[:], start, callers[0].session); err != nil || !got.Ended {
		t.Errorf("deleted key: %v, %v", got, err)
	}
}
