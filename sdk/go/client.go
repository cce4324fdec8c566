// Package candor calls Candor's API and reads its webhooks. It needs nothing but
// Go's standard library.
//
// A Client has a method for each operation of the API's reference. It sends a request
// again that can succeed later: after a broken connection, 408, 429, 5xx, while a PDF
// is being made, or a request with the same idempotency key runs. It waits as long as
// Retry-After says, else for a time that doubles. All tries of a POST have the same
// Idempotency-Key, so nothing is done twice.
package candor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Client calls the API with a key, from any goroutine. Change its fields before that.
type Client struct {
	HTTP    *http.Client  // its own Timeout, if it has one, must be more than 25 seconds
	Retries int           // of a request after its first try
	Backoff time.Duration // before the first retry, doubled for each further one up to half a minute
	Timeout time.Duration // of a try: until JSON is read, or until a file begins

	base      string
	authorize func(*http.Request) // not the key itself, which a log of the client would show
}

// New returns a client of the API at an address such as https://candor.example.
func New(address, key string) *Client {
	return &Client{
		// A redirect could lead the key elsewhere.
		HTTP:    &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Retries: 5, Backoff: 500 * time.Millisecond, Timeout: time.Minute,
		base:      strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1") + "/v1",
		authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) },
	}
}

// An Option changes a call.
type Option func(*call)

// IdempotencyKey names what a POST does, such as your application's id: for 24 hours
// it gets the same answer, in any process. Without it the call makes a key of its own; "" is no key.
func IdempotencyKey(key string) Option { return func(r *call) { r.key = key } }

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

// An Error is an answer of the API that isn't a success. Tell errors apart by Code,
// then by Status; messages can change.
type Error struct {
	Status     int
	Code       ErrorCode // "" if the answer isn't from the API, but from a proxy before it
	Message    string
	DocURL     string
	RequestID  string       // name it when you ask about the request
	Fields     []FieldError // what is wrong with which field, nil if none is
	RetryAfter time.Duration
}

// Error says what went wrong, with the request's id.
func (e *Error) Error() string {
	return fmt.Sprintf("candor: %d %s: %s (request %s)", e.Status, e.Code, e.Message, e.RequestID)
}

func (e *Error) temporary() bool {
	return e.Status == http.StatusAccepted || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests ||
		e.Status >= http.StatusInternalServerError || e.Code == CodeIdempotencyInProgress
}

// A File is a file of the API. Close it. Reading it fails if it was cut short.
type File struct {
	Name        string // without a folder; a customer can have chosen it
	ContentType string
	Size        int64 // in bytes, -1 if it isn't known

	body io.ReadCloser
	stop func()
}

// Read reads the file's bytes.
func (f *File) Read(into []byte) (int, error) { return f.body.Read(into) }

// Close ends the download.
func (f *File) Close() error {
	f.stop()
	return f.body.Close()
}

// call is a request of an operation, and what its answer is read into.
type call struct {
	method  string
	path    []string // its segments
	query   url.Values
	body    any
	options []Option
	key     string
	json    any   // nil if the answer is a file
	file    *File // set by the answer
}

// send calls an operation that answers with JSON.
func send[T any](ctx context.Context, c *Client, r *call) (*T, error) {
	out := new(T)
	r.json = out
	if err := c.do(ctx, r); err != nil {
		return nil, err
	}
	return out, nil
}

// download calls an operation that answers with a file.
func (c *Client) download(ctx context.Context, r *call) (*File, error) {
	err := c.do(ctx, r)
	return r.file, err
}

// decode reads JSON without making a float of a number that has no type.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func newFile(response *http.Response, stop func()) *File {
	_, params, _ := mime.ParseMediaType(response.Header.Get("Content-Disposition"))
	name := params["filename"]
	if name = name[strings.LastIndexAny(name, `/\`)+1:]; strings.Trim(name, ".") == "" {
		name = "download"
	}
	return &File{name, response.Header.Get("Content-Type"), response.ContentLength, response.Body, stop}
}

// broken is an error of the connection.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// do sends a request until it succeeds or a retry can't help.
func (c *Client) do(ctx context.Context, r *call) error {
	address := c.base
	for _, segment := range r.path {
		if strings.Trim(segment, ".") == "" {
			return fmt.Errorf("candor: %q is no id", segment)
		}
		address += "/" + url.PathEscape(segment)
	}
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var content []byte
	if r.body != nil {
		var err error
		if content, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("candor: write JSON: %w", err)
		}
	}
	r.key = rand.Text()
	for _, option := range r.options {
		option(r)
	}
	for attempt, began := 0, time.Now(); ; attempt++ {
		err := c.try(ctx, r, address, content)
		wait, again := c.pause(err, attempt, time.Since(began))
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

func (c *Client) try(ctx context.Context, r *call, address string, content []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.Timeout, func() { cancel(fmt.Errorf("no answer within %s", c.Timeout)) })
	stop := func() { timer.Stop(); cancel(nil) }
	request, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(content))
	if err != nil {
		stop()
		return fmt.Errorf("candor: %w", err)
	}
	c.authorize(request)
	request.Header.Set("User-Agent", "candor-go/"+version)
	if r.method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
		if r.key != "" {
			request.Header.Set("Idempotency-Key", r.key)
		}
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		stop()
		return broken{fmt.Errorf("candor: %w", err)}
	}
	if r.json == nil && response.StatusCode == http.StatusOK {
		timer.Stop()
		r.file = newFile(response, stop)
		return nil
	}
	defer stop()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return broken{fmt.Errorf("candor: read the answer: %w", err)}
	case r.json == nil || response.StatusCode >= 300:
		return newError(response, text)
	}
	return decode(text, r.json)
}

// pause says how long to wait before the next try, if there is one: of a file that is being made for a Timeout.
func (c *Client) pause(err error, attempt int, waited time.Duration) (wait time.Duration, again bool) {
	var answer *Error
	if errors.As(err, &answer) && answer.Status == http.StatusAccepted && answer.RetryAfter > 0 && c.Retries > 0 && waited < c.Timeout {
		return answer.RetryAfter, true
	}
	if err == nil || attempt >= c.Retries {
		return 0, false
	}
	wait = min(c.Backoff<<min(attempt, 10), 30*time.Second)
	wait = wait/2 + mathrand.N(wait/2+1)
	if answer != nil {
		return max(wait, answer.RetryAfter), answer.temporary() && answer.RetryAfter <= 2*time.Minute
	}
	return wait, errors.As(err, new(broken))
}

// newError reads an answer that is no success.
func newError(response *http.Response, text []byte) *Error {
	var body ErrorBody
	if json.Unmarshal(text, &body) != nil || body.Error.Code == "" {
		body.Error.Message = "The answer isn’t from Candor’s API. Is its address right?"
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	out := &Error{
		Status: response.StatusCode, Code: body.Error.Code, Message: body.Error.Message, DocURL: body.Error.DocURL,
		RequestID: response.Header.Get("X-Request-Id"), RetryAfter: time.Duration(min(max(0, seconds), 1<<20)) * time.Second,
	}
	if body.Error.Details != nil {
		out.Fields = body.Error.Details.Errors
	}
	return out
}

// query makes a query of pairs of a name and a value, without zero values.
func query(pairs ...any) url.Values {
	out := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		text := fmt.Sprint(pairs[i+1])
		if at, ok := pairs[i+1].(time.Time); ok {
			text = at.UTC().Format(time.RFC3339Nano)
		}
		if !reflect.ValueOf(pairs[i+1]).IsZero() {
			out.Set(pairs[i].(string), text)
		}
	}
	return out
}
