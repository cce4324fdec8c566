package harness

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/page"
)

// Customer is a browser without script: it keeps cookies and posts forms.
type Customer struct {
	*Harness
	ID        domain.SessionID
	Cookies   map[string]string
	From      string               // the address with its port; "" for that of httptest
	UserAgent string               // "" for none
	until     map[string]time.Time // when cookies with a Max-Age end
}

// NewCustomer opens a new session's link, up to the cookie.
func (h *Harness) NewCustomer() *Customer {
	h.Helper()
	return h.Customer(h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zoë O'Brien", ReferenceID: "LOAN-417"}))
}

// Customer opens a session's link in a new browser, up to the cookie.
func (h *Harness) Customer(session *domain.Session) *Customer {
	h.Helper()
	return h.CustomerAt(session, h.Link(session.ID))
}

// CustomerAt is Customer by another path of the session's link, as after a renewal.
func (h *Harness) CustomerAt(session *domain.Session, link string) *Customer {
	h.Helper()
	c := &Customer{Harness: h, ID: session.ID, Cookies: map[string]string{}}
	if got := c.Send(httptest.NewRequestWithContext(c.Context(), http.MethodGet, link, nil)); got.Code != http.StatusSeeOther {
		h.Fatalf("the link answered %d, want 303", got.Code)
	}
	return c
}

// Link is the path of the session's link.
func (h *Harness) Link(id domain.SessionID) string {
	return strings.TrimPrefix(h.Service.Sessions.URL(&domain.Session{ID: id}, true), BaseURL)
}

// Token is the secret of the session's link.
func (h *Harness) Token(id domain.SessionID) string { return h.Service.Ring.Token(id.String()) }

// OtherBrowser is a second tab of the same browser.
func (c *Customer) OtherBrowser() *Customer {
	other := *c
	other.Cookies, other.until = maps.Clone(c.Cookies), maps.Clone(c.until)
	return &other
}

// Send sends a request with the browser's cookies and keeps those of the response.
func (c *Customer) Send(r *http.Request) *httptest.ResponseRecorder {
	c.Helper()
	if c.From != "" {
		r.RemoteAddr = c.From
	}
	if c.UserAgent != "" {
		r.Header.Set("User-Agent", c.UserAgent)
	}
	for name, value := range c.Cookies {
		if until, ends := c.until[name]; !ends || c.Clock.Now().Before(until) {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	got := c.Serve(r)
	for _, cookie := range got.Result().Cookies() {
		c.Cookies[cookie.Name] = cookie.Value
		delete(c.until, cookie.Name)
		switch {
		case cookie.MaxAge < 0:
			delete(c.Cookies, cookie.Name)
		case cookie.MaxAge > 0:
			if c.until == nil {
				c.until = map[string]time.Time{}
			}
			c.until[cookie.Name] = c.Clock.Now().Add(time.Duration(cookie.MaxAge) * time.Second)
		}
	}
	return got
}

// Path is the address of a section, "" for the list of sections.
func (c *Customer) Path(section string) string {
	if section == "" {
		return "/f/" + c.ID.String()
	}
	return "/f/" + c.ID.String() + "/" + section
}

// Get asks for a section, or for the hub by "".
func (c *Customer) Get(section string) *httptest.ResponseRecorder {
	c.Helper()
	return c.Send(httptest.NewRequestWithContext(c.Context(), http.MethodGet, c.Path(section), nil))
}

// Post sends a section's form as its page would.
func (c *Customer) Post(section string, values url.Values) *httptest.ResponseRecorder {
	c.Helper()
	r := httptest.NewRequestWithContext(c.Context(), http.MethodPost, c.Path(section), strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.Send(r)
}

// Attach posts the documents page with a file, nil content for a form in
// which none was chosen.
func (c *Customer) Attach(category, name string, content []byte, action string) *httptest.ResponseRecorder {
	c.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	c.OK(w.WriteField("category", category))
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	header.Set("Content-Type", "application/octet-stream")
	part, err := w.CreatePart(header)
	c.OK(err)
	_, err = part.Write(content)
	c.OK(err)
	if action != "" {
		c.OK(w.WriteField("action", action))
	}
	c.OK(w.Close())
	r := httptest.NewRequestWithContext(c.Context(), http.MethodPost, c.Path(statement.DocumentsSection), &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return c.Send(r)
}

// Answer completes the named section with the full example's answers.
func (c *Customer) Answer(section string) {
	c.Helper()
	c.WantRedirect(c.Post(section, statementtest.Values(section)))
}

// AnswerAll completes every section but the declaration.
func (c *Customer) AnswerAll() {
	c.Helper()
	c.WantPage(c.Get(""), http.StatusOK)
	for _, name := range statement.SectionNames {
		if name != statement.DeclarationSection {
			c.Answer(name)
		}
	}
}

// Sign posts the declaration.
func (c *Customer) Sign() *httptest.ResponseRecorder {
	c.Helper()
	return c.Post(statement.DeclarationSection, statementtest.Values(statement.DeclarationSection))
}

// WantPage checks the status and returns the page.
func (c *Customer) WantPage(got *httptest.ResponseRecorder, status int) *page.Page {
	c.Helper()
	if got.Code != status {
		c.Fatalf("answered %d, want %d; body: %.3000s", got.Code, status, got.Body)
	}
	if kind := got.Header().Get("Content-Type"); kind != "text/html; charset=UTF-8" {
		c.Errorf("content type = %q, want a page", kind)
	}
	return page.Read(c, got.Body.String())
}

// WantRedirect checks for a 303 and returns where it leads inside the form.
func (c *Customer) WantRedirect(got *httptest.ResponseRecorder) string {
	c.Helper()
	if got.Code != http.StatusSeeOther {
		c.Fatalf("answered %d, want 303; body: %.3000s", got.Code, got.Body)
	}
	return strings.TrimPrefix(strings.TrimPrefix(got.Header().Get("Location"), c.Path("")), "/")
}

// Events lists the session's events: the type, of a section with its name.
func (c *Customer) Events() []string {
	c.Helper()
	events, err := c.DB.Events(c.Context(), c.ID)
	c.OK(err)
	var out []string
	for _, event := range events {
		var body struct {
			Data struct {
				Section           string `json:"section"`
				SectionsCompleted int    `json:"sections_completed"`
			} `json:"data"`
		}
		c.OK(json.Unmarshal(event.Body, &body))
		text := strings.TrimPrefix(string(event.Type), "session.")
		if body.Data.Section != "" {
			text += " " + body.Data.Section + " " + string(rune('0'+body.Data.SectionsCompleted))
		}
		out = append(out, text)
	}
	return out
}

// Status is the session's status as its partner sees it.
func (c *Customer) Status() domain.Status {
	c.Helper()
	session, err := c.Service.Sessions.Get(c.Context(), c.TestScope(), c.ID)
	c.OK(err)
	return session.Status
}
