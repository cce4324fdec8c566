package handlers_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// customer is a browser without script: it keeps cookies and posts forms.
type customer struct {
	*bench
	id      domain.SessionID
	cookies map[string]string
}

// newCustomer opens a new session's link, up to the cookie.
func (b *bench) newCustomer() *customer {
	b.Helper()
	return b.customer(b.newSession(b.testScope(), domain.NewSession{CustomerName: "Zoë O'Brien", ReferenceID: "LOAN-417"}))
}

func (b *bench) customer(session *domain.Session) *customer {
	b.Helper()
	c := &customer{bench: b, id: session.ID, cookies: map[string]string{}}
	if got := c.send(httptest.NewRequest(http.MethodGet, b.link(session.ID), nil)); got.Code != http.StatusSeeOther {
		b.Fatalf("the link answered %d, want 303", got.Code)
	}
	return c
}

// link is the path of the session's link.
func (b *bench) link(id domain.SessionID) string {
	return strings.TrimPrefix(b.service.Sessions.URL(id), baseURL)
}

// token is the secret of the session's link.
func (b *bench) token(id domain.SessionID) string { return b.service.Ring.Token(id.String()) }

// again is a second tab of the same browser.
func (c *customer) again() *customer {
	other := &customer{bench: c.bench, id: c.id, cookies: map[string]string{}}
	for name, value := range c.cookies {
		other.cookies[name] = value
	}
	return other
}

func (c *customer) send(r *http.Request) *httptest.ResponseRecorder {
	c.Helper()
	for name, value := range c.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	got := c.serve(r)
	for _, cookie := range got.Result().Cookies() {
		c.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(c.cookies, cookie.Name)
		}
	}
	return got
}

func (c *customer) path(section string) string {
	if section == "" {
		return "/f/" + c.id.String()
	}
	return "/f/" + c.id.String() + "/" + section
}

// get asks for a section, or for the hub by "".
func (c *customer) get(section string) *httptest.ResponseRecorder {
	c.Helper()
	return c.send(httptest.NewRequest(http.MethodGet, c.path(section), nil))
}

func (c *customer) post(section string, values url.Values) *httptest.ResponseRecorder {
	c.Helper()
	r := httptest.NewRequest(http.MethodPost, c.path(section), strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.send(r)
}

// attach posts the documents page with a file, nil content for a form in
// which none was chosen.
func (c *customer) attach(category, name string, content []byte, action string) *httptest.ResponseRecorder {
	c.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	c.ok(w.WriteField("category", category))
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	header.Set("Content-Type", "application/octet-stream")
	part, err := w.CreatePart(header)
	c.ok(err)
	_, err = part.Write(content)
	c.ok(err)
	if action != "" {
		c.ok(w.WriteField("action", action))
	}
	c.ok(w.Close())
	r := httptest.NewRequest(http.MethodPost, c.path(statement.DocumentsSection), &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return c.send(r)
}

// answer completes the named section with the full example's answers.
func (c *customer) answer(section string) {
	c.Helper()
	c.redirects(c.post(section, statementtest.Values(section)))
}

// answerAll completes every section but the declaration.
func (c *customer) answerAll() {
	c.Helper()
	c.page(c.get(""), http.StatusOK)
	for _, name := range statement.SectionNames {
		if name != statement.DeclarationSection {
			c.answer(name)
		}
	}
}

// sign posts the declaration.
func (c *customer) sign() *httptest.ResponseRecorder {
	c.Helper()
	return c.post(statement.DeclarationSection, statementtest.Values(statement.DeclarationSection))
}

// page checks the status and returns the page.
func (c *customer) page(got *httptest.ResponseRecorder, status int) string {
	c.Helper()
	if got.Code != status {
		c.Fatalf("answered %d, want %d; body: %.3000s", got.Code, status, got.Body)
	}
	if kind := got.Header().Get("Content-Type"); kind != "text/html; charset=UTF-8" {
		c.Errorf("content type = %q, want a page", kind)
	}
	return got.Body.String()
}

// redirects checks for a 303 and returns where it leads inside the form.
func (c *customer) redirects(got *httptest.ResponseRecorder) string {
	c.Helper()
	if got.Code != http.StatusSeeOther {
		c.Fatalf("answered %d, want 303; body: %.3000s", got.Code, got.Body)
	}
	return strings.TrimPrefix(strings.TrimPrefix(got.Header().Get("Location"), c.path("")), "/")
}

// shows fails the test unless page has every text.
func shows(t testing.TB, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page doesn't show %q", text)
		}
	}
}

// hides fails the test if page has any of the texts.
func hides(t testing.TB, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("the page shows %q", text)
		}
	}
}

// story lists the session's events: the type, of a section with its name.
func (c *customer) story() []string {
	c.Helper()
	events, err := c.db.Events(c.Context(), c.id)
	c.ok(err)
	var out []string
	for _, event := range events {
		var body struct {
			Data struct {
				Section           string `json:"section"`
				SectionsCompleted int    `json:"sections_completed"`
			} `json:"data"`
		}
		c.ok(json.Unmarshal(event.Body, &body))
		text := strings.TrimPrefix(string(event.Type), "session.")
		if body.Data.Section != "" {
			text += " " + body.Data.Section + " " + string(rune('0'+body.Data.SectionsCompleted))
		}
		out = append(out, text)
	}
	return out
}

// status is the session's status as its partner sees it.
func (c *customer) status() domain.Status {
	c.Helper()
	session, err := c.service.Sessions.Get(c.Context(), c.testScope(), c.id)
	c.ok(err)
	return session.Status
}
