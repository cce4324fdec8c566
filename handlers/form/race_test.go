package form_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// atOnce runs work n times at once and waits for all.
func atOnce(n int, work func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			work(i)
		})
	}
	close(start)
	all.Wait()
}

// count says how often story has each text that begins with prefix.
func count(story []string, prefix string) (n int) {
	for _, event := range story {
		if strings.HasPrefix(event, prefix) {
			n++
		}
	}
	return n
}

func TestTwentyTabsSubmitAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	tabs := make([]*harness.Customer, 20)
	for i := range tabs {
		tabs[i] = c.OtherBrowser()
	}
	answers := make([]*httptest.ResponseRecorder, len(tabs))
	atOnce(len(tabs), func(i int) { answers[i] = tabs[i].Sign() })
	var signed int
	for i, got := range answers {
		if got.Code == http.StatusSeeOther {
			signed++
			got = tabs[i].Get("")
		}
		tabs[i].WantPage(got, http.StatusOK).Shows("Your statement has been sent")
	}
	if signed != 1 {
		t.Errorf("%d tabs were told that they signed, want 1", signed)
	}
	story := c.Events()
	if count(story, "completed") != 1 || count(story, "section_completed declaration") != 1 || story[len(story)-1] != "completed" {
		t.Errorf("events = %q, want one completion, last", story)
	}
}

func TestTabsSaveAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	names := statement.SectionNames[:6]
	statuses := make([]int, 4*len(names))
	atOnce(len(statuses), func(i int) {
		name := names[i%len(names)]
		statuses[i] = c.OtherBrowser().Post(name, statementtest.Values(name)).Code
	})
	if slices.ContainsFunc(statuses, func(status int) bool { return status != http.StatusSeeOther }) {
		t.Errorf("answered %v, want 303 to all", statuses)
	}
	story := c.Events()
	if count(story, "accessed") != 1 || story[0] != "accessed" {
		t.Errorf("events = %q, want accessed once, first", story)
	}
	for i, name := range names {
		if count(story, "section_completed "+name) != 1 {
			t.Errorf("events = %q, want one for %s", story, name)
		}
		if !strings.HasSuffix(story[i+1], string(rune('1'+i))) {
			t.Errorf("event %d = %q, want it to count %d sections", i+1, story[i+1], i+1)
		}
	}
}

func TestCancelAgainstSubmit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	for range 12 {
		c := h.NewCustomer()
		c.AnswerAll()
		var submitted *httptest.ResponseRecorder
		var cancelErr error
		atOnce(2, func(i int) {
			if i == 0 {
				submitted = c.OtherBrowser().Sign()
				return
			}
			_, cancelErr = h.Service.Sessions.Cancel(t.Context(), h.TestScope(), c.ID, harness.Operator)
		})
		story := c.Events()
		if cancelErr == nil {
			c.WantPage(submitted, http.StatusGone).Shows("This statement is no longer needed")
			if c.Status() != domain.Cancelled || count(story, "completed") != 0 || slices.Contains(story,
				"section_completed declaration 7") {
				t.Errorf("cancelled, but status %s and events %q", c.Status(), story)
			}
			continue
		}
		if submitted.Code != http.StatusSeeOther || c.Status() != domain.Completed || count(story, "completed") != 1 {
			t.Errorf("cancel failed (%v), but submit answered %d, status %s, events %q", cancelErr, submitted.Code, c.Status(), story)
		}
	}
}

func TestExpiryAgainstSubmit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	for range 6 {
		c := h.NewCustomer()
		c.AnswerAll()
		end := h.Clock.Now().Add(domain.DefaultExpiresInDays * 24 * time.Hour)
		var submitted *httptest.ResponseRecorder
		h.Clock.Set(end.Add(-time.Millisecond))
		atOnce(2, func(i int) {
			if i == 0 {
				submitted = c.OtherBrowser().Sign()
				return
			}
			h.Clock.Set(end)
		})
		story := c.Events()
		if submitted.Code == http.StatusGone {
			c.WantPage(submitted, http.StatusGone).Shows("This link has expired")
			if c.Status() != domain.Expired || count(story, "completed") != 0 {
				t.Errorf("expired, but status %s and events %q", c.Status(), story)
			}
		} else if submitted.Code != http.StatusSeeOther || c.Status() != domain.Completed || count(story, "completed") != 1 {
			t.Errorf("submit answered %d, status %s, events %q", submitted.Code, c.Status(), story)
		}
	}
	late := h.NewCustomer()
	late.AnswerAll()
	h.Clock.Advance(domain.DefaultExpiresInDays * 24 * time.Hour)
	late.WantPage(late.Sign(), http.StatusGone).Shows("This link has expired")
	if got := late.Status(); got != domain.Expired {
		t.Errorf("status = %s, want expired", got)
	}
}
