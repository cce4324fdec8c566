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
	"candor/intake"
)

// An AccessObserver counts who came in and who didn't. It is safe for concurrent
// use.
type AccessObserver interface {
	SignInAttempted(intake.AttemptOutcome)
	Forbidden(by intake.ActorKind) // staff or key
}

// noAccess counts nothing.
type noAccess struct{}

// SignInAttempted does nothing.
func (noAccess) SignInAttempted(intake.AttemptOutcome) {}

// Forbidden does nothing.
func (noAccess) Forbidden(intake.ActorKind) {}

// How much of the failures is in an account's audit log: the first of each
// window, for each kind, user and network, and no more networks than these.
const failedNetworks = 20

// tooManyEmailed is how long no second email tells a user of too many attempts.
const tooManyEmailed = 24 * time.Hour

// A trial is an attempt, as a failure is reported.
type trial struct {
	outcome intake.AttemptOutcome
	email   string               // that it is about; "" if it is about none
	staff   intake.Staff         // who has it; zero if no one does
	session *intake.StaffSession // of who is signed in; nil for a stranger
	from    Visitor
}

// failures are the audit log's actions of the outcomes.
var failures = map[intake.AttemptOutcome]intake.AuditAction{
	intake.AttemptWrongPassword: intake.AuditSignInFailed, intake.AttemptWrongPasskey: intake.AuditSignInFailed,
	intake.AttemptWrongCode: intake.AuditCodeRefused, intake.AttemptNotConfirmed: intake.AuditConfirmRefused,
	intake.AttemptThrottled: intake.AuditThrottled,
}

// confirming is the trial of someone who is signed in.
func confirming(session *intake.StaffSession, from Visitor) trial {
	return trial{outcome: intake.AttemptNotConfirmed, email: session.Email, staff: session.Staff, session: session, from: from}
}

// failed tells of an attempt that err refuses, in metrics, in the log and in
// the account's audit log, and returns err. An error of our own is no failure of
// the attempt and returned as it is.
func (s *Service) failed(ctx context.Context, t trial, err error) error {
	var refusal *intake.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case intake.CodeUnauthorized:
	case intake.CodeRateLimitExceeded:
		t.outcome = intake.AttemptThrottled
	case intake.CodeServiceUnavailable:
		t.outcome, t.email = intake.AttemptShed, "" // nothing is written of what was shed
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
func (s *Service) logRefusal(ctx context.Context, message, what string, staff *intake.Staff) {
	attrs := []slog.Attr{slog.String("outcome", what)}
	if staff.ID != (intake.StaffID{}) {
		attrs = append(attrs, slog.String("account_id", staff.AccountID.String()), slog.String("staff_id", staff.ID.String()))
	}
	s.Logger.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}

// auditFailure notes the first failure of a window in the account's audit log.
// An address that no one has is counted by the same rows, so that the time that
// this takes doesn't tell.
func (s *Service) auditFailure(ctx context.Context, t trial, d deed) error {
	who, account := strings.ToLower(t.email), strings.ToLower(t.email)
	known := t.staff.ID != (intake.StaffID{})
	by := intake.Actor{Kind: intake.ActorStranger, Name: "Not signed in", Address: t.from.IPAddress}
	if known {
		account = t.staff.AccountID.String()
	}
	if t.session != nil {
		by = actorAt(t.session, t.from)
	}
	once := counter(1, "audit", string(d.Action), who, intake.Network(t.from.IPAddress))
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
		if err == nil && t.outcome == intake.AttemptThrottled {
			err = s.emailTooMany(ctx, tx, who, &t.staff, now)
		}
		if err != nil || !known {
			return err
		}
		return s.audit(ctx, tx, t.staff.AccountID, by, d)
	})
}

// emailTooMany tells a user of too many attempts, once a day.
func (s *Service) emailTooMany(ctx context.Context, tx *db.Tx, who string, staff *intake.Staff, now time.Time) error {
	err := tx.CountAttempt(ctx, now, db.Counter{Subject: subjectOf("too many email", who), Free: 1, Window: tooManyEmailed})
	var refused *db.RefusedAttempt
	switch {
	case errors.As(err, &refused):
		return nil
	case err != nil || staff.ID == (intake.StaffID{}):
		return err
	}
	return s.Enqueuer.NoticeLetter(ctx, tx, staff.ID, intake.NoticeTooManyAttempts)
}

// Forbidden tells of a signed-in user who asked for what the role doesn't open.
func (s *Service) Forbidden(ctx context.Context, session *intake.StaffSession, needs intake.Capability, from Visitor) error {
	s.Observer.Forbidden(intake.ActorStaff)
	s.logRefusal(ctx, "forbidden", string(needs), &session.Staff)
	t := trial{email: session.Email, staff: session.Staff, session: session, from: from}
	return s.auditFailure(ctx, t, deed{
		Action: intake.AuditForbidden, TargetID: session.ID.String(), TargetName: session.Email, After: map[string]intake.Capability{"needs": needs},
	})
}
