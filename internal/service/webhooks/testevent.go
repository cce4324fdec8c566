package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/audit"
	"candor/internal/webhook"
)

// TestEventLimit bounds the test events of an account, so that they can't be used to
// scan a network or to flood a receiver.
var TestEventLimit = ratelimit.Config{PerMinute: 10, Burst: 10, Keys: 10_000}

// testEventsAtOnce is how many test events of an account may be under way in
// one process.
const testEventsAtOnce = 2

// A TestEvent is a test event that was sent, with its result.
type TestEvent struct {
	DeliveryID domain.DeliveryID // a new one; there is no delivery with it
	URL        string
	Body       []byte
	Result     webhook.Result // with the request's headers; its Err is nil
}

var (
	errNoTestURL     = domain.Breaks(domain.CodeValidation, "url", form.Rule{Code: "test_url"})
	errTestsUnderWay = domain.Errorf(domain.CodeRateLimitExceeded,
		"Two test events of this account are under way. Wait for their answers, 15 seconds at most.")
)

// SendTestEvent sends an event of the type with example data to url, or for "" to an
// endpoint of test mode, nil for the default one, and returns request and response
// at once. It is signed with that endpoint's secrets, says livemode false and
// has the sequence 0: it is no event of the account, so it is neither numbered
// nor tried again, and only its result is stored, for TestEvent. A 2xx is that endpoint's
// first success, if it is its URL's; its health is otherwise told by deliveries. A receiver
// that fails is no error. The audit entry is written before it is sent.
func (s *Service) SendTestEvent(ctx context.Context, account domain.AccountID, by domain.Actor, endpoint *domain.EndpointID,
	url string, kind domain.EventType) (*TestEvent, error) {
	scope := domain.Scope{AccountID: account}
	if !slices.Contains(domain.EventTypes, kind) {
		return nil, domain.Breaks(domain.CodeValidation, "type", form.Rule{Code: "event_type"})
	}
	url, err := s.testURL(ctx, scope, endpoint, url)
	if err != nil {
		return nil, err
	}
	if !s.testEvents.begin(account) {
		return nil, errTestsUnderWay
	}
	defer s.testEvents.end(account)
	// The clock of the machine, as the limit is one of real time.
	if quota := s.TestLimiter.Take(account.String(), time.Now()); !quota.Allowed {
		return nil, domain.Busy(fmt.Sprintf("This account has sent %d test events within a minute.", quota.Limit), quota.RetryAfter)
	}
	secrets, err := s.signingSecrets(ctx, scope, endpoint)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	delivery := domain.NewDeliveryID()
	body, err := testBody(scope, kind, now)
	if err != nil {
		return nil, err
	}
	if err := s.RecordTestEvent(ctx, scope, by, url); err != nil {
		return nil, err
	}
	result := s.TestClient.Do(ctx, webhook.Request{URL: url, Body: body, DeliveryID: delivery.String(), Attempt: 1,
		Secrets: secrets}, now)
	if result.Err != nil {
		return nil, result.Err
	}
	s.Logger.InfoContext(ctx, "test event", "delivery_id", delivery, "account_id", account,
		"status", result.StatusCode, "error_class", result.ErrorClass, "duration", result.Duration)
	sent := &TestEvent{DeliveryID: delivery, URL: url, Body: body, Result: result}
	content, err := json.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("webhooks: test event: %w", err)
	}
	if err := s.DB.InsertTestEvent(ctx, delivery, account, content, now); err != nil || !result.Delivered() {
		return sent, err
	}
	if err := s.DB.AnsweredTest(ctx, scope, endpoint, url, now); err != nil {
		s.Logger.ErrorContext(ctx, "note the answer to a test event", "delivery_id", delivery, "error", err)
	}
	return sent, nil
}

// RecordTestEvent writes the audit entry of a test event to that URL.
func (s *Service) RecordTestEvent(ctx context.Context, scope domain.Scope, by domain.Actor, url string) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.record(ctx, tx, scope, nil, by, audit.Entry{Action: domain.AuditTestEvent,
			After: map[string]string{"url": urlMark(url)}})
	})
}

// TestEvent returns a test event that the account sent within
// domain.TestEventRetention, or not_found.
func (s *Service) TestEvent(ctx context.Context, account domain.AccountID, id domain.DeliveryID) (*TestEvent, error) {
	content, err := s.DB.TestEvent(ctx, id, account, s.Clock.Now().Add(-domain.TestEventRetention))
	if err != nil {
		return nil, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is no such test event. Results are kept for one hour."))
	}
	var sent TestEvent
	if err := json.Unmarshal(content, &sent); err != nil {
		return nil, fmt.Errorf("webhooks: test event: %w", err)
	}
	return &sent, nil
}

// testURL is where a test event goes, if that is allowed (D38).
func (s *Service) testURL(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID, url string) (string, error) {
	stored, err := s.DB.EndpointSecrets(ctx, scope, endpoint)
	if err != nil {
		return "", missing(err, endpoint)
	}
	if url == "" {
		if stored.URL == nil {
			return "", errNoTestURL
		}
		url = *stored.URL
	}
	err = s.Policy.CheckURL(url)
	if refused, ok := errors.AsType[*webhook.TargetError](err); ok {
		return "", domain.Breaks(domain.CodeValidation, "url", form.Rule{Code: "target", Value: refused.Message})
	}
	return url, err
}

// testBody is the type's example, about a session that doesn't exist and now.
func testBody(scope domain.Scope, kind domain.EventType, now time.Time) ([]byte, error) {
	example := kind.Info().Example
	session, data := domain.NewSessionID(), example.Data
	if done, ok := data.(domain.CompletedPayload); ok {
		done.CompletedAt, done.ReferenceID = form.At(now), new("TEST-EVENT")
		data = done
	}
	event, err := domain.NewEvent(scope, example.SessionID, 0, data, now)
	if err != nil {
		return nil, err
	}
	if example.SessionID == nil {
		return event.Body, nil
	}
	// The id stands in the data, too, and in the PDF's address.
	return bytes.ReplaceAll(event.Body, []byte(example.SessionID.String()), []byte(session.String())), nil
}

// inFlight counts the test events of each account that are under way. The zero
// value counts from none.
type inFlight struct {
	mu    sync.Mutex
	count map[domain.AccountID]int
}

func (f *inFlight) begin(account domain.AccountID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count[account] >= testEventsAtOnce {
		return false
	}
	if f.count == nil {
		f.count = map[domain.AccountID]int{}
	}
	f.count[account]++
	return true
}

func (f *inFlight) end(account domain.AccountID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[account]--
	if f.count[account] == 0 {
		delete(f.count, account)
	}
}
