// Package fuzz sends generated requests to the API, the form and the dashboard,
// and fails on any that is answered by a fault of ours, or by something else than
// the API's document says. Requests to the API are made of the document, the
// others of the links and forms that pages have, so a new endpoint, field or form
// is tried without a change here.
package fuzz

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

var (
	lasting = flag.Duration("for", 0, "how long to send requests; 0 for a few")
	seed    = flag.Uint64("seed", 1, "of the generated requests")
)

// known are differences that are there, and are left for now, by a part of what is
// told of them. Keep the list empty.
var known []*regexp.Regexp

type fuzzer struct {
	*harness.Harness
	rng        *rand.Rand
	doc        *openapi3.T
	ids        map[string][]string
	restricted string
	other      domain.AccountID // whose dashboard is walked
	requests   int
	told       map[string]bool
}

func TestFuzz(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1000, Burst: 1000, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	h := harness.New(t, func(c *handlers.Config) {
		c.Webhooks.TestClient, c.Webhooks.TestLimiter = webhook.NewClient(webhook.Policy{}), limiter
		c.Webhooks.EndWaits() // a request that waits for events is answered at once
	})
	f := &fuzzer{
		Harness: h, rng: rand.New(rand.NewPCG(*seed, 0)), doc: harness.Described.Load(t, h.Handler),
		ids: map[string][]string{}, restricted: h.RestrictedKey(domain.Permissions{domain.SessionsRead}),
		other: h.NewAccount("other@lender.example", "professional").AccountID, told: map[string]bool{},
	}
	f.seedSessions()
	customer, staff := f.visitForm(), f.visitDashboard()
	start, counts := time.Now(), map[string]int{}
	for f.requests < 600 || time.Since(start) < *lasting {
		f.Clock.Advance(time.Second)
		before, part := f.requests, ""
		switch n := f.rng.IntN(100); {
		case n < 50:
			part = "API"
			f.callAPI()
		case n < 75:
			part = "form"
			if chance(f.rng, 2) {
				customer = f.visitForm()
			}
			f.step(customer)
		default:
			part = "dashboard"
			if chance(f.rng, 2) {
				staff = f.visitDashboard()
			}
			f.step(staff)
		}
		counts[part] += f.requests - before
		f.wantNoErrorLogged()
		if len(f.told) >= 20 {
			t.Fatalf("20 differences after %d requests; the rest isn't tried", f.requests)
		}
	}
	t.Logf("%d requests in %s: %v", f.requests, time.Since(start).Round(time.Second), counts)
}

// seedSessions stores a session in each state.
func (f *fuzzer) seedSessions() {
	f.OK(f.Service.Accounts.ChangeSettings(f.Context(), f.Account.AccountID, harness.Operator,
		func(s *accounts.Settings) { s.Languages = []string{"vi", "zh-Hans"} }))
	pending := f.NewSession(f.TestScope(), domain.NewSession{})
	opened := f.NewSession(f.TestScope(), domain.NewSession{})
	f.Open(opened.ID)
	completed := f.NewSession(f.TestScope(), domain.NewSession{})
	f.Open(completed.ID)
	f.Upload(completed.ID, "payslip.pdf")
	f.Complete(completed.ID)
	f.StorePDF(completed.ID, harness.PDFOf(5000))
	documents := f.Get("/sessions/" + completed.ID.String() + "/data").WantStatus(http.StatusOK).
		Object()["data"].(map[string]any)["documents"].([]any)
	f.ids["doc"] = []string{documents[0].(map[string]any)["id"].(string)}
	f.ids["sess"] = []string{pending.ID.String(), opened.ID.String(), completed.ID.String()}
}

// differs fails the test on a difference that isn't known, once for each kind.
func (f *fuzzer) differs(what, format string, args ...any) {
	f.Helper()
	said := fmt.Sprintf(format, args...)
	for _, one := range known {
		if one.MatchString(said) {
			return
		}
	}
	kind := regexp.MustCompile(`[0-9a-z_]{20,}|\d+`).ReplaceAllString(said, "…")
	if f.told[kind] {
		return
	}
	f.told[kind] = true
	f.Errorf("request %d of seed %d: %s\n%s", f.requests, *seed, what, said)
}

var errorLogged = regexp.MustCompile(`(?m)^.*"level":"ERROR".*$`)

func (f *fuzzer) wantNoErrorLogged() {
	if line := errorLogged.FindString(f.Logs.String()); line != "" {
		f.differs("(see the request before)", "logged: %.600s", line)
	}
	f.Logs.Clear()
}
