// Package attempts counts attempts to get in, makes the next one wait after too
// many, and reports failures.
package attempts

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/service/audit"
)

// Config is what counting attempts needs.
type Config struct {
	DB       *db.DB
	Clock    domain.Clock
	Logger   *slog.Logger
	Outbox   *outbox.Outbox
	Audit    *audit.Service
	Observer Observer // nil for none
}

// Service counts and reports attempts. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service {
	if c.Observer == nil {
		c.Observer = noAccess{}
	}
	return &Service{c}
}

// How many attempts fail within window before the next one has to wait.
// A success forgets them.
const (
	window             = 15 * time.Minute
	ForOne             = 10  // of one browser, or of one network at one address
	AtAddress          = 20  // at one address from everywhere; after them one at a time
	ForCode            = 5   // six digits are few
	PerNetwork         = 100 // a whole office can share one
	PasskeysPerNetwork = 100 // that are asked for
	EmailsForOne       = 3   // to one address
	Invitations        = 50  // of one account
	FirstInvitations   = 3   // of an account that isn't approved, in a day
)

// TooMany refuses an attempt until that much time has passed.
func TooMany(wait time.Duration) error { return domain.Busy("There were too many attempts.", wait) }

// Count counts an attempt before it is made, so that many at once don't
// slip through. Error: rate_limit_exceeded.
func (s *Service) Count(ctx context.Context, counters ...db.Counter) error {
	now := s.Clock.Now()
	err := s.DB.CountAttempt(ctx, now, counters...)
	if refused, ok := errors.AsType[*db.RefusedAttempt](err); ok {
		return TooMany(refused.Next.Sub(now))
	}
	return err
}

// Subject is the SHA-256 under which something is counted or found. No name
// has a zero byte in it, so no two lists of names are the same.
func Subject(kind string, names ...string) []byte {
	sum := sha256.Sum256([]byte(kind + " " + strings.Join(names, "\x00")))
	return sum[:]
}

// Counter counts the attempts of one subject.
func Counter(free int, kind string, names ...string) db.Counter {
	return db.Counter{Subject: Subject(kind, names...), Free: free, Window: window}
}

// NetworkCounter counts the failures of a whole network.
func NetworkCounter(address string) db.Counter {
	c := Counter(PerNetwork, "network", domain.Network(address))
	c.Shared = true
	return c
}
