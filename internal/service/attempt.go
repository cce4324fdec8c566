package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// How many attempts fail within attemptWindow before the next one has to wait.
// A success forgets them.
const (
	attemptWindow      = 15 * time.Minute
	attemptsForOne     = 10  // of one browser, or of one network at one address
	attemptsAtAddress  = 20  // at one address from everywhere; after them one at a time
	attemptsForCode    = 5   // six digits are few
	attemptsPerNetwork = 100 // a whole office can share one
	passkeysPerNetwork = 100 // that are asked for
	lettersForOne      = 3   // to one address
	invitationsOfOne   = 50  // of one account
	invitationsOfNew   = 3   // of one that is not approved, in a day
)

// tooMany refuses an attempt until that much time has passed.
func tooMany(wait time.Duration) error {
	seconds := max(1, math.Ceil(wait.Seconds()))
	text := fmt.Sprintf("%.0f seconds", seconds)
	if seconds > 90 {
		text = fmt.Sprintf("%.0f minutes", math.Ceil(seconds/60))
	}
	return &domain.Error{
		Code: domain.CodeRateLimitExceeded, Message: "There were too many attempts. Try again in " + text + ".",
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// countAttempt counts an attempt before it is made, so that many at once don't
// slip through. Error: rate_limit_exceeded.
func (s *Service) countAttempt(ctx context.Context, counters ...db.Counter) error {
	now := s.Clock.Now()
	err := s.DB.CountAttempt(ctx, now, counters...)
	var refused *db.RefusedAttempt
	if errors.As(err, &refused) {
		return tooMany(refused.Next.Sub(now))
	}
	return err
}

// subjectOf is the SHA-256 under which something is counted or found. No name
// has a zero byte in it, so no two lists of names are the same.
func subjectOf(kind string, names ...string) []byte {
	sum := sha256.Sum256([]byte(kind + " " + strings.Join(names, "\x00")))
	return sum[:]
}

// counter counts the attempts of one subject.
func counter(free int, kind string, names ...string) db.Counter {
	return db.Counter{Subject: subjectOf(kind, names...), Free: free, Window: attemptWindow}
}

// networkCounter counts the failures of a whole network.
func networkCounter(from Visitor) db.Counter {
	c := counter(attemptsPerNetwork, "network", domain.Network(from.IPAddress))
	c.Shared = true
	return c
}

// passwordCounters count passwords that are tried for an address. A browser in
// which its user signed in before has a counter of its own: what strangers try
// doesn't touch it.
func passwordCounters(email string, known *device, from Visitor) []db.Counter {
	if known != nil {
		return []db.Counter{known.counter(attemptsForOne, "password")}
	}
	email = strings.ToLower(email)
	everywhere := counter(attemptsAtAddress, "password", email)
	everywhere.Paced = true
	return []db.Counter{networkCounter(from), counter(attemptsForOne, "password", email, domain.Network(from.IPAddress)), everywhere}
}

// codeCounters count codes that are tried after the password.
func codeCounters(staff domain.StaffID, known *device, from Visitor) []db.Counter {
	if known != nil {
		return []db.Counter{known.counter(attemptsForCode, "code")}
	}
	return []db.Counter{networkCounter(from), counter(attemptsForCode, "code", staff.String())}
}

// confirmCounter counts the passwords by which the user of a session proves to
// be there. It is the session's own: what strangers try doesn't touch it.
func confirmCounter(session *domain.StaffSession) db.Counter {
	return counter(attemptsForOne, "confirm", session.SessionID.String())
}
