package auth

import (
	"context"

	"candor/db"
	"candor/internal/domain"
)

// EnterBySSO starts a session for the staff user that member returns, whom the company's
// provider has named, and returns its token (D141). Refused, the person's other sessions of
// the provider end.
func (s *Service) EnterBySSO(ctx context.Context, c *domain.SSOConnection, who *domain.SSOIdentity, from domain.Visitor,
	member func(tx *db.Tx) (*domain.Staff, error)) (string, error) {
	cookie, tokenHash := domain.NewToken()
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		staff, err := member(tx)
		if err != nil {
			return err
		}
		session := s.newStaffSession(*staff, from)
		session.SSOAccountID, session.ExpiresAt = &c.AccountID, session.StartedAt.Add(domain.SSOLifetime)
		if who.SID != "" {
			session.SSOSID = &who.SID
		}
		// The provider may have asked long ago who is there.
		session.ConfirmedAt = session.StartedAt.Add(-domain.StaffConfirmed)
		if who.AuthTime.After(session.ConfirmedAt) && !who.AuthTime.After(session.StartedAt) {
			session.ConfirmedAt = who.AuthTime
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		return s.signedIn(ctx, tx, session, from)
	})
	if err != nil {
		return "", err
	}
	return cookie, nil
}

// ConfirmBySSO notes that the company's provider has just asked who is there, and returns the
// session's new token.
func (s *Service) ConfirmBySSO(ctx context.Context, session *domain.StaffSession) (string, error) {
	token, hash := domain.NewToken()
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		return tx.ConfirmStaffSession(ctx, session.SessionID, hash, s.Clock.Now())
	})
	return token, db.MissingAs(err, domain.ErrSignedOut)
}
