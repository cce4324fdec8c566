package sessions

import (
	"context"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// deliver has the link of a new session emailed, in its transaction (D103).
func (s *Service) deliver(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	if err := tx.InsertLinkDelivery(ctx, session.Delivery, session.CreatedAt.Add(domain.LinkEmailLease)); err != nil {
		return err
	}
	return s.startLinkEmail(ctx, tx, session)
}

var (
	errLinkRenewed = domain.Errorf(domain.CodeForbidden,
		"This link was renewed, so Candor doesn’t email it. Copy it and send it to the customer.")
	errLinkConfidential = domain.Lacking(domain.DownloadData,
		"This link opens the customer’s answers, which your role can’t see. Ask an owner to email it.")
)

// EmailLink has an open session's link emailed, for the first time or again (D124). sends is
// LinkSends as the caller knows it: if the link was sent since, or is under way, nothing
// happens and queued is false. oneBrowser is of the first time only (D92). Errors: the conflict
// of a session that isn't open, session_not_found, forbidden for a link that was renewed or that
// those who may not read answers don't get (D51), rate_limit_exceeded (D106).
func (s *Service) EmailLink(ctx context.Context, scope domain.Scope, id domain.SessionID, sends int, oneBrowser bool,
	by domain.Actor) (queued bool, err error) {
	current := func(d *domain.LinkDelivery) bool { return d.LinkSends() == sends }
	return s.emailLink(ctx, scope, id, current, oneBrowser, by)
}

// EmailLinkSince is EmailLink for a caller who knows what was sent until shown (D133).
func (s *Service) EmailLinkSince(ctx context.Context, scope domain.Scope, id domain.SessionID, shown time.Time, oneBrowser bool,
	by domain.Actor) (queued bool, err error) {
	current := func(d *domain.LinkDelivery) bool { return !d.SentSince(shown) }
	return s.emailLink(ctx, scope, id, current, oneBrowser, by)
}

func (s *Service) emailLink(ctx context.Context, scope domain.Scope, id domain.SessionID, current func(*domain.LinkDelivery) bool,
	oneBrowser bool, by domain.Actor) (queued bool, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		session, err := tx.LockSession(ctx, scope, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrSessionNotFound)
		}
		now := s.Clock.Now()
		if conflict := session.Conflict(now); conflict != nil {
			return conflict
		}
		if session.LinkVersion > 0 {
			return errLinkRenewed
		}
		session.Delivery, err = tx.LinkDelivery(ctx, id)
		if err = db.MissingAs(err, nil); err != nil || !current(session.Delivery) || !session.Delivery.MaySendLink(session, now) {
			return err
		}
		if session.Delivery == nil {
			if oneBrowser && session.LinkIsConfidential() {
				return errLinkConfidential
			}
			session.Delivery = &domain.LinkDelivery{SessionID: id, OneBrowser: oneBrowser}
		}
		if err := tx.SendLink(ctx, session, now.Add(domain.LinkEmailLease)); err != nil {
			return err
		}
		if err := s.Audit.Record(ctx, tx, scope.AccountID, by, entryOf(domain.AuditLinkEmailed, session)); err != nil {
			return err
		}
		queued = true
		return s.startLinkEmail(ctx, tx, session)
	})
	return queued && err == nil, err
}

// startLinkEmail inserts the job of the link's email, if the account may have one more
// (D106).
func (s *Service) startLinkEmail(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	account, err := tx.Account(ctx, session.AccountID)
	if err != nil {
		return err
	}
	if err := s.Outbox.SendLink(ctx, tx, session); err != nil {
		return err
	}
	// Last, because the account's other sessions wait for the counter.
	now, most := s.Clock.Now(), account.LinksADay(session.Livemode)
	if counted, err := tx.CountEmailedLink(ctx, session.Scope(), now, most); err != nil || counted {
		return err
	}
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	message := fmt.Sprintf(
		"This account has had %d links emailed today, which is the most in a day (UTC). Create the session without deliver and pass on its link yourself, or create it after midnight UTC.", most)
	return &domain.Error{
		Code: domain.CodeRateLimitExceeded, Message: message, Fields: form.Errors{{Field: "deliver", Message: message}},
		RetryAfter: tomorrow.Sub(now).Truncate(time.Second) + time.Second,
	}
}

// Delivery returns how a session's link is emailed, nil if it isn't.
func (s *Service) Delivery(ctx context.Context, of *domain.Session) (*domain.LinkDelivery, error) {
	if of.Delivery != nil || !of.Emailed {
		return of.Delivery, nil
	}
	delivery, err := s.DB.LinkDelivery(ctx, of.ID)
	return delivery, db.MissingAs(err, nil) // erased
}
