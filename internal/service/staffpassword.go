package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// ChangePassword sets a new password for who proves to know the current one,
// signs the user's other browsers out and returns the session's new token.
// Errors: unauthorized for a wrong current password, validation_error for a new
// one that the rules refuse, or that is the current one.
func (s *Service) ChangePassword(ctx context.Context, session *domain.StaffSession, current, password string, from Visitor) (token string, err error) {
	problem := refusePassword(password, session.Email, session.Name, session.AccountName)
	if password == current {
		problem = "Choose a password other than your current one"
	}
	if err := newPasswordError(problem); err != nil {
		return "", err
	}
	hashing, err := s.passwords.queue(s.passwords.known)
	if err != nil {
		return "", err
	}
	defer hashing.leave()
	if _, err := s.provePassword(ctx, hashing, session, current, from); err != nil {
		return "", err
	}
	passwordHash, err := hashing.hash(ctx, password)
	if err != nil {
		return "", err
	}
	token, hash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.SetPasswordHash(ctx, session.ID, passwordHash); err != nil {
			return orCode(err, errSignedOut)
		}
		if err := tx.DeleteStaffRequests(ctx, domain.RequestReset, addressSubject(session.Email)); err != nil {
			return err
		}
		if err := s.renewSession(ctx, tx, session, hash, confirmCounter(session)); err != nil {
			return err
		}
		return s.tellChange(ctx, tx, session, from, domain.AuditPasswordChanged, domain.NoticePasswordChanged)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// provePassword checks the password of the user of a session. The attempt is
// counted by confirmCounter; the caller forgets it in its transaction.
func (s *Service) provePassword(ctx context.Context, hashing *hashing, session *domain.StaffSession, password string, from Visitor) (*db.StaffPassword, error) {
	if err := s.countAttempt(ctx, confirmCounter(session)); err != nil {
		return nil, s.failed(ctx, confirming(session, from), err)
	}
	staff, err := s.DB.StaffPassword(ctx, session.ID)
	if err != nil {
		return nil, orCode(err, errSignedOut)
	}
	right, err := hashing.verify(ctx, staff.Hash, password)
	if err == nil && !right {
		err = s.failed(ctx, confirming(session, from), errNotConfirmed)
	}
	return staff, err
}

var errLinkGone = domain.Errorf(domain.CodeNotFound, "This link has been used or has expired. Ask for a new one.")

// addressSubject is an e-mail address as requests are found by it.
func addressSubject(email string) []byte { return subjectOf("address", strings.ToLower(email)) }

// request stores what the visitor asks for and will prove by a letter's link,
// and asks for the letter. All of it is the same whether somebody has the
// address or not; the letter's worker finds out.
func (s *Service) request(ctx context.Context, kind domain.StaffRequestKind, details domain.RequestDetails) error {
	now := s.Clock.Now()
	life := domain.ResetLife
	if kind == domain.RequestSignUp {
		life = domain.SignUpLife
	}
	r := &domain.StaffRequest{
		ID: domain.NewStaffRequestID(), Kind: kind, Subject: addressSubject(details.Email), CreatedAt: now, ExpiresAt: now.Add(life),
	}
	plain, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("service: staff request: %w", err)
	}
	r.Sealed = s.Ring.Seal(r.SealOwner(), plain)
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.InsertStaffRequest(ctx, r); err != nil {
			return err
		}
		return s.Outbox.RequestEmail(ctx, tx, r.ID)
	})
}

// requested returns the live request of a link's token, or not_found.
func (s *Service) requested(ctx context.Context, kind domain.StaffRequestKind, token string) (*domain.StaffRequest, domain.RequestDetails, error) {
	var details domain.RequestDetails
	r, err := s.DB.StaffRequestByToken(ctx, kind, domain.HashToken(token), s.Clock.Now())
	if err != nil {
		return nil, details, orCode(err, errLinkGone)
	}
	plain, err := s.Ring.Open(r.SealOwner(), r.Sealed)
	if err != nil {
		s.Logger.ErrorContext(ctx, "a staff request can't be opened", "request_id", r.ID, "error", err)
		return nil, details, errLinkGone
	}
	if err := json.Unmarshal(plain, &details); err != nil {
		return nil, details, fmt.Errorf("service: staff request: %w", err)
	}
	return r, details, nil
}

// RequestReset sends a link for choosing a new password to the address, if it
// is a staff user's. The caller doesn't learn whether it is. After three emails
// within 15 minutes no more are sent, and the caller isn't told that either:
// a stranger who asked for them has blocked nothing, since each link works.
func (s *Service) RequestReset(ctx context.Context, email string, from Visitor) error {
	email = strings.TrimSpace(email)
	if !form.ValidEmail(email) {
		return errEmail
	}
	staff, err := s.DB.StaffByEmail(ctx, email)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	letters, counters := counter(lettersForOne, "reset letter", strings.ToLower(email)), []db.Counter{networkCounter(from)}
	if known := s.deviceOf(staff, from); known != nil {
		letters, counters = known.counter(lettersForOne, "reset letter"), nil
	}
	now := s.Clock.Now()
	err = s.DB.CountAttempt(ctx, now, append(counters, letters)...)
	var refused *db.RefusedAttempt
	if errors.As(err, &refused) {
		if slices.ContainsFunc(refused.By, func(by []byte) bool { return bytes.Equal(by, letters.Subject) }) {
			return nil // the links of the letters that were sent still work
		}
		return tooMany(refused.Next.Sub(now))
	}
	if err != nil {
		return err
	}
	return s.request(ctx, domain.RequestReset, domain.RequestDetails{Email: email})
}

var errEmail = domain.FieldError(domain.CodeValidation, "email", "Enter an e-mail address, such as name@example.com")

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
	return r, staff, orCode(err, errLinkGone)
}

// Reset sets a new password by a link of an email and ends all of the user's
// sessions. It signs no one in, but returns the cookie by which the browser is
// known (KeepDevice): the link has proven who uses it, and strangers who are at
// it at the same time must not keep its user out. Errors: not_found for a link
// that was used or has expired, validation_error for a password that the rules
// refuse, service_unavailable.
func (s *Service) Reset(ctx context.Context, token, password string, from Visitor) (cookie string, err error) {
	hashing, err := s.queue(from)
	if err != nil {
		return "", err
	}
	defer hashing.leave()
	r, staff, err := s.resetting(ctx, token)
	if err != nil {
		return "", err
	}
	account, err := s.DB.Account(ctx, staff.AccountID)
	if err != nil {
		return "", err
	}
	if err := newPasswordError(refusePassword(password, staff.Email, staff.Name, account.Name)); err != nil {
		return "", err
	}
	hash, err := hashing.hash(ctx, password)
	if err != nil {
		return "", err
	}
	as := &domain.StaffSession{Staff: staff.Staff}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.UseStaffRequest(ctx, r); err != nil {
			return orCode(err, errLinkGone)
		}
		if err := tx.SetPasswordHash(ctx, staff.ID, hash); err != nil {
			return orCode(err, errLinkGone)
		}
		_, endErr := tx.DeleteOtherStaffSessions(ctx, staff.ID, domain.StaffSessionID{})
		if err := errors.Join(endErr, tx.ForgetAttempts(ctx, passwordCounters(staff.Email, nil, from)...)); err != nil {
			return err
		}
		return s.tellChange(ctx, tx, as, from, domain.AuditPasswordReset, domain.NoticePasswordChanged)
	})
	if err != nil {
		return "", err
	}
	return s.keepDevice(staff.ID, hash, from)
}

// StaffSessions returns the browsers in which the user is signed in, the
// latest first.
func (s *Service) StaffSessions(ctx context.Context, session *domain.StaffSession) ([]domain.StaffSession, error) {
	return s.DB.StaffSessions(ctx, session.ID, s.Clock.Now())
}

var errNoStaffSession = domain.Errorf(domain.CodeNotFound, "This browser is signed out already.")

// EndStaffSession signs the user out in one of the user's browsers.
func (s *Service) EndStaffSession(ctx context.Context, session *domain.StaffSession, id string, from Visitor) error {
	other, err := domain.ParseStaffSessionID(id)
	if err != nil {
		return errNoStaffSession
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DeleteStaffSession(ctx, session.ID, other); err != nil {
			return orCode(err, errNoStaffSession)
		}
		return s.auditEnded(ctx, tx, session, 1, from)
	})
}

// EndOtherStaffSessions signs the user out in all browsers but this one.
func (s *Service) EndOtherStaffSessions(ctx context.Context, session *domain.StaffSession, from Visitor) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.DeleteOtherStaffSessions(ctx, session.ID, session.SessionID)
		if err != nil || n == 0 {
			return err
		}
		return s.auditEnded(ctx, tx, session, n, from)
	})
}

func (s *Service) auditEnded(ctx context.Context, tx *db.Tx, session *domain.StaffSession, n int, from Visitor) error {
	return s.audit(ctx, tx, session.AccountID, actorAt(session, from), deed{
		Action: domain.AuditSessionsEnded, TargetID: session.ID.String(), TargetName: session.Email,
		Before: struct {
			Sessions int `json:"sessions"`
		}{n},
	})
}

// ChangeName stores how the staff user is called by colleagues and in the audit
// log from now on. Error: validation_error on name.
func (s *Service) ChangeName(ctx context.Context, session *domain.StaffSession, name string, from Visitor) error {
	name, wrong := ownName(name)
	if err := fieldProblems(wrong); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.SetStaffName(ctx, session.ID, name); err != nil {
			return err
		}
		return s.audit(ctx, tx, session.AccountID, actorAt(session, from), deed{
			Action: domain.AuditStaffNamed, TargetID: session.ID.String(), TargetName: session.Email,
			Before: map[string]string{"name": session.Name}, After: map[string]string{"name": name},
		})
	})
}
