package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// browser is one in a network.
type browser struct {
	*client.Client
	rate int // bytes a second of attach; 0 for as many as it can
}

// unexpected is the error of a failed preparation.
func unexpected(what string, a client.Answer, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s answered %d", what, a.Status)
}

func (a *attack) newBrowser(network string) *browser {
	c := client.New("http://" + a.Addr)
	c.Header["X-Forwarded-For"] = network
	c.HTTP.Transport = &http.Transport{DisableCompression: true}
	return &browser{Client: c}
}

// call makes a request with the account's test key.
func (b *browser) call(ctx context.Context, account client.Account, method, path, body string) (client.Answer, error) {
	header := map[string]string{"Authorization": "Bearer " + account.TestKey, "Sec-Fetch-Site": ""}
	var content io.Reader = http.NoBody
	if body != "" {
		content, header["Content-Type"] = strings.NewReader(body), "application/json"
	}
	return b.Send(ctx, method, path, content, header)
}

// newSession is the body of the request that creates a session.
const newSession = `{"form_type":"financial_statement","customer_email":"sam@example.com"}`

// create creates a session.
func (b *browser) create(ctx context.Context, account client.Account, body string) (session client.Session, err error) {
	got, err := b.call(ctx, account, http.MethodPost, "/v1/sessions", body)
	if err != nil || got.Status != http.StatusCreated {
		return session, unexpected("creating a session", got, err)
	}
	return session, json.Unmarshal(got.Body, &session)
}

// owner is a signed-in owner.
func (a *attack) owner(ctx context.Context, account client.Account, network string) (*browser, error) {
	b := a.newBrowser(network)
	if got, err := b.signIn(ctx, account.Email, account.Password); err != nil || got.Status != http.StatusSeeOther {
		return nil, unexpected("signing in", got, err)
	}
	return b, nil
}

// attach uploads a file of that many bytes that begins with head.
func (b *browser) attach(ctx context.Context, path, category, name, head string, size int64) (client.Answer, error) {
	const boundary = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	field := func(disposition, value string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value
	}
	before := field(`name="category"`, category+"\r\n") + field(`name="action"`, "upload\r\n") +
		field(fmt.Sprintf(`name="file"; filename=%q`, name), head)
	after := "\r\n--" + boundary + "--\r\n"
	zeros := io.LimitReader(zeroReader{ctx, b.rate}, size-int64(len(head)))
	return b.Send(ctx, http.MethodPost, path, io.MultiReader(strings.NewReader(before), zeros, strings.NewReader(after)),
		map[string]string{
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
		harness.Pause(r.ctx, time.Duration(len(p))*time.Second/time.Duration(r.rate))
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
func (a *attack) customerOf(ctx context.Context, account client.Account, network string) (*customer, error) {
	session, err := a.newBrowser(victimNetwork).create(ctx, account, newSession)
	if err != nil {
		return nil, err
	}
	c := &customer{a.newBrowser(network), session.ID, session.Link()}
	return c, c.open(ctx)
}

// open opens the link, and the form's first page after it.
func (c *customer) open(ctx context.Context) error {
	_, _, err := c.Open(ctx, c.link)
	return err
}

// fill completes the named sections with the example's answers after change.
func (c *customer) fill(ctx context.Context, change func(section string, values url.Values), sections ...string) error {
	for _, name := range sections {
		values := statementtest.Values(name)
		if name == statement.DocumentsSection {
			values = url.Values{"action": {"continue"}}
		}
		change(name, values)
		got, err := c.Post(ctx, c.path(name), values)
		if err != nil || got.Status != http.StatusSeeOther {
			return unexpected("section "+name, got, err)
		}
	}
	return nil
}

// awaitPDF asks for the PDF for 20 seconds, or until it is there.
func (c *customer) awaitPDF(ctx context.Context) (got client.Answer, err error) {
	harness.Eventually(ctx, 20*time.Second, func() bool {
		got, err = c.Get(ctx, c.path("pdf"))
		return err != nil || got.Status == http.StatusOK
	})
	return got, err
}
