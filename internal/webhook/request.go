package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// MaxAttempts is the highest number of attempts of a delivery (D34).
const MaxAttempts = 7

const userAgent = "Candor-Webhooks/1"

// ErrRequest says that a Request can't be sent. The fault is the caller's.
var ErrRequest = errors.New("webhook: incomplete request")

// Request is one attempt of a delivery.
type Request struct {
	// URL is the receiver's address.
	URL string
	// Body holds the bytes to send, the same at every attempt (D34).
	Body []byte
	// DeliveryID stays the same across attempts; receivers de-duplicate on it.
	DeliveryID string
	// Attempt counts from 1 to MaxAttempts.
	Attempt int
	// FirstAttemptAt is the start of attempt 1; needed from attempt 2 on.
	FirstAttemptAt time.Time
	// Secrets sign the delivery, the current one first. X-Webhook-Signature is
	// of the current one, webhook-signature of each (D35).
	Secrets []string
}

// Header returns the headers of the attempt when it starts at now: the
// contract's (D34), then those of Standard Webhooks (D35). It fails with
// ErrRequest or ErrSecret.
func (r Request) Header(now time.Time) (http.Header, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	standard, err := StandardSignature(r.Secrets, r.DeliveryID, now, r.Body)
	if err != nil {
		return nil, err
	}
	timestamp := unixSeconds(now)
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", userAgent)
	header.Set("X-Webhook-Signature", Signature(r.Secrets[0], r.Body))
	header.Set("X-Webhook-ID", r.DeliveryID)
	header.Set("X-Webhook-Timestamp", timestamp)
	if r.Attempt > 1 {
		header.Set("X-Webhook-Retry-Count", strconv.Itoa(r.Attempt-1))
		header.Set("X-Webhook-Original-Timestamp", unixSeconds(r.FirstAttemptAt))
	}
	header.Set("Webhook-ID", r.DeliveryID)
	header.Set("Webhook-Timestamp", timestamp)
	header.Set("Webhook-Signature", standard)
	return header, nil
}

func (r Request) check() error {
	switch {
	case !validDeliveryID(r.DeliveryID):
		return fmt.Errorf("%w: delivery id %q", ErrRequest, r.DeliveryID)
	case r.Attempt < 1 || r.Attempt > MaxAttempts:
		return fmt.Errorf("%w: attempt %d", ErrRequest, r.Attempt)
	case r.Attempt > 1 && r.FirstAttemptAt.IsZero():
		return fmt.Errorf("%w: a retry without the time of the first attempt", ErrRequest)
	case len(r.Secrets) == 0:
		return fmt.Errorf("%w: no secret", ErrRequest)
	}
	return nil
}

// validDeliveryID keeps out what would break a header, and the dot, which
// separates the parts of the signed text.
func validDeliveryID(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '.' {
			return false
		}
	}
	return id != ""
}

func unixSeconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
