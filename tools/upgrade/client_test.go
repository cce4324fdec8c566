//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"candor/internal/testkit/client"
)

// record counts requests and keeps what failed.
type record struct {
	mu       sync.Mutex
	requests map[string]int
	longest  map[string]time.Duration
	failures []string
	last     time.Time     // of a success
	pause    time.Duration // the longest one between two successes
	phase    string
}

func newRecord() *record {
	return &record{requests: map[string]int{}, longest: map[string]time.Duration{}, last: time.Now()}
}

// enter begins a phase, which failures are told with.
func (r *record) enter(phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = phase
}

func (r *record) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, r.phase+": "+fmt.Sprintf(format, args...))
}

// failed are the failures so far.
func (r *record) failed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

func (r *record) note(kind string, took time.Duration, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[kind]++
	if waits {
		return
	}
	r.longest[kind] = max(r.longest[kind], took)
	now := time.Now()
	r.pause = max(r.pause, now.Sub(r.last))
	r.last = now
}

// person is one person or program. After the first failure in a round it ends the round.
type person struct {
	*client.Client
	record *record
}

// newPerson returns a partner's program, or with the key "" a browser.
func newPerson(base, key string, r *record) *person {
	c := client.New(base)
	if key != "" {
		c = client.NewPartner(base, key)
	}
	c.HTTP.Timeout, c.HTTP.Transport = time.Minute, &http.Transport{MaxIdleConnsPerHost: 4}
	return &person{c, r}
}

// request is what is sent.
type request struct {
	kind, method, path string
	content            string // type of the body
	body               []byte
	idempotency        string
	want               []int // statuses
	waits              bool  // for an event, so that its time says nothing
}

// do sends a request, and fails the record unless its status is wanted.
func (c *person) do(ctx context.Context, r request) (client.Answer, bool) {
	var body io.Reader = http.NoBody
	header := map[string]string{"Content-Type": r.content, "Idempotency-Key": r.idempotency}
	if r.body != nil {
		body = struct{ io.Reader }{bytes.NewReader(r.body)} // which no transport can send twice
		header["Content-Length"] = strconv.Itoa(len(r.body))
	}
	start := time.Now()
	got, err := c.Send(ctx, r.method, r.path, body, header)
	if err != nil || !slices.Contains(r.want, got.Status) {
		c.record.fail("%s: %s %s: %d, want %v: %v %.300s", r.kind, r.method, r.path, got.Status, r.want, err, got.Body)
		return got, false
	}
	c.record.note(r.kind, time.Since(start), r.waits)
	return got, true
}

// get reads a page or resource.
func (c *person) get(ctx context.Context, kind, path string, want ...int) (client.Answer, bool) {
	if len(want) == 0 {
		want = []int{http.StatusOK}
	}
	return c.do(ctx, request{kind: kind, method: http.MethodGet, path: path, want: want})
}

// object reads a resource of the API.
func (c *person) object(ctx context.Context, kind, path string, to any) bool {
	got, ok := c.get(ctx, kind, path)
	return ok && c.decode(kind, path, got.Body, to)
}

func (c *person) decode(kind, path string, body []byte, to any) bool {
	if err := json.Unmarshal(body, to); err != nil {
		c.record.fail("%s: %s: %v: %.300s", kind, path, err, body)
		return false
	}
	return true
}

// post sends a form.
func (c *person) post(ctx context.Context, kind, path string, values url.Values, want ...int) (client.Answer, bool) {
	return c.do(ctx, request{
		kind: kind, method: http.MethodPost, path: path, content: client.FormHeader["Content-Type"], body: []byte(values.Encode()),
		want: want,
	})
}

// upload sends a document.
func (c *person) upload(ctx context.Context, form, name string, content []byte) bool {
	body, header := client.Document("tax_return", name, content)
	_, ok := c.do(ctx, request{
		kind: "upload", method: http.MethodPost, path: form + "/documents", content: header["Content-Type"], body: body,
		want: []int{http.StatusOK, http.StatusSeeOther},
	})
	return ok
}
