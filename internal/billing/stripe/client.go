package stripe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	apiURL = "https://api.stripe.com"
	// apiVersion is the version of Stripe's API whose fields are read here. Stripe keeps
	// each version as it is.
	apiVersion = "2026-03-25.dahlia"
	// maxAnswer is far above a page of payments, in bytes.
	maxAnswer = 16 << 20
)

// client makes calls of Stripe's API (D119). It repeats none: its callers' callers do, which are
// the worker, Stripe's webhooks and people.
type client struct {
	http     http.Client
	url, key string
}

// apiError is a refused call, or why a payment failed. Message can name the card's holder.
type apiError struct {
	Type        string `json:"type"`
	Code        string `json:"code"`
	DeclineCode string `json:"decline_code"`
	Param       string `json:"param"`
	Message     string `json:"message"`

	status  int // of HTTP
	request string
}

// Error leaves out what names the card's holder.
func (e *apiError) Error() string { return fmt.Sprintf("HTTP %d %s %s", e.status, e.Type, e.Code) }

// paymentIntent is a payment.
type paymentIntent struct {
	ID               string            `json:"id"`
	Status           string            `json:"status"`
	Amount           int64             `json:"amount"`
	AmountReceived   int64             `json:"amount_received"`
	Metadata         map[string]string `json:"metadata"`
	LastPaymentError *apiError         `json:"last_payment_error"`
}

// paymentMethod is a stored card.
type paymentMethod struct {
	ID       string    `json:"id"`
	Created  int64     `json:"created"`
	Customer reference `json:"customer"`
	Card     *struct {
		Brand string `json:"brand"`
		Last4 string `json:"last4"`
	} `json:"card"`
}

// A reference is the id of another object. Stripe answers with the id or with the object.
type reference struct{ ID string }

// UnmarshalJSON reads either.
func (r *reference) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), `"`) {
		return json.Unmarshal(text, &r.ID)
	}
	return json.Unmarshal(text, (*struct{ ID string })(r))
}

// post creates something at path and reads it into out. Repeats with the same idempotency
// key ("" for none) create nothing more.
func (c *client) post(ctx context.Context, path, idempotencyKey string, params url.Values, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", idempotencyKey)
	}
	return c.do(r, out)
}

func (c *client) get(ctx context.Context, path string, params url.Values, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path+"?"+params.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	return c.do(r, out)
}

func (c *client) do(r *http.Request, out any) error {
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Stripe-Version", apiVersion)
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusOK {
		return json.Unmarshal(body, out)
	}
	var failed struct {
		Error apiError `json:"error"`
	}
	_ = json.Unmarshal(body, &failed) // a proxy's answer isn't JSON
	failed.Error.status, failed.Error.request = answer.StatusCode, answer.Header.Get("Request-Id")
	return &failed.Error
}

// payments are those of a customer since a moment, in seconds of Unix, newest first.
func (c *client) payments(ctx context.Context, customer string, since int64) iter.Seq2[paymentIntent, error] {
	return func(yield func(paymentIntent, error) bool) {
		params := url.Values{"customer": {customer}, "created[gte]": {strconv.FormatInt(since, 10)}, "limit": {"100"}}
		for {
			var page struct {
				Data    []paymentIntent `json:"data"`
				HasMore bool            `json:"has_more"`
			}
			err := c.get(ctx, "/v1/payment_intents", params, &page)
			if err == nil && page.HasMore && len(page.Data) == 0 {
				err = errors.New("a page of payments is empty, and there are more")
			}
			if err != nil {
				yield(paymentIntent{}, err)
				return
			}
			for _, intent := range page.Data {
				if !yield(intent, nil) {
					return
				}
				params.Set("starting_after", intent.ID)
			}
			if !page.HasMore {
				return
			}
		}
	}
}

func newClient(c Config) *client {
	return &client{http: http.Client{Timeout: callTimeout}, url: cmp.Or(c.APIURL, apiURL), key: c.SecretKey}
}
