package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/tools/harness"
)

// browser keeps cookies and follows no redirects.
type browser struct {
	http.Client
	base, network string
	rate          int // bytes a second of attach; 0 for as many as it can
}

// answer is a response with its body.
type answer struct {
	status   int
	location string
	body     string
}

// unexpected is the error of a failed preparation.
func (a answer) unexpected(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s answered %d", what, a.status)
}

func (a *attack) newBrowser(network string) *browser {
	jar, _ := cookiejar.New(nil) // without options it never fails
	return &browser{
		Client: http.Client{
			Jar: jar, Timeout: 2 * time.Minute, Transport: &http.Transport{DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: "http://" + a.Addr, network: network,
	}
}

func (b *browser) send(ctx context.Context, method, path string, body io.Reader, header map[string]string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, b.base+path, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("X-Forwarded-For", b.network)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if size, ok := header["Content-Length"]; ok {
		_, err = fmt.Sscan(size, &request.ContentLength)
		if err != nil {
			return answer{}, err
		}
	}
	response, err := b.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("Location"), string(text)}, err
}

func (b *browser) get(ctx context.Context, path string) (answer, error) {
	return b.send(ctx, http.MethodGet, path, http.NoBody, nil)
}

func (b *browser) post(ctx context.Context, path string, values url.Values) (answer, error) {
	return b.send(ctx, http.MethodPost, path, strings.NewReader(values.Encode()), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
}

// attach uploads a file of that many bytes that begins with head.
func (b *browser) attach(ctx context.Context, path, category, name, head string, size int64) (answer, error) {
	const boundary = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	field := func(disposition, value string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value
	}
	before := field(`name="category"`, category+"\r\n") + field(`name="action"`, "upload\r\n") + field(fmt.Sprintf(`name="file"; filename=%q`, name), head)
	after := "\r\n--" + boundary + "--\r\n"
	zeros := io.LimitReader(zeroReader{ctx, b.rate}, size-int64(len(head)))
	return b.send(ctx, http.MethodPost, path, io.MultiReader(strings.NewReader(before), zeros, strings.NewReader(after)), map[string]string{
		"Content-Type":   "multipart/form-data; boundary=" + boundary,
		"Content-Length": fmt.Sprint(int64(len(before)) + size - int64(len(head)) + int64(len(after))),
	})
}

// zeroReader yields zeros, at most rate bytes a second if that isn't 0.
type zeroReader struct {
	ctx  context.Context
	rate int
}

func (r zeroReader) Read(p []byte) (int, error) {
	if r.rate > 0 {
		p = p[:min(len(p), max(1, r.rate/10))]
		pause(r.ctx, time.Duration(len(p))*time.Second/time.Duration(r.rate))
	}
	clear(p)
	return len(p), r.ctx.Err()
}

// customer is a browser that has opened a session's link.
type customer struct {
	*browser
	id, link string // link is the path with the secret
}

func (c *customer) path(section string) string { return "/f/" + c.id + "/" + section }

// newCustomer creates a session of the account under attack and opens its link.
func (a *attack) newCustomer(ctx context.Context, network string) (*customer, error) {
	return a.customerOf(ctx, a.Account, network)
}

// customerOf is newCustomer for another account.
func (a *attack) customerOf(ctx context.Context, account harness.Account, network string) (*customer, error) {
	partner := a.newBrowser(victimNetwork)
	got, err := partner.send(ctx, http.MethodPost, "/v1/sessions", strings.NewReader(`{"form_type":"financial_statement","customer_email":"sam@example.com"}`),
		map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + account.TestKey})
	if err != nil {
		return nil, err
	}
	var session struct {
		ID  string `json:"id"`
		URL string `json:"session_url"`
	}
	if err := json.Unmarshal([]byte(got.body), &session); err != nil || got.status != http.StatusCreated {
		return nil, fmt.Errorf("creating a session answered %d: %s", got.status, got.body)
	}
	at, err := url.Parse(session.URL)
	if err != nil {
		return nil, err
	}
	c := &customer{a.newBrowser(network), session.ID, at.Path}
	return c, c.open(ctx)
}

// open opens the link, and the form's first page after it.
func (c *customer) open(ctx context.Context) error {
	got, err := c.get(ctx, c.link)
	if err == nil && got.status == http.StatusSeeOther {
		got, err = c.get(ctx, got.location)
	}
	if err != nil || got.status != http.StatusOK {
		return got.unexpected("the link", err)
	}
	return nil
}

// fill completes the named sections with the example's answers after change.
func (c *customer) fill(ctx context.Context, change func(section string, values url.Values), sections ...string) error {
	for _, name := range sections {
		values := statementtest.Values(name)
		if name == statement.DocumentsSection {
			values = url.Values{"action": {"continue"}}
		}
		change(name, values)
		got, err := c.post(ctx, c.path(name), values)
		if err != nil || got.status != http.StatusSeeOther {
			return got.unexpected("section "+name, err)
		}
	}
	return nil
}
