package auth

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/passwords"
)

// ChangePassword sets a new password for who proves to know the current one,
// signs the user's other browsers out and returns the session's new token.
// Errors: unauthorized for a wrong current password, validation_error for a new
// password that the rules refuse or that equals the current one, and on password for a
// session of the company's sign-in, which a password must not confirm (D142).
func (s *Service) ChangePassword(ctx context.Context, session *domain.StaffSession, current, password string,
	from domain.Visitor) (token string, err error) {
	if session.BySSO() {
		return "", domain.Breaks(domain.CodeValidation, "password", form.Rule{Code: "sso_password"})
	}
	broken := passwords.Broken(password, session.Email, session.Name, session.AccountName)
	if password == current {
		broken = form.Rule{Code: "password_same"}
	}
	if err := newPasswordError(broken); err != nil {
		return "", err
	}
	hashing, err := s.Passwords.Known()
	if err != nil {
		return "", err
	}
	defer hashing.Leave()
	if _, err := s.provePassword(ctx, hashing, session, current, from); err != nil {
		return "", err
	}
	passwordHash, err := hashing.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	token, hash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.SetPasswordHash(ctx, session.ID, passwordHash); err != nil {
			return db.MissingAs(err, domain.ErrSignedOut)
		}
		if err := tx.DeleteStaffRequests(ctx, domain.RequestReset, addressSubject(session.Email)); err != nil {
			return err
		}
		if err := s.renewSession(ctx, tx, session, hash, confirmCounter(session)); err != nil {
			return err
		}
		return s.reportChange(ctx, tx, session, from, domain.AuditPasswordChanged, domain.NoticePasswordChanged)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// provePassword checks the password of the user of a session. The attempt is
// counted by confirmCounter; the caller forgets it in its transaction.
func (s *Service) provePassword(ctx context.Context, hashing *passwords.Turn, session *domain.StaffSession, password string,
	from domain.Visitor) (*db.StaffPassword, error) {
	if err := s.Attempts.Count(ctx, confirmCounter(session)); err != nil {
		return nil, s.Attempts.Fail(ctx, attempts.Confirming(session, from), err)
	}
	staff, err := s.DB.StaffPassword(ctx, session.ID)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSignedOut)
	}
	right, err := hashing.Verify(ctx, staff.Hash, password)
	if err == nil && !right {
		err = s.Attempts.Fail(ctx, attempts.Confirming(session, from), errNotConfirmed)
	}
	return staff, err
}

func newPasswordError(broken form.Rule) error {
	return domain.Invalid(form.Error{Field: "new_password", Rule: broken})
}

// RequestReset sends a link for choosing a new password to the address, if it
// is a staff user's. The caller doesn't learn whether it is. After three emails
// within 15 minutes it sends no more, and the caller doesn't learn that either. A
// stranger who asked for them has blocked nothing, since each link works.
func (s *Service) RequestReset(ctx context.Context, email string, from domain.Visitor) error {
	email = strings.TrimSpace(email)
	if !form.ValidEmail(email) {
		return domain.ErrInvalidEmail
	}
	staff, err := s.DB.StaffByEmail(ctx, email)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	emails, counters := attempts.Counter(attempts.EmailsForOne, "reset email",
		strings.ToLower(email)), []db.Counter{attempts.NetworkCounter(from.IPAddress)}
	if known := s.deviceOf(staff, from); known != nil {
		emails, counters = known.counter(attempts.EmailsForOne, "reset email"), nil
	}
	now := s.Clock.Now()
	err = s.DB.CountAttempt(ctx, now, append(counters, emails)...)
	if refused, ok := errors.AsType[*db.RefusedAttempt](err); ok {
		if slices.ContainsFunc(refused.By, func(by []byte) bool { return bytes.Equal(by, emails.Subject) }) {
			return nil // the links in the emails that were sent still work
		}
		return attempts.TooMany(refused.Next.Sub(now))
	}
	if err != nil {
		return err
	}
	return s.request(ctx, domain.RequestReset, domain.RequestDetails{Email: email})
}

// CheckReset returns whose password the link's token may change, or not_found.
func (s *Service) CheckReset(ctx context.Context, token string) (email string, err error) {
	_, staff, err := s.resetting(ctx, token)
	if err != nil {
		return "", err
	}
	return staff.Email, nil
}

// resetting returns the reset that the link's token stands for, and whose
// password it changes, or not_found.
func (s *Service) resetting(ctx context.Context, token string) (*domain.StaffRequest, *db.StaffPassword, error) {
	r, details, err := s.requested(ctx, domain.RequestReset, token)
	if err != nil {
		return nil, nil, err
	}
	staff, err := s.DB.StaffByEmail(ctx, details.Email)
	if err == nil && staff.OnlyByCompany() {
		err = db.ErrNotFound
	}
	return r, staff, db.MissingAs(err, errLinkGone)
}

// Reset sets a new password by a link of an email and ends all of the user's
// sessions. It signs no one in, but returns the cookie by which the browser is
// known (KeepDevice): the link has proven who uses it, and strangers who are at
// it at the same time must not keep its user out. Of a user with a second factor the
// link has proven one half, so there is no cookie. Errors: not_found for a link
// that was used or has expired, validation_error for a password that the rules
// refuse, service_unavailable.
func (s *Service) Reset(ctx context.Context, token, password string, from domain.Visitor) (cookie string, err error) {
	r, staff, err := s.resetting(ctx, token)
	if err != nil {
		return "", err
	}
	hashing, err := s.queue(staff.Email, from)
	if err != nil {
		return "", err
	}
	defer hashing.Leave()
	account, err := s.DB.Account(ctx, staff.AccountID)
	if err != nil {
		return "", err
	}
	if err := newPasswordError(passwords.Broken(password, staff.Email, staff.Name, account.Name)); err != nil {
		return "", err
	}
	hash, err := hashing.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	as := &domain.StaffSession{Staff: staff.Staff}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.UseStaffRequest(ctx, r); err != nil {
			return db.MissingAs(err, errLinkGone)
		}
		if err := tx.SetPasswordHash(ctx, staff.ID, hash); err != nil {
			return db.MissingAs(err, errLinkGone)
		}
		_, endErr := tx.DeleteOtherStaffSessions(ctx, staff.ID, domain.StaffSessionID{})
		if err := errors.Join(endErr, tx.ForgetAttempts(ctx, passwordCounters(staff.Email, nil, from)...)); err != nil {
			return err
		}
		return s.reportChange(ctx, tx, as, from, domain.AuditPasswordReset, domain.NoticePasswordChanged)
	})
	if err != nil {
		return "", err
	}
	if staff.TwoStep {
		return "", nil
	}
	staff.Hash = hash
	return s.keepDevice(staff, from)
}
