package webhook

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The classes of a failed attempt.
const (
	ClassDNS           = "dns"            // the host name could not be looked up
	ClassConnect       = "connect"        // no TCP connection
	ClassTLS           = "tls"            // no TLS session, mostly a bad certificate
	ClassTimeout       = "timeout"        // connect, handshake or response took too long
	ClassRefusedTarget = "refused_target" // refused by the Policy, nothing was sent
	ClassStatus        = "status"         // answered, but not with 2xx
	ClassProtocol      = "protocol"       // connected, but no readable HTTP response
)

// keptResponse is how many bytes of a response are kept for the log (D37).
const keptResponse = 2 << 10

// maxRetryAfter bounds what a receiver can ask for.
const maxRetryAfter = 24 * time.Hour

// Result is the result of one attempt.
type Result struct {
	// StatusCode is the response's status, 0 without a response.
	StatusCode int
	// ErrorClass is empty for a delivered attempt, else one of the classes.
	ErrorClass string
	// Error is a sentence for the partner's log, without the URL, the address or
	// the receiver's text. It is empty if the attempt delivered.
	Error string
	// Response is the start of the response body, at most 2048 bytes of UTF-8
	// without NUL, fit for a text column.
	Response []byte
	// RequestHeader holds the headers that were sent, except Host and
	// Content-Length.
	RequestHeader http.Header
	// RetryAfter is what the receiver asked for, 0 to 24 hours.
	RetryAfter time.Duration
	// Duration is how long the attempt took.
	Duration time.Duration
	// StartedAt is the now given to Do, in UTC.
	StartedAt time.Time
	// Err is set if the attempt failed on our side: the request could not be built
	// (ErrRequest, ErrSecret) or the caller's context was cancelled. Don't count
	// such an attempt: it shows nothing about the receiver. ErrorClass is empty.
	Err error
}

// Delivered reports whether the receiver answered with 2xx, the only success (D37).
// The response counts even if its body was cut off.
func (r Result) Delivered() bool { return r.StatusCode >= 200 && r.StatusCode <= 299 }

// storable returns the start of a response body as valid UTF-8 without NUL,
// which PostgreSQL can't store, in at most keptResponse bytes.
func storable(raw []byte) []byte {
	text := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	if len(text) <= keptResponse {
		return text
	}
	end := keptResponse
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end:end]
}

// retryAfter reads seconds or an HTTP date (RFC 9110, 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	seconds, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// Wait is how long the receiver asked to wait before the next attempt: its
// Retry-After with status 429 or 503, else 0.
func (r Result) Wait() time.Duration {
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		return r.RetryAfter
	}
	return 0
}
