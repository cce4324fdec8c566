package candor

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrSignature says that a webhook isn't from Candor, or not from now. Answer 401.
var ErrSignature = errors.New("candor: the webhook's signature doesn't fit")

// Webhooks verifies webhooks. Change Tolerance before its first use.
type Webhooks struct {
	Tolerance time.Duration // between the webhook's time and now; five minutes by default

	keys [][]byte
}

// NewWebhooks takes the webhook secret, whsec_…, or while you change it both.
func NewWebhooks(secrets ...string) (*Webhooks, error) {
	w := &Webhooks{Tolerance: 5 * time.Minute}
	for _, secret := range secrets {
		encoded, prefixed := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !prefixed || len(key) < 24 {
			return nil, errors.New("candor: a webhook secret must be whsec_… as the dashboard shows it")
		}
		w.keys = append(w.keys, key)
	}
	if w.keys == nil {
		return nil, errors.New("candor: a webhook secret is missing")
	}
	return w, nil
}

// A Webhook is a verified one.
type Webhook struct {
	WebhookEvent

	DeliveryID string `json:"-"` // the same each time it is sent: drop one that you have had
}

// Read verifies a request. It reads the raw body, so nothing else may have read it.
func (w *Webhooks) Read(r *http.Request) (*Webhook, error) {
	content, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // a longer one fits no signature
	if err != nil {
		return nil, fmt.Errorf("candor: the webhook's body: %w", err)
	}
	return w.Verify(r.Header, content)
}

// Verify verifies a webhook by its headers and the bytes of its body as they came.
// The error is ErrSignature if a signature doesn't fit.
func (w *Webhooks) Verify(header http.Header, body []byte) (*Webhook, error) {
	id, sent := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if off := time.Since(time.Unix(seconds, 0)).Abs(); err != nil || len(sent) > 12 || off > w.Tolerance {
		return nil, fmt.Errorf("%w: its time %.20q is more than %s off", ErrSignature, sent, w.Tolerance)
	}
	fits := false
	for _, key := range w.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + sent + "."))
		mac.Write(body)
		wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for given := range strings.FieldsSeq(header.Get("webhook-signature")) {
			fits = hmac.Equal([]byte(given), wanted) || fits
		}
	}
	if !fits {
		return nil, ErrSignature
	}
	out := &Webhook{DeliveryID: id}
	if err := decode(body, &out.WebhookEvent); err != nil {
		return nil, err
	}
	return out, nil
}

// Payload returns the data as a pointer, such as *CompletedPayload, *ErasedPayload once
// the customer's data were erased. Of an unknown event it is a json.RawMessage.
func (e *WebhookEvent) Payload() (any, error) { return payload(e.Event, e.Data) }

// Payload is that of the webhook.
func (e *FeedEvent) Payload() (any, error) { return payload(e.Event, e.Data) }

func payload(of EventType, data json.RawMessage) (any, error) {
	out := newPayload(of)
	if out == nil {
		return data, nil
	}
	if bytes.Contains(data, []byte(`"data_erased_at"`)) {
		out = new(ErasedPayload)
	}
	return out, json.Unmarshal(data, out)
}
