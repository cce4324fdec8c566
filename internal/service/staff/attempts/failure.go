package attempts

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
	"candor/internal/service/audit"
)

// An Observer counts attempts to sign in and requests that were forbidden. It is safe for concurrent
// use.
type Observer interface {
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

// A Trial is an attempt, as a failure is reported.
type Trial struct {
	Outcome domain.AttemptOutcome
	Email   string               // that it is about; "" if it is about none
	Staff   domain.Staff         // who has it; zero if no one does
	Session *domain.StaffSession // of who is signed in; nil for a stranger
	From    domain.Visitor
}

// failures are the audit log's actions of the outcomes.
var failures = map[domain.AttemptOutcome]domain.AuditAction{
	domain.AttemptWrongPassword: domain.AuditSignInFailed, domain.AttemptWrongPasskey: domain.AuditSignInFailed,
	domain.AttemptWrongCode: domain.AuditCodeRefused, domain.AttemptNotConfirmed: domain.AuditConfirmRefused,
	domain.AttemptThrottled: domain.AuditThrottled,
}

// Confirming is the Trial of someone who is signed in.
func Confirming(session *domain.StaffSession, from domain.Visitor) Trial {
	return Trial{Outcome: domain.AttemptNotConfirmed, Email: session.Email, Staff: session.Staff, Session: session, From: from}
}

// Fail reports an attempt that err refuses, to metrics, to the log and to the
// account's audit log, and returns err. It only returns an error on our side, which
// is no failed attempt.
func (s *Service) Fail(ctx context.Context, t Trial, err error) error {
	var refusal *domain.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case domain.CodeUnauthorized:
	case domain.CodeRateLimitExceeded:
		t.Outcome = domain.AttemptThrottled
	case domain.CodeServiceUnavailable:
		t.Outcome, t.Email = domain.AttemptShed, "" // what was shed isn't in the audit log
	default:
		return err
	}
	s.Observer.SignInAttempted(t.Outcome)
	s.logRefusal(ctx, "attempt refused", string(t.Outcome), &t.Staff, t.From)
	if t.Email == "" {
		return err
	}
	e := audit.Entry{Action: failures[t.Outcome], TargetID: t.Staff.ID.String(), TargetName: t.Staff.Email}
	// A client that closes its connection early must not stay out of the log.
	if problem := s.auditFailure(context.WithoutCancel(ctx), t, e); problem != nil {
		s.Logger.ErrorContext(ctx, "a failed attempt is not in the audit log", "error", problem)
	}
	return err
}

// logRefusal logs by ids alone: what was typed can be anyone's address.
func (s *Service) logRefusal(ctx context.Context, message, what string, staff *domain.Staff, from domain.Visitor) {
	attrs := []slog.Attr{slog.String("outcome", what)}
	if staff.ID != (domain.StaffID{}) {
		attrs = append(attrs, slog.String("account_id", staff.AccountID.String()), slog.String("staff_id", staff.ID.String()))
	}
	s.Logger.LogAttrs(ctx, slog.LevelInfo, message, append(attrs, slog.String("request_id", from.RequestID))...)
}

// auditFailure writes the first failure of a window into the account's audit log.
// It counts an unknown address by the same rows, so that the time doesn't show
// whether an address is known.
func (s *Service) auditFailure(ctx context.Context, t Trial, e audit.Entry) error {
	who, account := strings.ToLower(t.Email), strings.ToLower(t.Email)
	known := t.Staff.ID != (domain.StaffID{})
	by := domain.Actor{Kind: domain.ActorStranger, Name: "Not signed in", Address: t.From.IPAddress}
	if known {
		account = t.Staff.AccountID.String()
	}
	if t.Session != nil {
		by = t.Session.ActorAt(t.From.IPAddress)
	}
	once := Counter(1, "audit", string(e.Action), who, domain.Network(t.From.IPAddress))
	networks := Counter(failedNetworks, "audit networks", string(e.Action), account)
	now := s.Clock.Now()
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		err := tx.CountAttempt(ctx, now, once, networks)
		if refused, ok := errors.AsType[*db.RefusedAttempt](err); ok {
			if slices.ContainsFunc(refused.By, func(by []byte) bool { return bytes.Equal(by, once.Subject) }) {
				return nil
			}
			by.Address = ""
			e.After = struct {
				MoreNetworks bool `json:"more_networks"`
			}{true}
			err = tx.CountAttempt(ctx, now, Counter(1, "audit more networks", string(e.Action), account))
			if errors.As(err, &refused) {
				return nil
			}
		}
		if err == nil && t.Outcome == domain.AttemptThrottled {
			err = s.emailTooMany(ctx, tx, who, &t.Staff, now)
		}
		if err != nil || !known {
			return err
		}
		return s.Audit.Record(ctx, tx, t.Staff.AccountID, by, e)
	})
}

// emailTooMany sends a user an email about too many attempts, once a day.
func (s *Service) emailTooMany(ctx context.Context, tx *db.Tx, who string, staff *domain.Staff, now time.Time) error {
	err := tx.CountAttempt(ctx, now, db.Counter{Subject: Subject("too many email", who), Free: 1, Window: tooManyEmailed})
	var refused *db.RefusedAttempt
	switch {
	case errors.As(err, &refused):
		return nil
	case err != nil || staff.ID == (domain.StaffID{}):
		return err
	}
	return s.Outbox.NoticeEmail(ctx, tx, staff.ID, domain.NoticeTooManyAttempts)
}

// Forbidden reports a request of a signed-in user that the role doesn't allow.
func (s *Service) Forbidden(ctx context.Context, session *domain.StaffSession, needs domain.Capability,
	from domain.Visitor) error {
	s.Observer.Forbidden(domain.ActorStaff)
	s.logRefusal(ctx, "forbidden", string(needs), &session.Staff, from)
	t := Trial{Email: session.Email, Staff: session.Staff, Session: session, From: from}
	return s.auditFailure(ctx, t, audit.Entry{
		Action: domain.AuditForbidden, TargetID: session.ID.String(), TargetName: session.Email,
		After: map[string]domain.Capability{"needs": needs},
	})
}
