package dashboard_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/page"
	"candor/internal/webhook"
)

// An outageWalk is a receiver that can fail, with a worker that delivers to it.
type outageWalk struct {
	*harness.Harness
	hook    *hooktest.Receiver
	down    atomic.Int64 // the status it answers with; 0 for 200
	session *domain.Session
	other   *domain.Session // whose events go nowhere
}

func newOutageWalk(t *testing.T, h *harness.Harness) *outageWalk {
	t.Helper()
	w := &outageWalk{Harness: h}
	w.hook = hooktest.NewReceiver(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
		if status := w.down.Load(); status > 0 {
			rw.WriteHeader(int(status))
		}
	})
	client := webhook.NewClient(webhook.Policy{Development: true})
	schedule, err := webhook.ParseSchedule("0s,2h")
	h.OK(err)
	d := delivery.New(delivery.Config{DB: h.DB, Ring: h.Service.Webhooks.Ring, Client: client, Schedule: schedule,
		Clock:  h.Clock.Now,
		Logger: slog.New(slog.DiscardHandler), PollEvery: 20 * time.Millisecond, RescueAfter: time.Minute})
	d.Start()
	t.Cleanup(func() { d.Stop(t.Context()); client.Close() })
	w.session = h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: w.hook.URL})
	w.other = h.NewSession(h.TestScope(), domain.NewSession{})
	return w
}

// events records n events to the receiver, with one that goes nowhere after each, and waits until
// no delivery to the receiver is due.
func (w *outageWalk) events(n int) {
	w.Helper()
	for range n {
		w.RecordEvent(w.session, domain.PDFReadyPayload{SessionID: w.session.ID})
		w.RecordEvent(w.other, domain.PDFReadyPayload{SessionID: w.other.ID})
	}
	w.quiet()
}

// quiet waits until everything due was attempted.
func (w *outageWalk) quiet() {
	w.Helper()
	testkit.Await(w, "deliveries are still due", func() (quiet bool) {
		w.OK(w.DB.Raw().GetContext(w.Context(), &quiet,
			`SELECT NOT EXISTS (SELECT FROM delivery WHERE url = $1 AND next_attempt_at <= $2)`, w.hook.URL, w.Clock.Now()))
		return quiet
	})
}

// log is what the receiver had: the last answer to each number.
func (w *outageWalk) log() (numbers map[int64]int) {
	w.Helper()
	numbers = map[int64]int{}
	for _, r := range w.hook.Requests() {
		numbers[r.Sequence]++
	}
	return numbers
}

// outagePage reads the outage's page, and checks that each number from its first to its
// last is there once.
func (w *outageWalk) outagePage(s *harness.StaffBrowser, path string, first, last int64, want ...string) *page.Page {
	w.Helper()
	states, next, shown := map[int64]string{}, path, (*page.Page)(nil)
	for next != "" {
		p := s.WantPage(s.Get(next), http.StatusOK, want...)
		if shown == nil {
			shown = p
		}
		for _, row := range p.All("tr") {
			var from, to int64
			cells := row.All("td")
			if len(cells) == 0 {
				continue
			}
			number := strings.ReplaceAll(cells[0].Text(), ",", "")
			if n, _ := fmt.Sscanf(number, "%d to %d", &from, &to); n == 1 {
				to = from
			}
			for n := from; n <= to; n++ {
				if states[n] != "" {
					w.Errorf("%s has %d twice", next, n)
				}
				states[n] = cells[2].Text()
			}
		}
		next = ""
		for _, a := range p.All("a") {
			if a.Text() == "Older" {
				next = a.Attr("href")
			}
		}
	}
	had := w.log()
	for n := first; n <= last; n++ {
		if (states[n] == "Not for this endpoint") != (had[n] == 0) || states[n] == "" {
			w.Errorf("number %d is %q; the receiver had it %d times", n, states[n], had[n])
		}
	}
	if len(states) != int(last-first+1) {
		w.Errorf("the page has %d numbers, want %d to %d", len(states), first, last)
	}
	return shown
}

// TestOutage walks an outage with a real receiver (D137): it fails, fails again, answers
// again, and what was left is sent at once. The page is true at each stage, its numbers are
// those that the receiver had, and it takes two clicks from Home.
func TestOutage(t *testing.T) {
	t.Parallel()
	w := newOutageWalk(t, harness.New(t, withTestEvents(t)))
	developer := w.Staff(domain.RoleDeveloper)
	w.events(2)
	first := harness.QueryOne[int64](w.Harness, `SELECT max(sequence) + 1 FROM event`)
	w.Clock.Advance(time.Minute)
	w.down.Store(503)
	w.events(20)
	last := first + 38

	home := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK, "20 failed attempts")
	path := home.Link("Open outage")
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK).LeadsTo(path)
	events := fmt.Sprintf("Events %d to %d: ", first, last)
	w.outagePage(developer, path, first, last, "Going on", "still going on", events+"0 of 20 confirmed, 20 waiting.", "20 × 503",
		"19 between").Offers("Send everything undelivered now")

	w.down.Store(500)
	w.Clock.Advance(121 * time.Minute) // the second and last attempts
	w.quiet()
	w.outagePage(developer, path, first, last, "Going on", events+"0 of 20 confirmed, 20 given up.", "20 × 500, 20 × 503")

	w.down.Store(0)
	w.events(1)
	shown := w.outagePage(developer, path, first, last, "Not all confirmed", events+"0 of 20 confirmed, 20 given up.").
		Hides("still going on")
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK, "Outage of 20 November 2026").LeadsTo(path)
	forms := shown.Forms()
	send := forms[len(forms)-1]
	for _, f := range forms {
		if strings.HasSuffix(f.Action, "/send") {
			send = f
		}
	}
	developer.Post(send.Action, send.Values())
	made, err := w.Service.Webhooks.Redeliveries(t.Context(), w.TestScope())
	if err != nil || len(made) != 1 || made[0].Matched != 20 {
		t.Fatalf("started %+v, %v; want one of all 20", made, err)
	}
	developer.WantPage(developer.Get(path), http.StatusOK, "Show retry")
	w.Clock.Advance(time.Minute)
	for range 10 {
		stepRedelivery(w.Harness, made[0].ID)
		w.quiet()
	}
	w.outagePage(developer, path, first, last, "Over", events+"all 20 confirmed, the last at "+
		w.Clock.Now().In(domain.LoadTimeZone("Australia/Sydney")).Format("2 Jan 2006, 3:04 pm")).Lacks(
		"Send everything undelivered now")
	for n, times := range w.log() {
		if want := map[bool]int{true: 3, false: 1}[n >= first && n <= last]; times != want {
			t.Errorf("the receiver had number %d %d times, want %d", n, times, want)
		}
	}

	w.Clock.Advance(time.Hour)
	w.down.Store(502)
	w.events(1)
	again := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK).Link("Open outage")
	if again == path {
		t.Error("an outage an hour later is the same one")
	}
	developer.WantPage(developer.Get(again), http.StatusOK, ": 0 of 1 confirmed, 1 waiting.", "1 × 502")
	stranger := w.StaffOf(w.NewAccount("they@other.example", "starter").AccountID, domain.RoleOwner)
	if got := stranger.Get(path).Code; got != http.StatusNotFound {
		t.Errorf("another account gets %d", got)
	}
}

// TestOutageOfRemovedEvents: a number whose event was removed by retention is "No longer kept".
func TestOutageOfRemovedEvents(t *testing.T) {
	t.Parallel()
	w := newOutageWalk(t, harness.New(t, withTestEvents(t)))
	w.down.Store(503)
	w.events(3)
	developer := w.Staff(domain.RoleDeveloper)
	path := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK).Link("Open outage")
	states := func() (out []string) {
		for _, row := range developer.WantPage(developer.Get(path), http.StatusOK).Rows() {
			out = append(out, row[0]+" "+row[2])
		}
		return out
	}
	first := harness.QueryOne[int64](w.Harness, `SELECT first_sequence FROM outage`)
	rows := states()
	if len(rows) != 5 || rows[3] != fmt.Sprint(first+1, " Not for this endpoint") {
		t.Errorf("the page has %q", rows)
	}
	execSQL(w.Harness, `DELETE FROM event WHERE sequence < $1`, first+3)
	want := []string{fmt.Sprint(first+4, " Waiting"), fmt.Sprint(first+3, " Not for this endpoint"),
		fmt.Sprintf("%d to %d No longer kept", first, first+2)}
	if got := states(); !slices.Equal(got, want) {
		t.Errorf("the page has %q, want %q", got, want)
	}
}

// TestOutageEndsWithItsEndpoint: an outage of an endpoint that nothing is sent to any more
// isn't going on, and says why.
func TestOutageEndsWithItsEndpoint(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	scope, hooks, developer := h.TestScope(), h.Service.Webhooks, h.Staff(domain.RoleDeveloper)
	h.OK(hooks.SetDefaultURL(t.Context(), scope, harness.Operator, "https://default.example/hook"))
	other := h.NewEndpoint(scope, "https://other.example/hook")
	session := h.NewSession(scope, domain.NewSession{})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := h.DB.Deliveries(t.Context(), session.ID)
	h.OK(err)
	paths := map[domain.EndpointID]string{}
	own := sentTo(h, "https://own.example/hook")
	for _, d := range append(deliveries, *own) {
		attemptedNow(h, &d, domain.DeliveryPending)
		outages, err := h.DB.Outages(t.Context(), []domain.EndpointID{d.EndpointID}, 1)
		h.OK(err)
		paths[d.EndpointID] = "/dashboard/test/webhooks/outages/" + outages[d.EndpointID][0].ID.String()
	}
	first := deliveries[0].EndpointID // the default one
	if first == other {
		first = deliveries[1].EndpointID
	}
	goesOn := func(id domain.EndpointID) {
		t.Helper()
		developer.WantPage(developer.Get(paths[id]), http.StatusOK, "Going on", ", still going on", "Not yet")
	}
	ended := func(id domain.EndpointID, why string) {
		t.Helper()
		developer.WantPage(developer.Get(paths[id]), http.StatusOK, ": "+why, "Not: "+why).Hides("Going on", "still going on")
	}
	h.Clock.Advance(time.Hour)
	for id := range paths {
		goesOn(id)
	}
	developer.Post("/dashboard/test/webhooks/endpoints/"+other.String()+"/pause", nil)
	ended(other, "the endpoint was paused")
	developer.WantPage(developer.Get("/dashboard/test/webhooks/endpoints/"+other.String()), http.StatusOK,
		": the endpoint was paused,")
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK).LeadsTo(paths[other])
	developer.Post("/dashboard/test/webhooks/endpoints/"+other.String()+"/resume", nil)
	goesOn(other)
	h.OK(hooks.DeleteEndpoint(t.Context(), scope, other, harness.Operator))
	ended(other, "the endpoint was deleted")
	h.OK(hooks.DeleteEndpoint(t.Context(), scope, first, harness.Operator))
	ended(first, "its URL was removed")
	goesOn(own.EndpointID)
	h.Clock.Advance(8 * 24 * time.Hour)
	developer = h.Staff(domain.RoleDeveloper)
	ended(own.EndpointID, "nothing was sent since")
}

// TestBrowserOutage looks at an outage's page, from Home.
func TestBrowserOutage(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t, withTestEvents(t))
	w := newOutageWalk(t, h)
	w.down.Store(503)
	w.events(4)
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test")
	tab.Click(".needs-you .button[href*=outages]")
	tab.WaitForText("main", "4 waiting")
	view(tab, "outage-going-on")
	w.down.Store(0)
	w.events(1)
	tab.WaitForText("main", "Not all confirmed") // by itself
	tab.Click("form[action$=send] button")
	tab.WaitForText("#announcement", "Retry started")
	view(tab, "outage-sending")
	made, err := w.Service.Webhooks.Redeliveries(t.Context(), w.TestScope())
	h.OK(err)
	for range 3 {
		stepRedelivery(h, made[0].ID)
		w.quiet()
	}
	tab.WaitForText("main", "all 4 confirmed")
	view(tab, "outage-over")
	tab.Open(base + "/dashboard/test/webhooks")
	for _, part := range []string{"td.is-number", "a[href*=outages]"} {
		tab.WaitForTrue(fmt.Sprintf("document.querySelector('#endpoints %s').checkVisibility()", part))
	}
	view(tab, "webhooks-recovered")
}
