package service

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

var (
	errWrongPassword = domain.Errorf(domain.CodeUnauthorized, "The e-mail address or the password is wrong.")
	errNotConfirmed  = domain.FieldError(domain.CodeUnauthorized, "password", "That isn’t your password. Try again.")
	errSignedOut     = domain.Errorf(domain.CodeUnauthorized, "You are signed out.")
)

// staffSeenPrecision is how precisely it is known when a session was used last.
const staffSeenPrecision = time.Minute

// SignIn starts a session for the staff user of that address and password and
// returns its token, for the cookie. If the user has a second factor the
// session is half open: SecondFactor completes it. An address that no one has
// and a wrong password get the same unauthorized in the same time. Errors:
// rate_limit_exceeded for too many attempts, service_unavailable if too many
// passwords wait to be hashed.
func (s *Service) SignIn(ctx context.Context, email, password string, from Visitor) (token string, _ *domain.StaffSession, err error) {
	t := trial{outcome: domain.AttemptWrongPassword, email: email, from: from}
	hashing, err := s.queue(from)
	if err != nil {
		return "", nil, s.failed(ctx, t, err)
	}
	defer hashing.leave()
	staff, err := s.DB.StaffByEmail(ctx, email)
	var known *device
	switch {
	case err == nil:
		known = s.deviceOf(staff, from)
		t.email, t.staff = staff.Email, staff.Staff
	case errors.Is(err, db.ErrNotFound):
		staff = &db.StaffPassword{}
	default:
		return "", nil, err
	}
	counters := passwordCounters(t.email, known, from)
	if err := s.countAttempt(ctx, counters...); err != nil {
		return "", nil, s.failed(ctx, t, err)
	}
	hash := staff.Hash
	right, err := hashing.verify(ctx, hash, password)
	switch {
	case err != nil:
		return "", nil, err
	case !right:
		return "", nil, s.failed(ctx, t, errWrongPassword)
	}
	session := s.newStaffSession(staff.Staff, from)
	token, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		// Hashing took a while: what was proven must hold still. Whoever changes
		// it ends all sessions that there are by then.
		now, err := tx.HoldStaffPassword(ctx, staff.ID)
		if err != nil {
			return orCode(err, errWrongPassword)
		}
		if now.Hash != hash {
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
	if err != nil {
		return "", nil, s.failed(ctx, t, err)
	}
	return token, session, nil
}

// signedIn notes a complete sign-in in the audit log, and tells the user by
// email if it came from a browser that isn't known. The first one that a user
// signs in with is none of these.
func (s *Service) signedIn(ctx context.Context, tx *db.Tx, session *domain.StaffSession, from Visitor) error {
	tx.AfterCommit(func() { s.Observer.SignInAttempted(domain.AttemptSucceeded) })
	staff, err := tx.HoldStaffPassword(ctx, session.ID)
	if err != nil {
		return orCode(err, errWrongPassword)
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
	return s.audit(ctx, tx, session.AccountID, actorAt(session, from),
		deed{Action: domain.AuditSignedIn, TargetID: session.ID.String(), TargetName: session.Email})
}

// queue takes a place among those who wait for a password to be hashed. A
// browser that is known waits with the people who are signed in.
func (s *Service) queue(from Visitor) (*hashing, error) {
	if s.KnownDevice(from.Device) != "" {
		return s.passwords.queue(s.passwords.known)
	}
	return s.passwords.queue(s.passwords.strangers)
}

func (s *Service) newStaffSession(staff domain.Staff, from Visitor) *domain.StaffSession {
	now := s.Clock.Now()
	return &domain.StaffSession{
		Staff: staff, SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: from.IPAddress, UserAgent: from.UserAgent,
	}
}

// startStaffSession stores a new session and ends the browser's former one, so
// that no session lives on without a cookie that could sign it out.
func (s *Service) startStaffSession(ctx context.Context, tx *db.Tx, session *domain.StaffSession, tokenHash []byte, from Visitor) error {
	if from.StaffToken != "" {
		if err := tx.ReplaceStaffSession(ctx, domain.HashToken(from.StaffToken)); err != nil {
			return err
		}
	}
	return tx.InsertStaffSession(ctx, session, tokenHash)
}

// StaffSession returns the live session of a token, or unauthorized. What it
// says of the user and of what the user may do is as it is now.
func (s *Service) StaffSession(ctx context.Context, token string) (*domain.StaffSession, error) {
	now := s.Clock.Now()
	session, err := s.DB.StaffSession(ctx, domain.HashToken(token), now)
	if err != nil {
		return nil, orCode(err, errSignedOut)
	}
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
func (s *Service) Confirm(ctx context.Context, session *domain.StaffSession, password string, from Visitor) (token string, err error) {
	hashing, err := s.passwords.queue(s.passwords.known)
	if err != nil {
		return "", s.failed(ctx, confirming(session, from), err)
	}
	defer hashing.leave()
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
	return token, orCode(err, errSignedOut)
}

// SignOut ends a session at once, in every process.
func (s *Service) SignOut(ctx context.Context, session *domain.StaffSession, from Visitor) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DeleteStaffSession(ctx, session.ID, session.SessionID); err != nil {
			return err
		}
		return s.audit(ctx, tx, session.AccountID, actorAt(session, from),
			deed{Action: domain.AuditSignedOut, TargetID: session.ID.String(), TargetName: session.Email})
	})
	return orCode(err, errSignedOut)
}
