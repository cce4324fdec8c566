package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"candor/db"
	"candor/intake"
)

var (
	errWrongPassword = intake.Errorf(intake.CodeUnauthorized, "The e-mail address or the password is wrong.")
	errNotConfirmed  = intake.FieldError(intake.CodeUnauthorized, "password", "That isn’t your password. Try again.")
	errSignedOut     = intake.Errorf(intake.CodeUnauthorized, "You are signed out.")
)

// staffSeenPrecision is how precisely it is known when a session was used last.
const staffSeenPrecision = time.Minute

// SignIn starts a session for the staff user of that address and password and
// returns its token, for the cookie. Where the user has a second factor the
// session is half open: SecondFactor completes it. Whoever isn't known, and whose password is
// wrong, gets the same unauthorized in the same time. Too many tries, by
// address or network, get rate_limit_exceeded.
func (s *Service) SignIn(ctx context.Context, email, password string, from Visitor) (token string, _ *intake.StaffSession, err error) {
	subject := attemptSubject("staff", strings.ToLower(email))
	if err := s.countAttempt(ctx, subject, from); err != nil {
		return "", nil, err
	}
	staff, err := s.DB.StaffByEmail(ctx, email)
	known := err == nil
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", nil, err
	}
	hash := ""
	if known {
		hash = staff.Hash
	}
	right, err := s.passwords.verify(ctx, hash, password)
	switch {
	case err != nil:
		return "", nil, err
	case !right:
		return "", nil, errWrongPassword
	}
	session := s.newStaffSession(staff.Staff, from)
	token, tokenHash := intake.NewToken()
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
			session.Stage, session.ExpiresAt = intake.SignInPassword, session.StartedAt.Add(intake.StaffHalfOpen)
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if err := tx.ForgetSignInAttempts(ctx, subject); err != nil {
			return err
		}
		if now.TwoStep {
			return nil
		}
		return s.auditSignIn(ctx, tx, session, from)
	})
	if err != nil {
		return "", nil, err
	}
	return token, session, nil
}

func (s *Service) auditSignIn(ctx context.Context, tx *db.Tx, session *intake.StaffSession, from Visitor) error {
	return s.audit(ctx, tx, session.AccountID, actorAt(session, from),
		deed{Action: intake.AuditSignedIn, TargetID: session.ID.String(), TargetName: session.Email})
}

// How many tries there may be within attemptWindow before a pause: of one
// address, and from one network, which a whole office can share.
const (
	attemptWindow      = 15 * time.Minute
	attemptsForOne     = 10
	attemptsForCode    = 5 // six digits are few
	attemptsPerNetwork = 100
	lettersForOne      = 3  // to one address
	invitationsOfOne   = 50 // of one account
)

var errTooManyAttempts = intake.Errorf(intake.CodeRateLimitExceeded, "There were too many attempts. Wait 15 minutes and try again.")

// countAttempt counts a try before it is made, so that many at once don't slip
// through.
func (s *Service) countAttempt(ctx context.Context, subject []byte, from Visitor) error {
	return s.countTo(ctx, attemptsForOne, subject, from)
}

// countTo is countAttempt with another limit for the subject.
func (s *Service) countTo(ctx context.Context, limit int, subject []byte, from Visitor) error {
	now := s.Clock.Now()
	since := now.Add(-attemptWindow)
	n, err := s.DB.AttemptSignIn(ctx, attemptSubject("network", intake.Network(from.IPAddress)), now, since)
	if err == nil && n > attemptsPerNetwork {
		return errTooManyAttempts
	}
	if err != nil {
		return err
	}
	n, err = s.DB.AttemptSignIn(ctx, subject, now, since)
	if err == nil && n > limit {
		return errTooManyAttempts
	}
	return err
}

func attemptSubject(kind, name string) []byte {
	sum := sha256.Sum256([]byte(kind + " " + name))
	return sum[:]
}

func (s *Service) newStaffSession(staff intake.Staff, from Visitor) *intake.StaffSession {
	now := s.Clock.Now()
	return &intake.StaffSession{
		Staff: staff, SessionID: intake.NewStaffSessionID(), Stage: intake.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(intake.StaffLifetime), Address: from.IPAddress, UserAgent: from.UserAgent,
	}
}

// startStaffSession stores a new session and ends the browser's former one, so
// that no session lives on without a cookie that could sign it out.
func (s *Service) startStaffSession(ctx context.Context, tx *db.Tx, session *intake.StaffSession, tokenHash []byte, from Visitor) error {
	if from.StaffToken != "" {
		if err := tx.ReplaceStaffSession(ctx, intake.HashToken(from.StaffToken)); err != nil {
			return err
		}
	}
	return tx.InsertStaffSession(ctx, session, tokenHash)
}

// StaffSession returns the live session of a token, or unauthorized. What it
// says of the user and of what the user may do is as it is now.
func (s *Service) StaffSession(ctx context.Context, token string) (*intake.StaffSession, error) {
	now := s.Clock.Now()
	session, err := s.DB.StaffSession(ctx, intake.HashToken(token), now)
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
func (s *Service) Confirm(ctx context.Context, session *intake.StaffSession, password string, from Visitor) (token string, err error) {
	_, subject, err := s.provePassword(ctx, session, password, from)
	if err != nil {
		return "", err
	}
	token, hash := intake.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.ForgetSignInAttempts(ctx, subject); err != nil {
			return err
		}
		return tx.ConfirmStaffSession(ctx, session.SessionID, hash, s.Clock.Now())
	})
	return token, orCode(err, errSignedOut)
}

// SignOut ends a session at once, in every process.
func (s *Service) SignOut(ctx context.Context, session *intake.StaffSession, from Visitor) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DeleteStaffSession(ctx, session.ID, session.SessionID); err != nil {
			return err
		}
		return s.audit(ctx, tx, session.AccountID, actorAt(session, from),
			deed{Action: intake.AuditSignedOut, TargetID: session.ID.String(), TargetName: session.Email})
	})
	return orCode(err, errSignedOut)
}
