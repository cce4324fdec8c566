package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

const (
	// uploadRate, in bytes a second, is what an upload must keep up: the largest file
	// arrives within 12 minutes, over a slow mobile line.
	uploadRate = 16 << 10
	// crowdedRate is uploadRate if others lack a place (D86).
	crowdedRate = 128 << 10
	// answerPart is how many bytes of an answer a client must take within
	// the limit.
	answerPart = 64 << 10
)

// ErrTooSlow ends a request whose body did not come in time.
var ErrTooSlow = domain.Errorf(domain.CodeRequestTimeout,
	"The request did not arrive in time. Try again over a faster connection.")

// LimitTime is the middleware that gives each request deadlines, so that no
// client holds a connection by sending nothing or by taking nothing. The limit
// is for a request's body and for each part of the answer.
func LimitTime(limit time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return next(withDeadlines(c, limit)) }
	}
}

func withDeadlines(c echo.Context, limit time.Duration) echo.Context {
	r, response := c.Request(), c.Response()
	control := http.NewResponseController(response.Writer)
	response.Writer = &timedWriter{response.Writer, control, limit}
	if r.Body != nil && r.Body != http.NoBody {
		body := &timedBody{ReadCloser: r.Body, control: control, limit: limit}
		body.restart()
		RequestOf(c).body, r.Body = body, body
	}
	return c
}

// timedBody is a request's body with a deadline. A connection that takes no
// deadline, as in tests, has none.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	limit   time.Duration

	// Of an upload:
	rate func() int64  // bytes that earn a further second; nil for other bodies
	left time.Duration // that the client may be late, at most limit
}

// Read fills p. At the body's end the deadline is lifted: net/http keeps
// reading to see the client go, and would end the request at the deadline.
func (b *timedBody) Read(p []byte) (int, error) {
	began := time.Now()
	if b.rate != nil {
		_ = b.control.SetReadDeadline(began.Add(b.left))
	}
	n, err := b.ReadCloser.Read(p)
	if b.rate != nil {
		earned := time.Duration(n) * time.Second / time.Duration(b.rate())
		b.left = min(b.left-time.Since(began)+earned, b.limit)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrTooSlow
	case errors.Is(err, io.EOF):
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// allowUpload lets the body take as long as it arrives at uploadRate or faster, but
// for the limit. Only the time counts in which the client is waited for.
func (b *timedBody) allowUpload() {
	if b != nil {
		b.rate, b.left = func() int64 { return uploadRate }, b.limit
	}
}

// hurry is allowUpload with crowdedRate while crowded is true.
func (b *timedBody) hurry(crowded func() bool) {
	if b != nil {
		b.rate = func() int64 {
			if crowded() {
				return crowdedRate
			}
			return uploadRate
		}
	}
}

// restart gives the rest of the body a new limit.
func (b *timedBody) restart() {
	if b != nil {
		b.rate = nil
		_ = b.control.SetReadDeadline(time.Now().Add(b.limit))
	}
}

// timedWriter is a response with a deadline for each part of it.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

func (w *timedWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.limit)) }

// WriteHeader sends the status.
func (w *timedWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write sends p part by part.
func (w *timedWriter) Write(p []byte) (written int, err error) {
	for first := true; first || len(p) > 0 && err == nil; first = false {
		part := p[:min(len(p), answerPart)]
		p = p[len(part):]
		w.extend()
		var n int
		n, err = w.ResponseWriter.Write(part)
		written += n
	}
	return written, err
}

// FlushError sends what is buffered.
func (w *timedWriter) FlushError() error {
	w.extend()
	return w.control.Flush()
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
