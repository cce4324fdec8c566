//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
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

// client is one person or program. It keeps cookies and follows no redirects. After
// its first failure in a round it ends the round.
type client struct {
	*http.Client
	base   string
	key    string // of the API; "" for a browser
	record *record
}

func newClient(base, key string, r *record) *client {
	jar, _ := cookiejar.New(nil) // without options it never fails
	return &client{
		Client: &http.Client{
			Jar: jar, Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: base, key: key, record: r,
	}
}

// reply is a response that was read to its end.
type reply struct {
	status   int
	location string
	header   http.Header
	body     []byte
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
func (c *client) do(ctx context.Context, r request) (reply, bool) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		body = struct{ io.Reader }{bytes.NewReader(r.body)} // which no transport can send twice
	}
	path := r.path
	if !strings.HasPrefix(path, "http") {
		path = c.base + path
	}
	out, err := http.NewRequestWithContext(ctx, r.method, path, body)
	if err != nil {
		c.record.fail("%s: %v", r.kind, err)
		return reply{}, false
	}
	out.ContentLength = int64(len(r.body))
	out.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range map[string]string{"Content-Type": r.content, "Idempotency-Key": r.idempotency} {
		if value != "" {
			out.Header.Set(name, value)
		}
	}
	if c.key != "" {
		out.Header.Set("Authorization", "Bearer "+c.key)
	}
	start := time.Now()
	response, err := c.Do(out)
	if err != nil {
		c.record.fail("%s: %s %s: %v", r.kind, r.method, r.path, err)
		return reply{}, false
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	got := reply{status: response.StatusCode, header: response.Header, body: content}
	if to, err := response.Location(); err == nil {
		got.location = to.String()
	}
	if err != nil || !slices.Contains(r.want, got.status) {
		c.record.fail("%s: %s %s: %d, want %v: %v %.300s", r.kind, r.method, r.path, got.status, r.want, err, content)
		return got, false
	}
	c.record.note(r.kind, time.Since(start), r.waits)
	return got, true
}

// get reads a page or resource.
func (c *client) get(ctx context.Context, kind, path string, want ...int) (reply, bool) {
	if len(want) == 0 {
		want = []int{http.StatusOK}
	}
	return c.do(ctx, request{kind: kind, method: http.MethodGet, path: path, want: want})
}

// object reads a resource of the API.
func (c *client) object(ctx context.Context, kind, path string, to any) bool {
	got, ok := c.get(ctx, kind, path)
	return ok && c.decode(kind, path, got.body, to)
}

func (c *client) decode(kind, path string, body []byte, to any) bool {
	if err := json.Unmarshal(body, to); err != nil {
		c.record.fail("%s: %s: %v: %.300s", kind, path, err, body)
		return false
	}
	return true
}

// post sends a form.
func (c *client) post(ctx context.Context, kind, path string, values url.Values, want ...int) (reply, bool) {
	return c.do(ctx, request{
		kind: kind, method: http.MethodPost, path: path, content: "application/x-www-form-urlencoded", body: []byte(values.Encode()), want: want,
	})
}

// upload sends a document.
func (c *client) upload(ctx context.Context, form, name string, content []byte) bool {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	// Writing into memory doesn't fail.
	_ = w.WriteField("category", "tax_return")
	_ = w.WriteField("action", "upload")
	if part, err := w.CreateFormFile("file", name); err == nil {
		_, _ = part.Write(content)
	}
	_ = w.Close()
	_, ok := c.do(ctx, request{
		kind: "upload", method: http.MethodPost, path: form + "/documents", content: w.FormDataContentType(), body: body.Bytes(), want: []int{http.StatusOK, http.StatusSeeOther},
	})
	return ok
}
