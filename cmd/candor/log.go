package main

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"candor/cmd/candor/config"
)

// newLogger logs text to stderr in development, because stdout has the welcome,
// and JSON to stdout in production.
func newLogger(c config.Config, stdout, stderr io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.Development {
		return slog.New(quietEnd{slog.NewTextHandler(stderr, options)})
	}
	return slog.New(quietEnd{slog.NewJSONHandler(stdout, options)})
}

// quietEnd drops the errors of what a shutdown cancels: River logs them for its own
// loops as failures.
type quietEnd struct{ slog.Handler }

// Handle drops records whose error is context.Canceled.
func (h quietEnd) Handle(ctx context.Context, r slog.Record) error {
	cancelled := false
	r.Attrs(func(a slog.Attr) bool {
		// River logs errors as text.
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
