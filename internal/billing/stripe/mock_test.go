package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"candor/internal/billing"
	"candor/internal/billing/stripe"
	"candor/internal/billing/stripe/stripetest"
	"candor/internal/domain"
	"candor/internal/testkit"
)

// stub is loaded once: it is 8 MB.
var stub = sync.OnceValues(func() (*server.StubServer, error) {
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	return server.NewStubServer(fixtures, spec, false, false)
})

// newMock starts Stripe's published mock server. It checks each request
// against Stripe's description of its API, and responds with examples.
// answered counts its responses.
func newMock(t *testing.T) (url string, answered func() map[string]int) {
	t.Helper()
	stub, err := stub()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	statuses := map[string]int{}
	mock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		stub.HandleRequest(recorder, r)
		mu.Lock()
		statuses[r.Method+" "+r.URL.Path] = recorder.Code
		mu.Unlock()
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
	t.Cleanup(mock.Close)
	return mock.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return statuses
	}
}

func TestStripeUnderstandsEachCall(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	url, answered := newMock(t)
	account := &domain.Account{ID: domain.NewAccountID(), Name: "Lender & Sons", BillingEmail: "bills@lender.example"}
	known := &customers{account: account.ID}
	p := stripe.New(stripe.Config{SecretKey: "sk_test_123", WebhookSecret: stripetest.WebhookSecret, APIURL: url, Customers: known})

	page, err := p.CardPage(t.Context(), account, "https://candor.example/ok", "https://candor.example/no")
	if err != nil || !strings.HasPrefix(page, "https://checkout.stripe.com/") || known.known.ID == "" {
		t.Errorf("the card's page is %q, %v, the customer %q", page, err, known.known.ID)
	}
	known.known.MethodID = "pm_1"
	invoice := &domain.Invoice{ID: domain.NewInvoiceID(), AccountID: account.ID, PeriodStart: now, Number: 42, IssuedAt: now,
		Total: 12_345, Currency: "AUD"}
	outcome, err := p.Charge(t.Context(), invoice)
	if err != nil || outcome.State != billing.Failed || outcome.Reason == "" {
		t.Errorf("the example payment, which wants a card, gave %+v, %v", outcome, err)
	}
	body := stripetest.Event("evt_1", "setup_intent.succeeded", stripetest.Example("setup_intent", stripetest.Object{
		"id": "seti_1", "metadata": stripetest.Object{"account_id": account.ID.String()},
	}))
	event, err := p.Event(t.Context(), body, stripetest.Sign(body, stripetest.WebhookSecret, now), now)
	if err != nil || event.Kind != billing.EventIgnored {
		t.Errorf("the example of a setup, which hasn't succeeded, gave %+v, %v", event, err)
	}

	got := answered()
	for _, call := range []string{
		"POST /v1/customers", "POST /v1/checkout/sessions", "GET /v1/payment_intents", "POST /v1/payment_intents",
		"GET /v1/setup_intents/seti_1",
	} {
		if got[call] != http.StatusOK {
			t.Errorf("Stripe's mock answered %s with %d", call, got[call])
		}
	}
}

// The test above proves nothing unless the mock refuses what Stripe's API
// doesn't know.
func TestStripesMockRefusesNonsense(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	url, _ := newMock(t)
	for body, want := range map[string]int{
		"amount=12345&currency=aud":                http.StatusOK,
		"amount=12345":                             http.StatusBadRequest,
		"amount=much&currency=aud":                 http.StatusBadRequest,
		"amount=12345&currency=aud&off_peak=false": http.StatusBadRequest,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/payment_intents", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer sk_test_123")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s was answered with %s, want %d", body, response.Status, want)
		}
	}
}
