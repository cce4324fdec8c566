package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// While PostgreSQL is away a line a second says so; the next line, of whatever it is, has the
// number of those left out. An error that only quotes the word is no such line.
func TestAwayLinesAreCountedToTheLast(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handler := quietly{slog.NewTextHandler(&out, nil), &away{}}
	began := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	for _, line := range []struct {
		after time.Duration
		text  string
		err   error
		want  string // "" for none
	}{
		{0, "job failed", errors.New("FATAL: terminating connection (SQLSTATE 57P01)"), `msg="job failed"`},
		{time.Millisecond, "job failed", errors.New("failed to connect to `host=db1`"), ""},
		{2 * time.Millisecond, "job failed", errors.New("the mail server says FATAL: mailbox full"), "mailbox full"},
		{3 * time.Millisecond, "job failed", errors.New("driver: bad connection"), ""},
		{4 * time.Millisecond, "request", nil, "msg=request"},
		{5 * time.Millisecond, "producer: Error fetching jobs", context.DeadlineExceeded, ""},
		{6 * time.Millisecond, "find due deliveries", fmt.Errorf("db: find due: %w", context.DeadlineExceeded), ""},
		{7 * time.Millisecond, "job failed", fmt.Errorf("mail: %w", os.ErrDeadlineExceeded), "mail: i/o timeout"},
		{time.Second, "request", nil, "msg=request lines_left_out=4"},
		{2 * time.Second, "request", nil, "msg=request"},
	} {
		out.Reset()
		record := slog.NewRecord(began.Add(line.after), slog.LevelInfo, line.text, 0)
		if line.err != nil {
			record.AddAttrs(slog.Any("error", line.err))
		}
		if err := handler.Handle(context.Background(), record); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); !strings.Contains(got, line.want) || (got == "") != (line.want == "") ||
			strings.Contains(got, "left_out") != strings.Contains(line.want, "left_out") {
			t.Errorf("after %s: %q, want %q", line.after, got, line.want)
		}
	}
}
