// Package auth holds how staff get in: signing up, joining a team, signing in,
// second factors, passkeys, resetting a password, and the browsers in which they
// are signed in.
package auth

import (
	"context"
	"log/slog"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/platform/keyring"
	"candor/internal/service/accounts"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/passwords"
)

// Config is what signing in needs.
type Config struct {
	DB        *db.DB
	Clock     domain.Clock
	Logger    *slog.Logger
	Ring      *keyring.Keyring
	Outbox    *outbox.Outbox
	BaseURL   string // without a slash at its end
	Audit     *audit.Service
	Attempts  *attempts.Service
	Accounts  *accounts.Service
	Passwords *passwords.Hasher
}

// Service holds the use cases of signing in. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

var (
	errWrongPassword = domain.Errorf(domain.CodeUnauthorized, "The email address or the password is wrong.")
	errUseCompany    = domain.Errorf(domain.CodeUnauthorized,
		"The email address or the password is wrong, or your company lets you in only by its own sign-in. Choose “Continue with your company”.")
	errNotConfirmed = domain.Breaks(domain.CodeUnauthorized, "password", form.Rule{Code: "wrong_password"})
)

// passwordCounters count passwords that are tried for an address. A browser in
// which its user signed in before has a counter of its own: what strangers try
// doesn't touch it.
func passwordCounters(email string, known *device, from domain.Visitor) []db.Counter {
	if known != nil {
		return []db.Counter{known.counter(attempts.ForOne, "password")}
	}
	email = strings.ToLower(email)
	everywhere := attempts.Counter(attempts.AtAddress, "password", email)
	everywhere.Paced = true
	return []db.Counter{attempts.NetworkCounter(from.IPAddress), attempts.Counter(attempts.ForOne, "password", email,
		domain.Network(from.IPAddress)), everywhere}
}

// codeCounters count codes that are tried after the password: those of a user together,
// whatever the browser (D94), and of a browser that isn't known its network's, too.
func codeCounters(staff domain.StaffID, known *device, from domain.Visitor) []db.Counter {
	counters := []db.Counter{attempts.Counter(attempts.ForCode, "code", staff.String())}
	if known == nil {
		counters = append(counters, attempts.NetworkCounter(from.IPAddress))
	}
	return counters
}

// confirmCounter counts the passwords by which the user of a session proves to
// be there. It is the session's own: what strangers try doesn't touch it.
func confirmCounter(session *domain.StaffSession) db.Counter {
	return attempts.Counter(attempts.ForOne, "confirm", session.SessionID.String())
}

// queue takes a turn to hash the password of the user with that address. A browser in
// which that user has signed in waits with the people who are signed in; one in which
// others have is a stranger's.
func (s *Service) queue(email string, from domain.Visitor) (*passwords.Turn, error) {
	if s.KnownFor(from.Device, email) {
		return s.Passwords.Known()
	}
	return s.Passwords.Strangers()
}

// reportChange reports a change of how a user signs in to the audit log and to
// the user.
func (s *Service) reportChange(ctx context.Context, tx *db.Tx, session *domain.StaffSession, from domain.Visitor,
	action domain.AuditAction, n domain.StaffNotice) error {
	err := s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
		audit.Entry{Action: action, TargetID: session.ID.String(), TargetName: session.Email})
	if err != nil {
		return err
	}
	return s.Outbox.NoticeEmail(ctx, tx, session.ID, n)
}
