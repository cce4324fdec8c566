// Package simulator lets a partner's developer play the customer and the passing
// of time, in test mode (D60). It has no way of its own to change a session: it
// opens, fills in, signs, expires and retires one as customers and jobs do, so
// the events and webhooks are real. It must not know live mode.
package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/service/forms"
	"candor/internal/service/idempotency"
	"candor/internal/service/sessions"
	"candor/internal/service/webhooks"
	"candor/internal/statement"
)

// Config is what the simulator needs.
type Config struct {
	Clock       domain.Clock
	Outbox      *outbox.Outbox
	Sessions    *sessions.Service
	Forms       *forms.Service
	Webhooks    *webhooks.Service
	Idempotency *idempotency.Store
}

// Service holds the use cases of the simulator. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// A Goal is how far a session is taken: opened, a section, or one of the others.
// A section's name stands for that section and all before it.
type Goal string

// The goals that aren't sections.
const (
	Opened     Goal = "opened"
	Completed  Goal = "completed"
	Expired    Goal = "expired"
	PDFExpired Goal = "pdf_expired"
	Reminder   Goal = "reminder"
)

// Goals lists the goals.
var Goals = func() []Goal {
	out := []Goal{Opened}
	for _, name := range statement.SectionNames {
		out = append(out, Goal(name))
	}
	return append(out, Completed, Expired, PDFExpired, Reminder)
}()

// Enum lists the goals.
func (Goal) Enum() []string {
	out := make([]string, len(Goals))
	for i, goal := range Goals {
		out[i] = string(goal)
	}
	return out
}

// sections is how many sections must be completed at the goal.
func (g Goal) sections() int {
	switch g {
	case Completed, PDFExpired:
		return statement.SectionsTotal
	}
	return statement.SectionNumber(string(g))
}

// check refuses a goal that isn't one of those, named by the field.
func (g Goal) check(field string, of []string) error {
	if slices.Contains(of, string(g)) {
		return nil
	}
	return domain.Breaks(domain.CodeValidation, field, form.Rule{Code: "one_of", Value: "one of " + strings.Join(of, ", ")})
}

// An Advance says how far to take a session.
type Advance struct {
	To   Goal
	Data json.RawMessage // answers, as statement.ReadPrefill reads them; nil: none
}

// CompletionsADay is how many sessions of an account may be completed in test
// mode in a UTC day, before the simulator completes no more. Each keeps a PDF of
// some 80 KB for up to 90 days.
const CompletionsADay = 1000

// Advance takes a session of test mode as far as its goal, or does nothing if it
// is there already. Either everything happens or nothing. Later requests with the
// key get a *idempotency.Replay. Errors: session_not_found, validation_error on to
// or on a part of data, rate_limit_exceeded, and session_completed,
// session_cancelled or session_expired if the goal can't be reached.
func (s *Service) Advance(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.Session], id domain.SessionID,
	a Advance) (*domain.Session, error) {
	if key != nil {
		key.Keeps = func(tx *db.Tx) (bool, error) {
			session, err := tx.LockSession(ctx, scope, id)
			if errors.Is(err, db.ErrNotFound) {
				return true, nil
			}
			return session.CustomerErasedAt == nil, err
		}
	}
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.Session, error) {
		if err := a.To.check("to", a.To.Enum()); err != nil {
			return nil, err
		}
		return s.advance(ctx, tx, scope, id, a)
	})
}

// Create is sessions.Create followed by Advance to the goal, in one transaction.
func (s *Service) Create(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.Session], params domain.NewSession,
	to Goal) (*domain.Session, error) {
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.Session, error) {
		if scope.Livemode {
			return nil, domain.Breaks(domain.CodeValidation, "simulate", form.Rule{Code: "test_mode"})
		}
		atOnce := to.Enum()[:len(Goals)-1] // all but Reminder: no email was sent that it could follow
		if err := to.check("simulate", atOnce); err != nil {
			return nil, err
		}
		if to != Expired {
			if err := tx.HoldFormCounts(ctx, scope, s.Clock.Now(), statement.SectionNames[:to.sections()]); err != nil {
				return nil, err
			}
		}
		created, err := s.Sessions.Insert(ctx, tx, scope, params)
		if err != nil {
			return nil, err
		}
		advanced, err := s.advance(ctx, tx, scope, created.ID, Advance{To: to})
		if err == nil {
			advanced.Delivery = created.Delivery
		}
		return advanced, err
	})
}

// room refuses to complete another session if the account has completed enough
// of them today.
func (s *Service) room(ctx context.Context, tx *db.Tx, scope domain.Scope, now time.Time) error {
	done, err := tx.CompletedOn(ctx, scope, now)
	if err != nil || done < CompletionsADay {
		return err
	}
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	wait := time.Duration(math.Ceil(tomorrow.Sub(now).Seconds())) * time.Second
	return &domain.Error{
		Code: domain.CodeRateLimitExceeded, RetryAfter: wait,
		Message: "This account has completed 1000 test sessions today. The simulator completes more from midnight UTC. Customers can still complete theirs.",
	}
}
