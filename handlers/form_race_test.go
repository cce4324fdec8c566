package handlers_test

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
	c := newBench(t).newCustomer()
	c.answerAll()
	tabs := make([]*customer, 20)
	for i := range tabs {
		tabs[i] = c.again()
	}
	answers := make([]*httptest.ResponseRecorder, len(tabs))
	atOnce(len(tabs), func(i int) { answers[i] = tabs[i].sign() })
	var signed int
	for i, got := range answers {
		if got.Code == http.StatusSeeOther {
			signed++
			got = tabs[i].get("")
		}
		shows(t, tabs[i].page(got, http.StatusOK), "Your statement has been sent")
	}
	if signed != 1 {
		t.Errorf("%d tabs were told that they signed, want 1", signed)
	}
	story := c.story()
	if count(story, "completed") != 1 || count(story, "section_completed declaration") != 1 || story[len(story)-1] != "completed" {
		t.Errorf("events = %q, want one completion, last", story)
	}
}

func TestTabsSaveAtOnce(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	names := statement.SectionNames[:6]
	statuses := make([]int, 4*len(names))
	atOnce(len(statuses), func(i int) {
		name := names[i%len(names)]
		statuses[i] = c.again().post(name, statementtest.Values(name)).Code
	})
	if slices.ContainsFunc(statuses, func(status int) bool { return status != http.StatusSeeOther }) {
		t.Errorf("answered %v, want 303 to all", statuses)
	}
	story := c.story()
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
	b := newBench(t)
	for range 12 {
		c := b.newCustomer()
		c.answerAll()
		var submitted *httptest.ResponseRecorder
		var cancelErr error
		atOnce(2, func(i int) {
			if i == 0 {
				submitted = c.again().sign()
				return
			}
			_, cancelErr = b.service.Sessions.Cancel(t.Context(), b.testScope(), c.id, someone)
		})
		story := c.story()
		if cancelErr == nil {
			shows(t, c.page(submitted, http.StatusGone), "This statement is no longer needed")
			if c.status() != domain.Cancelled || count(story, "completed") != 0 || slices.Contains(story, "section_completed declaration 7") {
				t.Errorf("cancelled, but status %s and events %q", c.status(), story)
			}
			continue
		}
		if submitted.Code != http.StatusSeeOther || c.status() != domain.Completed || count(story, "completed") != 1 {
			t.Errorf("cancel failed (%v), but submit answered %d, status %s, events %q", cancelErr, submitted.Code, c.status(), story)
		}
	}
}

func TestExpiryAgainstSubmit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	for range 6 {
		c := b.newCustomer()
		c.answerAll()
		end := b.clock.Now().Add(domain.DefaultExpiresInDays * 24 * time.Hour)
		var submitted *httptest.ResponseRecorder
		b.clock.set(end.Add(-time.Millisecond))
		atOnce(2, func(i int) {
			if i == 0 {
				submitted = c.again().sign()
				return
			}
			b.clock.set(end)
		})
		story := c.story()
		if submitted.Code == http.StatusGone {
			shows(t, c.page(submitted, http.StatusGone), "This link has expired")
			if c.status() != domain.Expired || count(story, "completed") != 0 {
				t.Errorf("expired, but status %s and events %q", c.status(), story)
			}
		} else if submitted.Code != http.StatusSeeOther || c.status() != domain.Completed || count(story, "completed") != 1 {
			t.Errorf("submit answered %d, status %s, events %q", submitted.Code, c.status(), story)
		}
	}
	late := b.newCustomer()
	late.answerAll()
	b.clock.advance(domain.DefaultExpiresInDays * 24 * time.Hour)
	shows(t, late.page(late.sign(), http.StatusGone), "This link has expired")
	if got := late.status(); got != domain.Expired {
		t.Errorf("status = %s, want expired", got)
	}
}

// TestDoubleClickKeepsTheCopy is a second submit whose first answer, cookie
// and all, the browser threw away.
func TestDoubleClickKeepsTheCopy(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.answerAll()
	impatient := c.again()
	c.redirects(c.sign())
	shows(t, impatient.page(impatient.sign(), http.StatusOK), "Your statement has been sent", "Keep a copy")
	shows(t, impatient.page(impatient.get(""), http.StatusOK), "Keep a copy")
	slow := c.again()
	delete(slow.cookies, "__Secure-candor_form")
	slow.redirects(slow.send(httptest.NewRequest(http.MethodGet, slow.link(slow.id), nil)))
	c.clock.advance(2 * time.Minute)
	hides(t, slow.page(slow.sign(), http.StatusOK), "Keep a copy")
}
