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

// step is a part of creating a session, in its transaction.
type step func(context.Context, *db.Tx, *domain.Session) error

// Create makes a session. With an idempotency key, a request that is sent again
// gets the first one's answer, as an *idempotency.Replay; nil is no key. A live
// session needs a subscription (D32) and counts as used in its billing period
// (D42). A session that a staff user creates is in the audit log; the session
// and the request log name an API key. A session that is its row alone shares a statement
// with others (ADR 38); shares is called before that.
func (s *Service) Create(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.Session], params domain.NewSession,
	shares func()) (*domain.Session, error) {
	steps := s.steps(scope, params)
	if params.By.Kind == domain.ActorStaff {
		steps = append(steps, func(ctx context.Context, tx *db.Tx, session *domain.Session) error {
			entry := entryOf(domain.AuditSessionCreated, session)
			if session.PreviousSessionID != nil {
				entry.After = map[string]string{"prefill_from": session.PreviousSessionID.String()}
			}
			return s.Audit.Record(ctx, tx, scope.AccountID, params.By, entry)
		})
	}
	if key == nil && len(steps) == 1 {
		session, err := s.build(ctx, &s.DB.Queries, scope, params)
		if err != nil {
			return nil, err
		}
		shares()
		return session, s.DB.InsertSession(ctx, session)
	}
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.Session, error) {
		return s.insert(ctx, tx, scope, params, steps)
	})
}

// Insert is Create in the caller's transaction, without a key and without an
// audit entry.
func (s *Service) Insert(ctx context.Context, tx *db.Tx, scope domain.Scope, params domain.NewSession) (*domain.Session, error) {
	return s.insert(ctx, tx, scope, params, s.steps(scope, params))
}

// steps are what the session needs: its row, and what goes with that.
func (s *Service) steps(scope domain.Scope, params domain.NewSession) (steps []step) {
	if params.PrefillFrom != "" { // first, so that a wait for it holds nothing
		steps = append(steps, s.offerFormer)
	}
	if scope.Livemode {
		steps = append(steps, s.useSubscription)
	}
	steps = append(steps, func(ctx context.Context, tx *db.Tx, session *domain.Session) error {
		return tx.InsertSession(ctx, session)
	})
	if params.Prefill != nil || params.PrefillFrom != "" || params.Ask != nil {
		steps = append(steps, s.Vault.InsertGiven)
	}
	if params.Deliver != nil {
		steps = append(steps, s.deliver)
	}
	return steps
}

func (s *Service) insert(ctx context.Context, tx *db.Tx, scope domain.Scope, params domain.NewSession,
	steps []step) (*domain.Session, error) {
	session, err := s.build(ctx, &tx.Queries, scope, params)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(ctx, tx, session); err != nil {
			return nil, err
		}
	}
	return session, nil
}

// build returns the session that the params describe.
func (s *Service) build(ctx context.Context, q *db.Queries, scope domain.Scope, params domain.NewSession) (*domain.Session,
	error) {
	var offered []domain.Language
	if params.Language != "" { // creating sessions is the hottest write: most need no account
		account, err := q.Account(ctx, scope.AccountID)
		if err != nil {
			return nil, err
		}
		offered = account.Languages()
	}
	return params.Session(scope, s.Clock.Now(), s.Policy.CheckURL, offered)
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
		return domain.Errorf(domain.CodeForbidden,
			"This account is not approved for live mode yet, so it can’t create live sessions. Use test mode until then. The owners get an email when live mode opens.")
	}
	if !held || !subscription.Admits() {
		return domain.Errorf(domain.CodeForbidden,
			"This account has no active subscription, so it can’t create live sessions. Choose a plan in the dashboard, or use a test key.")
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
