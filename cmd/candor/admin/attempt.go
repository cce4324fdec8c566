package admin

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/form"
)

type shownAttempt struct {
	Number         int            `json:"number"`
	StartedAt      form.Timestamp `json:"started_at"`
	DurationMS     int64          `json:"duration_ms"`
	StatusCode     *int           `json:"status_code"`
	ErrorClass     *string        `json:"error_class"`
	Error          *string        `json:"error"`
	RequestHeaders http.Header    `json:"request_headers"`
	Response       *string        `json:"response"` // its first 2 KiB
}

func (a *shownAttempt) write(b *strings.Builder) {
	outcome := lastOutcome(nil, a.ErrorClass)
	if a.StatusCode != nil {
		outcome = fmt.Sprintf("%d %s", *a.StatusCode, http.StatusText(*a.StatusCode))
	}
	fmt.Fprintf(b, "\nAttempt %d  %s  %d ms  %s\n", a.Number, cli.Time(a.StartedAt), a.DurationMS, outcome)
	if a.Error != nil {
		fmt.Fprintf(b, "  %s\n", cli.Printable(*a.Error))
	}
	b.WriteString("  Request headers\n")
	for _, name := range slices.Sorted(maps.Keys(a.RequestHeaders)) {
		for _, value := range a.RequestHeaders[name] {
			fmt.Fprintf(b, "    %s: %s\n", name, cli.Printable(value))
		}
	}
	if a.Response != nil && *a.Response != "" {
		fmt.Fprintf(b, "  Response (first 2 KiB)\n%s\n", indented(*a.Response))
	}
}

func writeBody(b *strings.Builder, body string) {
	fmt.Fprintf(b, "\nBody (%d bytes)\n%s\n", len(body), indented(body))
}

// indented sets a text from outside apart from ours.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(cli.Printable(text), "\n"), "\n", "\n    ")
}
