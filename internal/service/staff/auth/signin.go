package auth

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// staffSeenPrecision is how precisely it is known when a session was used last.
const staffSeenPrecision = time.Minute

// SignIn starts a session for the staff user of that address and password and
// returns its token, for the cookie. If the user has a second factor the
// session is half open: SecondFactor completes it. An address that no one has
// and a wrong password get the same unauthorized in the same time. Errors:
// rate_limit_exceeded for too many attempts, service_unavailable if too many
// passwords wait to be hashed.
func (s *Service) SignIn(ctx context.Context, email, password string, from domain.Visitor) (token string, _ *domain.StaffSession,
	err error) {
	t := attempts.Trial{Outcome: domain.AttemptWrongPassword, Email: email, From: from}
	hashing, err := s.queue(email, from)
	if err != nil {
		return "", nil, s.Attempts.Fail(ctx, t, err)
	}
	defer hashing.Leave()
	staff, err := s.DB.StaffByEmail(ctx, email)
	var known *device
	switch {
	case err == nil:
		known = s.deviceOf(staff, from)
		t.Email, t.Staff = staff.Email, staff.Staff
	case errors.Is(err, db.ErrNotFound):
		staff = &db.StaffPassword{}
	default:
		return "", nil, err
	}
	counters := passwordCounters(t.Email, known, from)
	if err := s.Attempts.Count(ctx, counters...); err != nil {
		return "", nil, s.Attempts.Fail(ctx, t, err)
	}
	hash := staff.Hash
	right, err := hashing.Verify(ctx, hash, password)
	switch {
	case err != nil:
		return "", nil, err
	case !right:
		return "", nil, s.Attempts.Fail(ctx, t, s.wrongPassword(ctx, email))
	}
	session := s.newStaffSession(staff.Staff, from)
	token, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		// The password may have changed while it was hashed. A change ends all
		// sessions that exist by then, so the lock must come first.
		now, err := tx.HoldStaffPassword(ctx, staff.ID)
		if err != nil {
			return db.MissingAs(err, errWrongPassword)
		}
		if now.Hash != hash || now.NoPassword {
			return errWrongPassword
		}
		if now.TwoStep {
			session.Stage, session.ExpiresAt = domain.SignInPassword, session.StartedAt.Add(domain.StaffHalfOpen)
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if err := tx.ForgetAttempts(ctx, counters...); err != nil {
			return err
		}
		if now.TwoStep {
			return nil
		}
		return s.signedIn(ctx, tx, session, from)
	})
	if errors.Is(err, errWrongPassword) {
		err = s.wrongPassword(ctx, email)
	}
	if err != nil {
		return "", nil, s.Attempts.Fail(ctx, t, err)
	}
	return token, session, nil
}

// wrongPassword is the error of a sign-in with that address. It is the same for every
// address of a domain.
func (s *Service) wrongPassword(ctx context.Context, email string) error {
	c, err := s.DB.SSOConnectionOf(ctx, domain.EmailDomain(email))
	switch {
	case errors.Is(err, db.ErrNotFound), err == nil && !c.OnlySSO:
		return errWrongPassword
	case err != nil:
		return err
	}
	return errUseCompany
}

// signedIn writes a complete sign-in into the audit log, and sends the user an
// email if it came from an unknown browser. A user's first browser sends no email.
func (s *Service) signedIn(ctx context.Context, tx *db.Tx, session *domain.StaffSession, from domain.Visitor) error {
	tx.AfterCommit(func() { s.Attempts.Observer.SignInAttempted(domain.AttemptSucceeded) })
	if _, err := tx.HoldStaffPassword(ctx, session.ID); err != nil {
		return db.MissingAs(err, errWrongPassword)
	}
	// A statement of its own, to see what changed while the lock was waited for.
	staff, err := tx.StaffPassword(ctx, session.ID)
	if err != nil {
		return err
	}
	if staff.OnlyByCompany() && !session.BySSO() {
		return errUseCompany
	}
	first, err := tx.NoteKnownBrowser(ctx, session.ID, s.Clock.Now())
	if err != nil {
		return err
	}
	if !first && s.deviceOf(staff, from) == nil {
		if err := s.Outbox.NoticeEmail(ctx, tx, session.ID, domain.NoticeNewBrowser); err != nil {
			return err
		}
	}
	return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
		audit.Entry{Action: domain.AuditSignedIn, TargetID: session.ID.String(), TargetName: session.Email})
}

func (s *Service) newStaffSession(staff domain.Staff, from domain.Visitor) *domain.StaffSession {
	now := s.Clock.Now()
	return &domain.StaffSession{
		Staff: staff, SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: from.IPAddress, UserAgent: from.UserAgent,
	}
}

// startStaffSession stores a new session and ends the browser's former one, so
// that no session lives on without a cookie that could sign it out.
func (s *Service) startStaffSession(ctx context.Context, tx *db.Tx, session *domain.StaffSession, tokenHash []byte,
	from domain.Visitor) error {
	if from.StaffToken != "" {
		if err := tx.ReplaceStaffSession(ctx, domain.HashToken(from.StaffToken)); err != nil {
			return err
		}
	}
	return tx.InsertStaffSession(ctx, session, tokenHash)
}

// Look is Session for a request that a page makes by itself: it doesn't count as use,
// so that an open page keeps no one signed in.
func (s *Service) Look(ctx context.Context, token string) (*domain.StaffSession, error) {
	session, err := s.DB.StaffSession(ctx, domain.HashToken(token), s.Clock.Now())
	return session, db.MissingAs(err, domain.ErrSignedOut)
}

// Session returns the live session of a token with the user's current rights, or
// unauthorized.
func (s *Service) Session(ctx context.Context, token string) (*domain.StaffSession, error) {
	session, err := s.Look(ctx, token)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	if minute := now.Truncate(staffSeenPrecision); session.SeenAt.Before(minute) {
		if err := s.DB.TouchStaffSession(ctx, session.SessionID, minute); err != nil {
			return nil, err
		}
		session.SeenAt = minute
	}
	return session, nil
}

// Confirm proves by the password that the user of a session is there, and
// returns the session's new token. Error: unauthorized for a wrong password.
func (s *Service) Confirm(ctx context.Context, session *domain.StaffSession, password string, from domain.Visitor) (token string,
	err error) {
	hashing, err := s.Passwords.Known()
	if err != nil {
		return "", s.Attempts.Fail(ctx, attempts.Confirming(session, from), err)
	}
	defer hashing.Leave()
	if _, err := s.provePassword(ctx, hashing, session, password, from); err != nil {
		return "", err
	}
	token, hash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.ForgetAttempts(ctx, confirmCounter(session)); err != nil {
			return err
		}
		return tx.ConfirmStaffSession(ctx, session.SessionID, hash, s.Clock.Now())
	})
	return token, db.MissingAs(err, domain.ErrSignedOut)
}

// SignOut ends a session at once, in every process.
func (s *Service) SignOut(ctx context.Context, session *domain.StaffSession, from domain.Visitor) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DeleteStaffSession(ctx, session.ID, session.SessionID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
			audit.Entry{Action: domain.AuditSignedOut, TargetID: session.ID.String(), TargetName: session.Email})
	})
	return db.MissingAs(err, domain.ErrSignedOut)
}
