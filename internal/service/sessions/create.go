package sessions

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/service/idempotency"
)

var errNotApproved = domain.Errorf(domain.CodeForbidden, "This account is not approved for live mode yet, so it can’t create live sessions. Use test mode until then. The owners get an email when live mode opens.")

// Create makes a session. With an idempotency key, a request that is sent again
// gets the first one's answer, as an *idempotency.Replay; nil is no key. A live
// session needs a subscription (D32) and counts as used in its billing period
// (D42). A session that a staff user creates is in the audit log; the session
// and the request log name an API key.
func (s *Service) Create(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.Session], params domain.NewSession) (*domain.Session, error) {
	if key == nil && IsOneRow(scope, params) {
		session, err := params.Session(scope, s.Clock.Now(), s.Policy.CheckURL, nil)
		if err != nil {
			return nil, err
		}
		return session, s.DB.InsertSession(ctx, session)
	}
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.Session, error) {
		created, err := s.Insert(ctx, tx, scope, params)
		if err != nil || params.By.Kind != domain.ActorStaff {
			return created, err
		}
		return created, s.Audit.Record(ctx, tx, scope.AccountID, params.By, entryOf(domain.AuditSessionCreated, created))
	})
}

// IsOneRow reports whether creating the session reads and writes nothing but its row:
// without a key, it shares a statement with all that come at the same time.
func IsOneRow(scope domain.Scope, params domain.NewSession) bool {
	return !scope.Livemode && params.By.Kind != domain.ActorStaff && params.Language == "" && params.Prefill == nil
}

// Insert is Create in the caller's transaction, without a key and without an
// audit entry.
func (s *Service) Insert(ctx context.Context, tx *db.Tx, scope domain.Scope, params domain.NewSession) (*domain.Session, error) {
	var offered []domain.Language
	if params.Language != "" { // creating sessions is the hottest write: most need no account
		account, err := tx.Account(ctx, scope.AccountID)
		if err != nil {
			return nil, err
		}
		offered = account.Languages()
	}
	session, err := params.Session(scope, s.Clock.Now(), s.Policy.CheckURL, offered)
	if err != nil {
		return nil, err
	}
	if scope.Livemode {
		if err := s.useSubscription(ctx, tx, session); err != nil {
			return nil, err
		}
	}
	if err := tx.InsertSession(ctx, session); err != nil || !session.Prefilled {
		return session, err
	}
	return session, s.Vault.InsertPrefill(ctx, tx, session)
}

// useSubscription counts a live session in its billing period. If a process with a
// faster clock has just closed that period, the session moves to the start of the
// next one.
func (s *Service) useSubscription(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	subscription, err := tx.HoldSubscription(ctx, session.AccountID, session.CreatedAt)
	held := err == nil
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	// Read after the hold: setting a cap waits for sessions that hold the
	// subscription, so each of the others sees the cap.
	approved, capped, err := tx.LiveAccess(ctx, session.AccountID)
	if err != nil {
		return err
	}
	if !approved {
		return errNotApproved
	}
	if !held || !subscription.Admits() {
		return domain.Errorf(domain.CodeForbidden, "This account has no active subscription, so it can’t create live sessions. Choose a plan in the dashboard, or use a test key.")
	}
	session.MoveTo(subscription.CountedAt(session.CreatedAt))
	if capped {
		if err := withinSpendCap(ctx, tx, subscription, session.CreatedAt); err != nil {
			return err
		}
	}
	return tx.CountLiveSession(ctx, session.AccountID, subscription.PeriodAt(session.CreatedAt).Start)
}

// withinSpendCap refuses a session that costs something and would take the
// period beyond the account's spend cap (D68). Sessions of an account with a cap
// are created one after the other, so that no two of them take the last place.
func withinSpendCap(ctx context.Context, tx *db.Tx, s *domain.Subscription, at time.Time) error {
	limit, err := tx.LockSpendCap(ctx, s.AccountID)
	if err != nil || limit == nil {
		return err
	}
	running, err := billing.RunningOf(ctx, &tx.Queries, s, at)
	if err != nil || running.Admits(*limit) {
		return err
	}
	return domain.Errorf(domain.CodeSpendCapReached,
		"This account’s spend cap of %s for the billing period that ends on %s is reached, so it can’t create live sessions. Raise or remove the cap in the dashboard, under Billing, or use a test key.",
		limit.String(), running.Period.End.UTC().Format("2 January 2006, 15:04 UTC"))
}
