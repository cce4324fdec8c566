package dashboard_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/live"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// stream is an open page's stream.
type stream struct {
	h      *harness.Harness
	status int
	header http.Header
	said   chan string // messages but beats; closed at the end
	stop   func()
}

// follows opens a stream as a page does. One that is open has heard what changed before.
func follows(h *harness.Harness, base string, s *harness.StaffBrowser, path string) *stream {
	h.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/dashboard/"+path, nil)
	h.OK(err)
	r.Header.Set("Accept", "text/html, text/event-stream")
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", base+"/dashboard/test/sessions?status=pending")
	r.Header.Set("Candor-By-Itself", "1")
	for name, value := range s.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	h.OK(err)
	out := &stream{h: h, status: response.StatusCode, header: response.Header, said: make(chan string, 1000), stop: stop}
	begun := make(chan struct{})
	begins := sync.OnceFunc(func() { close(begun) })
	go func() {
		defer response.Body.Close()
		defer close(out.said)
		defer begins()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			switch name, is := strings.CutPrefix(lines.Text(), "event: "); {
			case is && name == "beat":
				begins()
			case is:
				out.said <- name
			}
		}
	}()
	<-begun
	return out
}

// next is the stream's next message, "" at its end.
func (s *stream) next() string {
	s.h.Helper()
	select {
	case name := <-s.said:
		return name
	case <-time.After(time.Minute):
		s.h.Fatal("the stream says nothing")
		return ""
	}
}

// hears waits for the messages, in any order and as often as they come.
func (s *stream) hears(names ...string) {
	s.h.Helper()
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	for len(wanted) > 0 {
		delete(wanted, s.next())
	}
}

// heard are the messages that have come.
func (s *stream) heard() (out []string) {
	for {
		select {
		case name, open := <-s.said:
			if !open {
				return out
			}
			out = append(out, name)
		default:
			return out
		}
	}
}

// onHTTP is the browser on a server without TLS, whose cookies have other names.
func onHTTP(s *harness.StaffBrowser) *harness.StaffBrowser {
	s.Cookies = map[string]string{"candor_staff": s.Cookies[staffCookie]}
	return s
}

// settled returns once the process hears announcements, so that no stream is told to
// look because some may have been missed.
func settled(h *harness.Harness, base string) {
	h.Helper()
	s := follows(h, base, onHTTP(h.Staff(domain.RoleOwner)), "test/live?on=invoice")
	defer s.stop()
	// The first message may say that something may have been missed, the second that
	// what was announced before has come.
	for range 2 {
		for heard := false; !heard; {
			h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
				tx.Announce(h.TestScope(), domain.InvoiceChanged, nil)
				return nil
			}))
			select {
			case <-s.said:
				heard = true
			case <-time.After(2 * time.Second):
			}
		}
	}
}

// TestLiveStreams: a stream says what changed in its account and mode, of what its
// reader's role opens, and no more.
func TestLiveStreams(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	owner, support := onHTTP(h.Staff(domain.RoleOwner)), onHTTP(h.Staff(domain.RoleSupport))
	const all = "live?on=session,delivery,event,request,invoice"
	mine := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	other := h.NewSession(h.TestScope(), domain.NewSession{})
	stranger := onHTTP(h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner))

	settled(h, base)
	streams := map[string]*stream{}
	for name, s := range map[string]struct {
		staff *harness.StaffBrowser
		path  string
	}{
		"owner": {owner, "test/" + all}, "other mode": {owner, "live/" + all}, "other account": {stranger, "test/" + all},
		"support": {support, "test/" + all}, "billing": {onHTTP(h.Staff(domain.RoleFinance)), "test/" + all},
		"its session": {support, "test/" + all + "&session=" + mine.ID.String()},
		"no session":  {support, "test/" + all + "&session=" + other.ID.String()}, "stranger's session": {stranger,
			"test/" + all + "&session=" + mine.ID.String()},
	} {
		streams[name] = follows(h, base, s.staff, s.path)
		if got := streams[name].status; got != http.StatusOK {
			t.Fatalf("%s: %d", name, got)
		}
	}
	h.Open(mine.ID)
	streams["owner"].hears("session", "delivery", "event")
	// Not sooner: what changes within the pause is told together, and this is of no session.
	h.OK(h.DB.InsertAPIRequests(t.Context(), []domain.APIRequest{{ID: domain.NewRequestID(h.Clock.Now()),
		AccountID: h.Account.AccountID, Status: http.StatusOK, KeyID: keyOf(h)}}))
	streams["owner"].hears("request")
	streams["support"].hears("session")
	streams["its session"].hears("session", "delivery")
	// What comes later proves that nothing came before.
	h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	streams["other mode"].hears("session")
	for name, s := range streams {
		for _, got := range s.heard() {
			switch {
			case name == "owner", name == "other mode" && got == "session", name == "support" && got == "session", name == "its session" &&
				(got == "session" || got == "delivery"):
			default:
				t.Errorf("%s hears of %s", name, got)
			}
		}
	}
	if got := follows(h, base, owner, "test/live?on=session&session=sess_1").status; got != http.StatusNotFound {
		t.Errorf("no session's id: %d", got)
	}
}

// TestLiveStreamsEnd: for who may not read on, before the next message; and at once when
// the process ends.
func TestLiveStreamsEnd(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	settled(h, base)
	demoted, removed, signedOut, idle := onHTTP(h.Staff(domain.RoleDeveloper)), onHTTP(h.Staff(domain.RoleDeveloper)),
		onHTTP(h.Staff(domain.RoleSupport)), onHTTP(h.Staff(domain.RoleSupport))
	var open []*stream
	for _, s := range []*harness.StaffBrowser{demoted, removed, signedOut} {
		open = append(open, follows(h, base, s, "test/live?on=session"))
	}
	h.OK(h.Service.Team.ChangeRole(t.Context(), h.Account.AccountID, harness.Operator, demoted.Session.ID,
		domain.RoleSupport, false))
	h.OK(h.Service.Team.Remove(t.Context(), h.Account.AccountID, harness.Operator, removed.Session.ID))
	signedOut.Post("/dashboard/sign-out", nil)
	h.NewSession(h.TestScope(), domain.NewSession{})
	for i, s := range open {
		if first, then := s.next(), s.next(); first != live.EndName || then != "" {
			t.Errorf("stream %d says %q, then %q", i, first, then)
		}
	}
	again := follows(h, base, signedOut, "test/live?on=session")
	if to := again.header.Get("HX-Redirect"); again.status != http.StatusUnauthorized ||
		to != "/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fsessions%3Fstatus%3Dpending" {
		t.Errorf("signed out: %d, to %q", again.status, to)
	}

	// Requests that a page makes by itself keep no one signed in.
	unattended := follows(h, base, idle, "test/live?on=session")
	for range 13 {
		h.Clock.Advance(time.Hour)
		answer := idle.Send(http.MethodGet, "/dashboard/test/sessions", nil, http.Header{"Candor-By-Itself": {"1"}})
		if signedIn := answer.Code == http.StatusOK; signedIn != (h.Clock.Now().Sub(harness.StartTime) < domain.StaffIdle) {
			t.Errorf("after %s: %d", h.Clock.Now().Sub(harness.StartTime), answer.Code)
		}
	}
	h.NewSession(h.TestScope(), domain.NewSession{})
	if got := unattended.next(); got != live.EndName {
		t.Errorf("the idle user's stream says %q", got)
	}
	last := follows(h, base, onHTTP(h.Staff(domain.RoleSupport)), "test/live?on=session")
	h.Service.Live.End()
	if got := last.next(); got != "" {
		t.Errorf("after the process ended the stream says %q", got)
	}
}

// TestLiveStreamsAreBounded: an account's streams, which leave others theirs.
func TestLiveStreamsAreBounded(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	developer := onHTTP(h.Staff(domain.RoleDeveloper))
	var open []*stream
	for range live.StreamsPerAccount {
		open = append(open, follows(h, base, developer, "test/live?on=session"))
	}
	refused := follows(h, base, developer, "live/live?on=session")
	if refused.status != http.StatusTooManyRequests || refused.header.Get("Retry-After") != "30" ||
		refused.header.Get("HX-Reswap") != "none" {
		t.Errorf("one more: %d, %v", refused.status, refused.header)
	}
	stranger := onHTTP(h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner))
	if got := follows(h, base, stranger, "test/live?on=session").status; got != http.StatusOK {
		t.Errorf("another account's: %d", got)
	}
	open[0].stop()
	testkit.Await(t, "a stream that ended is counted still", func() bool {
		return follows(h, base, developer, "test/live?on=session").status == http.StatusOK
	})
}

// TestListsFollowFromTheirNewestRow: what came since is counted and the rows stay.
func TestListsFollowFromTheirNewestRow(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	self := func(path string) string {
		t.Helper()
		page := owner.WantPage(owner.Get(path), http.StatusOK)
		for _, part := range page.All("div") {
			if part.Attr("id") == "list" {
				return part.Attr("hx-get")
			}
		}
		t.Fatalf("%s has no list that follows", path)
		return ""
	}
	key := keyOf(h)
	add := func() {
		h.Clock.Advance(time.Second)
		s := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
		h.Open(s.ID)
		h.OK(h.DB.InsertAPIRequests(t.Context(), []domain.APIRequest{{ID: domain.NewRequestID(h.Clock.Now()),
			AccountID: h.Account.AccountID, KeyID: key, Method: "GET", Route: "/v1/sessions", Status: http.StatusOK}}))
	}
	add()
	h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "kim@customer.example"})
	kim := self("/dashboard/test/sessions?q=kim")
	paths := map[string]string{}
	for _, path := range []string{"/dashboard/test/sessions", "/dashboard/test/sessions?q=jo",
		"/dashboard/test/sessions?from=2026-01-01&q=jo", "/dashboard/test/sessions?status=in_progress", "/dashboard/test/webhooks",
		"/dashboard/test/requests", "/dashboard/test/events"} {
		paths[path] = self(path)
	}
	add()
	add()
	for path, list := range paths {
		page := owner.WantPage(owner.Get(list), http.StatusOK, "2 new")
		if page.Link("2 new") != path {
			t.Errorf("%s: the new rows are at %s", path, page.Link("2 new"))
		}
		if again := self(list); again != list {
			t.Errorf("%s fetches %s next", list, again)
		}
		page.Hides("or more")
	}
	owner.WantPage(owner.Get(kim), http.StatusOK, "1 session").Hides("2 new", "or more")
	for range domain.NewMost {
		add()
	}
	for path, list := range paths {
		if path != "/dashboard/test/events" {
			owner.WantPage(owner.Get(list), http.StatusOK, "100 or more new")
		}
	}
	owner.WantPage(owner.Get("/dashboard/test/sessions?newest=x"), http.StatusNotFound)
	owner.WantPage(owner.Get("/dashboard/test/sessions?newest="+domain.NewSessionID().String()), http.StatusNotFound)
}

// TestStoppedRedeliveryIsAnnounced: its page says so in every browser.
func TestStoppedRedeliveryIsAnnounced(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	failedDeliveries(h)
	developer := onHTTP(h.Staff(domain.RoleDeveloper))
	path := developer.Post(redeliveries, url.Values{"since": {"2026-01-01"}}).Header().Get("Location")
	settled(h, base)
	other := follows(h, base, onHTTP(h.Staff(domain.RoleDeveloper)), "test/live?on=delivery")
	developer.WantRedirect(developer.Post(path+"/stop", nil), path)
	other.hears("delivery")
}
