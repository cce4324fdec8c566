package process

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// LinkOn returns a session's link on a web process that isn't at the base URL.
func LinkOn(p *Candor, s Session) string {
	return p.URL + s.SessionURL[strings.Index(s.SessionURL, "/f/"):]
}

// Customer fills in the form like a browser without JavaScript (D47).
type Customer struct {
	t      *testing.T
	Client *http.Client
	Form   string // address of the form, without the token
}

// OpenForm opens a session's link.
func OpenForm(t *testing.T, link string) *Customer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return OpenFormWith(t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, link)
}

// OpenFormWith is OpenForm with a client that keeps cookies and follows no redirect.
func OpenFormWith(t *testing.T, client *http.Client, link string) *Customer {
	t.Helper()
	c := &Customer{t: t, Client: client}
	status, form := c.send(http.MethodGet, link, "", nil)
	if status != http.StatusSeeOther || form == "" {
		t.Fatalf("the link returned %d to %q, want 303", status, form)
	}
	c.Form = form
	if status, _ := c.send(http.MethodGet, c.Form, "", nil); status != http.StatusOK {
		t.Fatalf("the form returned %d, want 200", status)
	}
	return c
}

// send returns the response's status and its Location.
func (c *Customer) send(method, to, contentType string, body io.Reader) (status int, location string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, to, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.Client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.t.Fatal(err)
	}
	if to, err := response.Location(); err == nil {
		location = to.String()
	}
	return response.StatusCode, location
}

// Complete posts a valid section.
func (c *Customer) Complete(section string) {
	c.t.Helper()
	c.Answer(section, statementtest.Values(section))
}

// Answer posts a section's values, nil for one without inputs.
func (c *Customer) Answer(section string, values url.Values) {
	c.t.Helper()
	if values == nil {
		values = url.Values{"action": {"continue"}}
	}
	status, _ := c.send(http.MethodPost, c.Form+"/"+section, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
	if status != http.StatusSeeOther {
		c.t.Fatalf("%s returned %d, want 303", section, status)
	}
}

// Upload sends a document.
func (c *Customer) Upload(name string, content []byte) {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range map[string]string{"category": "tax_return", "action": "upload"} {
		if err := w.WriteField(field, value); err != nil {
			c.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		c.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	status, _ := c.send(http.MethodPost, c.Form+"/documents", w.FormDataContentType(), &body)
	if status >= 400 {
		c.t.Fatalf("the upload returned %d", status)
	}
}

// Submit completes all seven sections.
func (c *Customer) Submit() {
	c.t.Helper()
	for _, section := range statement.SectionNames {
		c.Complete(section)
	}
}
