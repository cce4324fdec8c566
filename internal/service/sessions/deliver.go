package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// deliver has the link of a new session emailed, in its transaction (D103).
func (s *Service) deliver(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	account, err := tx.Account(ctx, session.AccountID)
	if err != nil {
		return err
	}
	if err := tx.InsertLinkDelivery(ctx, session.Delivery, session.CreatedAt.Add(domain.LinkEmailLease)); err != nil {
		return err
	}
	if err := s.Outbox.LinkEmail(ctx, tx, session.ID); err != nil {
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
	if errors.Is(err, db.ErrNotFound) { // erased
		return nil, nil
	}
	return delivery, err
}
