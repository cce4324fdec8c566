package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// line is a client that sends a part after each pause, over a connection with a deadline.
type line struct {
	http.ResponseWriter
	deadline time.Time
	part     int
	pause    time.Duration
}

func (l *line) SetReadDeadline(t time.Time) error {
	l.deadline = t
	return nil
}

func (l *line) Read([]byte) (int, error) {
	time.Sleep(min(l.pause, time.Until(l.deadline))) //nolint:forbidigo // on the clock of synctest
	if !time.Now().Before(l.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return l.part, nil
}

// cut is after how long of an hour the client is cut off, 0 if it isn't. busy is how long the
// service does something else after each part.
func (l *line) cut(busy time.Duration, crowded func() bool) time.Duration {
	body := &timedBody{ReadCloser: io.NopCloser(l), control: http.NewResponseController(l), limit: 30 * time.Second}
	body.restart()
	body.allowUpload()
	body.hurry(crowded)
	began := time.Now()
	for time.Since(began) < time.Hour {
		if _, err := body.Read(nil); errors.Is(err, ErrTooSlow) {
			return time.Since(began)
		}
		time.Sleep(busy) //nolint:forbidigo // on the clock of synctest
	}
	return 0
}

// TestUploadsKeepUpTheirRate (D86): 16 KiB a second, or 128 KiB while places are short.
func TestUploadsKeepUpTheirRate(t *testing.T) {
	t.Parallel()
	always, never := func() bool { return true }, func() bool { return false }
	tests := map[string]struct {
		part    int
		pause   time.Duration
		busy    time.Duration
		crowded func() bool
		from    time.Duration // when it is cut off
		to      time.Duration // 0 for never
	}{
		"keeps up":            {17 << 10, time.Second, 0, never, 0, 0},
		"too slow":            {15 << 10, time.Second, 0, never, 400 * time.Second, 500 * time.Second},
		"keeps up, crowded":   {130 << 10, time.Second, 0, always, 0, 0},
		"too slow, crowded":   {64 << 10, time.Second, 0, always, 55 * time.Second, 65 * time.Second},
		"silent after much":   {10 << 20, 31 * time.Second, 0, never, 30 * time.Second, 31 * time.Second},
		"pauses":              {1 << 20, 29 * time.Second, 0, never, 0, 0},
		"the service is busy": {16 << 10, time.Second / 2, time.Minute, never, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &line{ResponseWriter: httptest.NewRecorder(), part: tt.part, pause: tt.pause}
				if got := l.cut(tt.busy, tt.crowded); got < tt.from || got > tt.to {
					t.Errorf("cut off after %s, want %s to %s", got, tt.from, tt.to)
				}
			})
		})
	}
}

// TestHasteBeginsWhenPlacesAreShort: what arrived before buys half a minute, not more.
func TestHasteBeginsWhenPlacesAreShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &line{ResponseWriter: httptest.NewRecorder(), part: 32 << 10, pause: time.Second}
		got := l.cut(0, func() bool { return time.Since(began) > 10*time.Minute })
		if got < 10*time.Minute+30*time.Second || got > 11*time.Minute {
			t.Errorf("cut off after %s, want 40 s after ten minutes", got)
		}
	})
}
