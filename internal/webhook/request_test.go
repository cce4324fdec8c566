package webhook

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func testRequest(url string) Request {
	return Request{
		URL: url, Body: []byte(testBody), DeliveryID: "0197c0de-0000-7000-8000-000000000001",
		Attempt: 1, Secrets: []string{testSecret},
	}
}

func TestHeaderFirstAttempt(t *testing.T) {
	t.Parallel()
	header, err := testRequest("https://example.com").Header(time.Unix(1767225600, 5e8))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
		"X-Webhook-Id", "X-Webhook-Signature", "X-Webhook-Timestamp",
	}
	if got := slices.Sorted(maps.Keys(header)); !slices.Equal(got, want) {
		t.Errorf("headers %v, want %v", got, want)
	}
	for name, value := range map[string]string{
		"Content-Type":        "application/json",
		"User-Agent":          "Candor-Webhooks/1",
		"X-Webhook-ID":        "0197c0de-0000-7000-8000-000000000001",
		"X-Webhook-Timestamp": "1767225600",
		"X-Webhook-Signature": Signature(testSecret, []byte(testBody)),
		"webhook-id":          "0197c0de-0000-7000-8000-000000000001",
		"webhook-timestamp":   "1767225600",
	} {
		if header.Get(name) != value {
			t.Errorf("%s = %q, want %q", name, header.Get(name), value)
		}
	}
}

func TestHeaderRetries(t *testing.T) {
	t.Parallel()
	first := time.Unix(1767225600, 0)
	for attempt, count := range map[int]string{2: "1", 7: "6"} {
		request := testRequest("https://example.com")
		request.Attempt, request.FirstAttemptAt = attempt, first
		header, err := request.Header(first.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"X-Webhook-Retry-Count":        count,
			"X-Webhook-Original-Timestamp": "1767225600",
			"X-Webhook-Timestamp":          "1767229200",
		} {
			if header.Get(name) != value {
				t.Errorf("attempt %d: %s = %q, want %q", attempt, name, header.Get(name), value)
			}
		}
	}
}

func TestHeaderRefusesIncompleteRequests(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Request){
		"no delivery id":         func(r *Request) { r.DeliveryID = "" },
		"line break in id":       func(r *Request) { r.DeliveryID = "a\r\nX-Evil: 1" },
		"dot in id":              func(r *Request) { r.DeliveryID = "a.b" },
		"attempt 0":              func(r *Request) { r.Attempt = 0 },
		"attempt 8":              func(r *Request) { r.Attempt, r.FirstAttemptAt = 8, time.Unix(1, 0) },
		"retry without original": func(r *Request) { r.Attempt = 2 },
		"no secret":              func(r *Request) { r.Secrets = nil },
	} {
		request := testRequest("https://example.com")
		spoil(&request)
		if header, err := request.Header(time.Unix(1, 0)); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v, %v, want ErrRequest", name, header, err)
		}
	}
}

// The published verification library is what receivers will use.
func TestHeaderVerifiesWithStandardWebhooks(t *testing.T) {
	t.Parallel()
	current, next := NewSecret(), NewSecret()
	request := testRequest("https://example.com")
	request.Secrets = []string{current, next}
	header, err := request.Header(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"current": current, "next": next} {
		if err := verify(t, secret, testBody, header); err != nil {
			t.Errorf("%s secret: %v", name, err)
		}
	}
	if err := verify(t, NewSecret(), testBody, header); err == nil {
		t.Error("verified with a foreign secret")
	}
	if err := verify(t, current, testBody+" ", header); err == nil {
		t.Error("verified a changed body")
	}
	if got, want := header.Get("X-Webhook-Signature"), Signature(current, []byte(testBody)); got != want {
		t.Errorf("X-Webhook-Signature = %s, want that of the current secret, %s", got, want)
	}
}

func verify(t *testing.T, secret, body string, header http.Header) error {
	t.Helper()
	receiver, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return receiver.Verify([]byte(body), header)
}
