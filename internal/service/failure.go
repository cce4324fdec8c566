package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// An AccessObserver counts who came in and who didn't. It is safe for concurrent
// use.
type AccessObserver interface {
	SignInAttempted(domain.AttemptOutcome)
	Forbidden(by domain.ActorKind) // staff or key
}

// noAccess counts nothing.
type noAccess struct{}

// SignInAttempted does nothing.
func (noAccess) SignInAttempted(domain.AttemptOutcome) {}

// Forbidden does nothing.
func (noAccess) Forbidden(domain.ActorKind) {}

// How much of the failures is in an account's audit log: the first of each
// window, for each kind, user and network, and no more networks than these.
const failedNetworks = 20

// tooManyEmailed is how long no second email tells a user of too many attempts.
const tooManyEmailed = 24 * time.Hour

// A trial is an attempt, as a failure is reported.
type trial struct {
	outcome domain.AttemptOutcome
	email   string               // that it is about; "" if it is about none
	staff   domain.Staff         // who has it; zero if no one does
	session *domain.StaffSession // of who is signed in; nil for a stranger
	from    Visitor
}

// failures are the audit log's actions of the outcomes.
var failures = map[domain.AttemptOutcome]domain.AuditAction{
	domain.AttemptWrongPassword: domain.AuditSignInFailed, domain.AttemptWrongPasskey: domain.AuditSignInFailed,
	domain.AttemptWrongCode: domain.AuditCodeRefused, domain.AttemptNotConfirmed: domain.AuditConfirmRefused,
	domain.AttemptThrottled: domain.AuditThrottled,
}

// confirming is the trial of someone who is signed in.
func confirming(session *domain.StaffSession, from Visitor) trial {
	return trial{outcome: domain.AttemptNotConfirmed, email: session.Email, staff: session.Staff, session: session, from: from}
}

// failed tells of an attempt that err refuses, in metrics, in the log and in
// the account's audit log, and returns err. An error of our own is no failure of
// the attempt and returned as it is.
func (s *Service) failed(ctx context.Context, t trial, err error) error {
	var refusal *domain.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case domain.CodeUnauthorized:
	case domain.CodeRateLimitExceeded:
		t.outcome = domain.AttemptThrottled
	case domain.CodeServiceUnavailable:
		t.outcome, t.email = domain.AttemptShed, "" // nothing is written of what was shed
	default:
		return err
	}
	s.Observer.SignInAttempted(t.outcome)
	s.logRefusal(ctx, "attempt refused", string(t.outcome), &t.staff)
	if t.email == "" {
		return err
	}
	d := deed{Action: failures[t.outcome], TargetID: t.staff.ID.String(), TargetName: t.staff.Email}
	// A client that closes its connection early must not stay out of the log.
	if problem := s.auditFailure(context.WithoutCancel(ctx), t, d); problem != nil {
		s.Logger.ErrorContext(ctx, "a failed attempt is not in the audit log", "error", problem)
	}
	return err
}

// logRefusal logs by ids alone: what was typed can be anyone's address.
func (s *Service) logRefusal(ctx context.Context, message, what string, staff *domain.Staff) {
	attrs := []slog.Attr{slog.String("outcome", what)}
	if staff.ID != (domain.StaffID{}) {
		attrs = append(attrs, slog.String("account_id", staff.AccountID.String()), slog.String("staff_id", staff.ID.String()))
	}
	s.Logger.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}

// auditFailure notes the first failure of a window in the account's audit log.
// An address that no one has is counted by the same rows, so that the time that
// this takes doesn't tell.
func (s *Service) auditFailure(ctx context.Context, t trial, d deed) error {
	who, account := strings.ToLower(t.email), strings.ToLower(t.email)
	known := t.staff.ID != (domain.StaffID{})
	by := domain.Actor{Kind: domain.ActorStranger, Name: "Not signed in", Address: t.from.IPAddress}
	if known {
		account = t.staff.AccountID.String()
	}
	if t.session != nil {
		by = actorAt(t.session, t.from)
	}
	once := counter(1, "audit", string(d.Action), who, domain.Network(t.from.IPAddress))
	networks := counter(failedNetworks, "audit networks", string(d.Action), account)
	now := s.Clock.Now()
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		err := tx.CountAttempt(ctx, now, once, networks)
		var refused *db.RefusedAttempt
		if errors.As(err, &refused) {
			if slices.ContainsFunc(refused.By, func(by []byte) bool { return bytes.Equal(by, once.Subject) }) {
				return nil
			}
			by.Address = ""
			d.After = struct {
				MoreNetworks bool `json:"more_networks"`
			}{true}
			err = tx.CountAttempt(ctx, now, counter(1, "audit more networks", string(d.Action), account))
			if errors.As(err, &refused) {
				return nil
			}
		}
		if err == nil && t.outcome == domain.AttemptThrottled {
			err = s.emailTooMany(ctx, tx, who, &t.staff, now)
		}
		if err != nil || !known {
			return err
		}
		return s.audit(ctx, tx, t.staff.AccountID, by, d)
	})
}

// emailTooMany tells a user of too many attempts, once a day.
func (s *Service) emailTooMany(ctx context.Context, tx *db.Tx, who string, staff *domain.Staff, now time.Time) error {
	err := tx.CountAttempt(ctx, now, db.Counter{Subject: subjectOf("too many email", who), Free: 1, Window: tooManyEmailed})
	var refused *db.RefusedAttempt
	switch {
	case errors.As(err, &refused):
		return nil
	case err != nil || staff.ID == (domain.StaffID{}):
		return err
	}
	return s.Outbox.NoticeEmail(ctx, tx, staff.ID, domain.NoticeTooManyAttempts)
}

// Forbidden tells of a signed-in user who asked for what the role doesn't open.
func (s *Service) Forbidden(ctx context.Context, session *domain.StaffSession, needs domain.Capability, from Visitor) error {
	s.Observer.Forbidden(domain.ActorStaff)
	s.logRefusal(ctx, "forbidden", string(needs), &session.Staff)
	t := trial{email: session.Email, staff: session.Staff, session: session, from: from}
	return s.auditFailure(ctx, t, deed{
		Action: domain.AuditForbidden, TargetID: session.ID.String(), TargetName: session.Email, After: map[string]domain.Capability{"needs": needs},
	})
}
