package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/testkit/harness"
)

// TestSecurityText reads security.txt through a year: it is always valid for two months
// or more, and never for a year.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/security.txt"
	if answer := harness.New(t).SignedOut().Get(path); answer.Code != http.StatusNotFound {
		t.Errorf("without a contact: %d", answer.Code)
	}
	h := harness.New(t, func(c *handlers.Config) { c.SecurityContact = "mailto:security@candor.example" })
	for range 12 {
		h.Clock.Advance(31 * 24 * time.Hour)
		fields := map[string]string{}
		for line := range strings.Lines(h.SignedOut().Get(path).Body.String()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			fields[name] = value
		}
		expires, err := time.Parse(time.RFC3339, fields["Expires"])
		if left := expires.Sub(h.Clock.Now()); err != nil || left < 58*24*time.Hour || left > 100*24*time.Hour {
			t.Errorf("Expires %q is %v away (%v)", fields["Expires"], left, err)
		}
		if fields["Contact"] != "mailto:security@candor.example" || fields["Canonical"] != harness.BaseURL+path {
			t.Errorf("%v", fields)
		}
	}
}
