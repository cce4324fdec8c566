package form_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// maxFirstVisit is what the first page with its style and script may weigh on
// the wire, in bytes.
const maxFirstVisit = 40 << 10

// compressed asks as a browser does and returns what came over the wire.
func compressed(t *testing.T, send func(*http.Request) *httptest.ResponseRecorder, path string) (wire int, plain string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", "gzip, deflate, br")
	got := send(r)
	if got.Code != http.StatusOK {
		t.Fatalf("%s answered %d", path, got.Code)
	}
	wire = got.Body.Len()
	if got.Header().Get("Content-Encoding") != "gzip" {
		return wire, got.Body.String()
	}
	z, err := gzip.NewReader(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return wire, string(b)
}

func TestFirstVisitIsLight(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	total, hub := compressed(t, c.Send, c.Path(""))
	t.Logf("%6d bytes  the hub (%d plain)", total, len(hub))
	files := page.Read(t, hub).Loads("/static/")
	if len(files) != 3 {
		t.Fatalf("the hub loads %v, want its style, script and icon: four requests in all", files)
	}
	for _, file := range files {
		wire, plain := compressed(t, c.Serve, file)
		t.Logf("%6d bytes  %s (%d plain)", wire, file, len(plain))
		total += wire
	}
	if total > maxFirstVisit {
		t.Errorf("a first visit weighs %d bytes, want at most %d", total, maxFirstVisit)
	}
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Get(""), http.StatusOK)
	for _, file := range page.Loads("/static/") {
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest(http.MethodGet, file, nil)
			r.Header.Set("Accept-Encoding", encoding)
			h := c.Serve(r).Result().Header
			if h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("Vary") != "Accept-Encoding" ||
				h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: headers %v, want immutable, Vary and nosniff", file, h)
			}
			if got := h.Get("Content-Encoding"); got != encoding && got != "" {
				t.Errorf("%s: encoding %q, asked for %q", file, got, encoding)
			}
			if h.Get("Content-Type") == "" || h.Get("Content-Type") == "application/gzip" {
				t.Errorf("%s: content type %q", file, h.Get("Content-Type"))
			}
		}
	}
}

// What 99 of 100 requests may take.
const (
	pageBudget = 5 * time.Millisecond
	saveBudget = 10 * time.Millisecond
)

// BenchmarkForm measures whole requests, Postgres included, one at a time, and
// reports their budgets beside the times. doc/form.md has its figures.
func BenchmarkForm(b *testing.B) {
	c := harness.New(b).NewCustomer()
	c.AnswerAll()
	typing, n := loaded{Customer: c}, 0
	typing.read(c.WantPage(c.Get("assets"), http.StatusOK))
	typing.values.Set("action", "autosave")
	autosave := func() *httptest.ResponseRecorder {
		n++
		typing.values.Set("vehicles.0.value", strconv.Itoa(n))
		was := maps.Clone(typing.values)
		defer func() { typing.values.Set("was", was.Encode()) }()
		delete(was, "was")
		return c.Post("assets", typing.values)
	}
	steps := []struct {
		name   string
		budget time.Duration
		run    func() *httptest.ResponseRecorder
	}{
		{"hub", pageBudget, func() *httptest.ResponseRecorder { return c.Get("") }},
		{"assets", pageBudget, func() *httptest.ResponseRecorder { return c.Get("assets") }},
		{"check", pageBudget, func() *httptest.ResponseRecorder { return c.Get("declaration") }},
		{"save", saveBudget, func() *httptest.ResponseRecorder { return c.Post("assets", statementtest.Values("assets")) }},
		{"autosave", saveBudget, autosave},
	}
	for _, step := range steps {
		b.Run(step.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if got := step.run(); got.Code >= http.StatusBadRequest {
					b.Fatalf("answered %d", got.Code)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			inMilliseconds := func(d time.Duration, unit string) { b.ReportMetric(float64(d.Microseconds())/1000, unit) }
			inMilliseconds(times[len(times)/2], "p50-ms")
			inMilliseconds(times[len(times)*99/100], "p99-ms")
			inMilliseconds(step.budget, "p99-budget-ms")
		})
	}
}
