package main

import (
	"context"
	"log/slog"
	"strings"
)

// newLogger writes text to stderr in development, where stdout is for people,
// and JSON to stdout in production.
func newLogger(c Config, p *process) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.Development {
		return slog.New(quietEnd{slog.NewTextHandler(p.stderr, options)})
	}
	return slog.New(quietEnd{slog.NewJSONHandler(p.stdout, options)})
}

// quietEnd leaves out the errors of what is cancelled when the process ends:
// River reports its own loops' as if something had gone wrong.
type quietEnd struct{ slog.Handler }

// Handle drops records whose error is context.Canceled.
func (h quietEnd) Handle(ctx context.Context, r slog.Record) error {
	cancelled := false
	r.Attrs(func(a slog.Attr) bool {
		// River logs the errors' texts.
		cancelled = cancelled || a.Key == "error" && strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !cancelled
	})
	if cancelled {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the handler quiet.
func (h quietEnd) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietEnd{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the handler quiet.
func (h quietEnd) WithGroup(name string) slog.Handler { return quietEnd{h.Handler.WithGroup(name)} }
