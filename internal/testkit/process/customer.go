package process

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
)

// LinkOn returns a session's link on a web process that isn't at the base URL.
func LinkOn(p *Candor, s client.Session) string { return p.URL + s.Link() }

// Customer fills in the form like a browser without JavaScript (D47).
type Customer struct {
	t *testing.T
	*client.Client
	Form string // address of the form, without the token
}

// OpenForm opens a session's link.
func OpenForm(t *testing.T, link string) *Customer {
	t.Helper()
	return OpenFormWith(t, client.New(""), link)
}

// OpenFormWith is OpenForm in a browser.
func OpenFormWith(t *testing.T, browser *client.Client, link string) *Customer {
	t.Helper()
	form, _, err := browser.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	return &Customer{t, browser, form}
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
	a, err := c.Post(c.t.Context(), c.Form+"/"+section, values)
	if err != nil || a.Status != http.StatusSeeOther {
		c.t.Fatalf("%s returned %d (%v), want 303", section, a.Status, err)
	}
}

// Upload sends a document.
func (c *Customer) Upload(name string, content []byte) {
	c.t.Helper()
	body, header := client.Document("tax_return", name, content)
	a, err := c.Send(c.t.Context(), http.MethodPost, c.Form+"/documents", bytes.NewReader(body), header)
	if err != nil || a.Status >= http.StatusBadRequest {
		c.t.Fatalf("the upload returned %d (%v)", a.Status, err)
	}
}

// Submit completes all seven sections.
func (c *Customer) Submit() {
	c.t.Helper()
	for _, section := range statement.SectionNames {
		c.Complete(section)
	}
}
