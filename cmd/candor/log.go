package main

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"candor/cmd/candor/config"
)

// newLogger logs text to stderr in development, because stdout has the welcome,
// and JSON to stdout in production.
func newLogger(c config.Config, stdout, stderr io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: sayUnit}
	if c.Development {
		return slog.New(quietly{slog.NewTextHandler(stderr, options), &away{}})
	}
	return slog.New(quietly{slog.NewJSONHandler(stdout, options), &away{}})
}

// sayUnit writes durations as in text, 1.5ms, where JSON would have a bare number.
func sayUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// withoutDatabase are words of errors that say that PostgreSQL can't be reached: ours, and
// those of River and pgx, which are logged as text.
var withoutDatabase = []string{
	"the database can't be reached", "no connection to PostgreSQL", "failed to connect to `", "driver: bad connection",
	"(SQLSTATE 57P01)", "(SQLSTATE 57P02)", "(SQLSTATE 57P03)", // it shuts down, crashed, starts
	"conn closed", "receive message failed", "write failed: write", "notifier.Notifier: Notifier unhealthy",
	"jobcompleter.BatchCompleter: Too many errors",
	"reelection deadline elapsed", // of River's leader
}

// unanswered are words of errors of a server that accepts what is sent and is silent. Mail
// servers and receivers of webhooks have them, too, so they count only in what the package db
// or one of River's loops says.
var (
	unanswered = []string{"deadline exceeded", "i/o timeout"}
	riverLoop  = regexp.MustCompile(`^[\w.]+(?:\[.*\])?: [A-Z]`)
)

// quietly drops the errors of what a shutdown cancels, which River logs for its own loops
// as failures. While PostgreSQL is away or silent it lets one line a second say so: each loop of
// River's, each request and each probe would have its own. The next line of any kind, a second
// later, says how many were left out.
type quietly struct {
	slog.Handler
	away *away
}

// away is when PostgreSQL was last said to be away, and how many lines were left out since.
type away struct {
	mu      sync.Mutex
	said    time.Time
	leftOut int
}

// Handle drops or writes a record.
func (h quietly) Handle(ctx context.Context, r slog.Record) error {
	cancelled, away := false, saysAway(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "err" {
			text := a.Value.String() // River logs errors as text
			cancelled = cancelled || strings.HasSuffix(text, context.Canceled.Error())
			away = away || saysAway(text) || saysSilent(r.Message, text)
		}
		return !cancelled
	})
	if cancelled {
		return nil
	}
	leftOut, ok := h.away.say(r.Time, away)
	if !ok {
		return nil
	}
	if leftOut > 0 {
		r.AddAttrs(slog.Int("lines_left_out", leftOut))
	}
	return h.Handler.Handle(ctx, r)
}

func saysAway(text string) bool { return hasOneOf(text, withoutDatabase) }

func saysSilent(message, text string) bool {
	return (strings.Contains(text, "db: ") || riverLoop.MatchString(message)) && hasOneOf(text, unanswered)
}

func hasOneOf(text string, all []string) bool {
	return slices.ContainsFunc(all, func(words string) bool { return strings.Contains(text, words) })
}

// say reports whether a line can be written, which is of PostgreSQL being away or not, and how
// many lines it has to say were left out.
func (a *away) say(now time.Time, away bool) (leftOut int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.said) < time.Second {
		if away {
			a.leftOut++
		}
		return 0, !away
	}
	if away {
		a.said = now
	}
	leftOut, a.leftOut = a.leftOut, 0
	return leftOut, true
}

// WithAttrs keeps the handler quiet.
func (h quietly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietly{h.Handler.WithAttrs(attrs), h.away}
}

// WithGroup keeps the handler quiet.
func (h quietly) WithGroup(name string) slog.Handler {
	return quietly{h.Handler.WithGroup(name), h.away}
}
