//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
)

// traffic is everyone who uses the service, until stop. It remembers what was
// acknowledged.
type traffic struct {
	*record
	base    string
	account client.Account
	ctx     context.Context // ends when no more rounds begin
	stop    context.CancelFunc
	running sync.WaitGroup

	known    sync.Mutex // of what follows
	sessions map[string]*known
	numbers  int
}

// known is what the service has acknowledged of a session.
type known struct {
	submitted bool
	documents int
}

func newTraffic(base string, account client.Account) *traffic {
	return &traffic{record: newRecord(), base: base, account: account, sessions: map[string]*known{}}
}

// start lets partners, customers and staff begin.
func (f *traffic) start(ctx context.Context) {
	f.ctx, f.stop = context.WithCancel(ctx)
	staff := newPerson(f.base, "", f.record)
	f.signIn(ctx, staff)
	for _, round := range []func(context.Context){
		f.integrate, f.integrate, f.fillIn, f.fillIn, f.fillIn, f.wait,
		func(ctx context.Context) { f.browse(ctx, staff) },
		func(context.Context) { f.listen(staff) },
	} {
		f.running.Go(func() {
			for f.ctx.Err() == nil {
				round(ctx) // one that began ends
			}
		})
	}
}

// end lets everyone finish their round.
func (f *traffic) end() {
	f.stop()
	f.running.Wait()
}

func (f *traffic) number() int {
	f.known.Lock()
	defer f.known.Unlock()
	f.numbers++
	return f.numbers
}

func (f *traffic) acknowledged(id string, change func(*known)) {
	f.known.Lock()
	defer f.known.Unlock()
	if f.sessions[id] == nil {
		f.sessions[id] = &known{}
	}
	change(f.sessions[id])
}

// create creates a session and repeats the request, which reaches another process.
func (f *traffic) create(ctx context.Context, c *person, extra string) (s client.Session, ok bool) {
	n := f.number()
	r := request{
		kind: "POST session", method: http.MethodPost, path: "/v1/sessions", content: "application/json",
		want:        []int{http.StatusCreated},
		idempotency: "upgrade-" + strconv.Itoa(n),
		body: fmt.Appendf(nil,
			`{"form_type": "financial_statement", "customer_email": "jo%d@customer.example", "customer_name": "Jo Nguyen", "reference_id": "loan-%d"%s}`, n, n, extra),
	}
	first, ok := c.do(ctx, r)
	if !ok || !c.decode(r.kind, r.path, first.Body, &s) {
		return s, false
	}
	f.acknowledged(s.ID, func(k *known) { k.submitted = extra != "" })
	second, ok := c.do(ctx, r)
	if !ok {
		return s, false
	}
	if !bytes.Equal(first.Body, second.Body) {
		f.fail("%s: repeated with its Idempotency-Key it returned %.300s, before %.300s", r.kind, second.Body, first.Body)
		return s, false
	}
	return s, true
}

// integrate is a partner's program.
func (f *traffic) integrate(ctx context.Context) {
	c := newPerson(f.base, f.account.TestKey, f.record)
	extra := ""
	if f.number()%4 == 0 {
		extra = `, "simulate": "completed"`
	}
	s, ok := f.create(ctx, c, extra)
	if !ok {
		return
	}
	var read client.Session
	if !c.object(ctx, "GET session", "/v1/sessions/"+s.ID, &read) {
		return
	}
	if read.ID != s.ID {
		f.fail("GET session: %s returned %s", s.ID, read.ID)
	}
	c.get(ctx, "GET sessions", "/v1/sessions?limit=20")
	c.get(ctx, "GET events", "/v1/events?limit=20")
	if extra != "" {
		f.read(ctx, c, s.ID)
		return
	}
	if f.number()%3 == 0 {
		c.do(ctx, request{kind: "DELETE session", method: http.MethodDelete, path: "/v1/sessions/" + s.ID, want: []int{http.StatusOK}})
	}
}

// read reads the data of a completed session, its PDF when a worker has drawn it, and
// its documents.
func (f *traffic) read(ctx context.Context, c *person, id string) {
	var data struct {
		Data struct {
			Documents []struct {
				ID string `json:"id"`
			} `json:"documents"`
		} `json:"data"`
	}
	if !c.object(ctx, "GET data", "/v1/sessions/"+id+"/data", &data) {
		return
	}
	for _, one := range data.Data.Documents {
		c.get(ctx, "GET document", "/v1/sessions/"+id+"/documents/"+one.ID)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); {
		got, ok := c.get(ctx, "GET PDF", "/v1/sessions/"+id+"/pdf", http.StatusOK, http.StatusAccepted)
		if !ok {
			return
		}
		if got.Status == http.StatusOK {
			if !bytes.HasPrefix(got.Body, []byte("%PDF")) {
				f.fail("GET PDF: %s has %.20q", id, got.Body)
			}
			return
		}
		<-tick.C
	}
	f.fail("GET PDF: that of %s wasn't drawn within %s", id, testkit.Patience)
}

// fillIn is a customer, from the link to the signature, and then the partner who reads
// the answers.
func (f *traffic) fillIn(ctx context.Context) {
	partner := newPerson(f.base, f.account.TestKey, f.record)
	s, ok := f.create(ctx, partner, "")
	if !ok {
		return
	}
	c := newPerson(f.base, "", f.record)
	opened, ok := c.get(ctx, "open link", s.SessionURL, http.StatusSeeOther)
	if !ok {
		return
	}
	form := opened.Location
	f.look(ctx, c, "form page", form)
	for i := range 2 {
		content := fmt.Appendf(nil, "%%PDF-1.4\n%s %d\n%s\n%%%%EOF\n", s.ID, i, strings.Repeat("payslip ", 20_000))
		if !c.upload(ctx, form, fmt.Sprintf("payslip %d.pdf", i), content) {
			return
		}
		f.acknowledged(s.ID, func(k *known) { k.documents++ })
	}
	for _, section := range statement.SectionNames {
		if _, ok := c.get(ctx, "form page", form+"/"+section); !ok {
			return
		}
		values := statementtest.Values(section)
		if values == nil {
			values = url.Values{"action": {"continue"}}
		}
		if _, ok := c.post(ctx, "form post", form+"/"+section, values, http.StatusSeeOther); !ok {
			return
		}
	}
	f.acknowledged(s.ID, func(k *known) { k.submitted = true })
	f.read(ctx, partner, s.ID)
}

// asset matches the address of a style sheet, script or picture.
var asset = regexp.MustCompile(`(?:href|src)="(/static/[^"?]+)"`)

// look opens a page with its style sheets and scripts, as a browser does that has
// stored none.
func (f *traffic) look(ctx context.Context, c *person, kind, path string) {
	got, ok := c.get(ctx, kind, path)
	if !ok {
		return
	}
	for _, found := range asset.FindAllSubmatch(got.Body, -1) {
		c.get(ctx, "static file", string(found[1]))
	}
}

func (f *traffic) signIn(ctx context.Context, c *person) {
	c.post(ctx, "sign-in", "/dashboard/sign-in", url.Values{"email": {f.account.Email}, "password": {f.account.Password}},
		http.StatusSeeOther)
}

// betweenPages is how fast staff click.
const betweenPages = 50 * time.Millisecond

// browse is a member of staff, who signs in once.
func (f *traffic) browse(ctx context.Context, c *person) {
	for _, path := range []string{"", "/sessions", "/webhooks", "/keys", "/billing", "/team", "/settings", "/requests", "/audit"} {
		f.look(ctx, c, "dashboard page", "/dashboard/test"+path)
		<-time.After(betweenPages)
	}
	for id := range f.some() {
		f.look(ctx, c, "dashboard page", "/dashboard/test/sessions/"+id)
	}
}

// some are a few sessions.
func (f *traffic) some() map[string]bool {
	f.known.Lock()
	defer f.known.Unlock()
	out := map[string]bool{}
	for id := range f.sessions {
		if len(out) == 3 {
			break
		}
		out[id] = true
	}
	return out
}

// wait is a partner's program that waits for events instead of taking webhooks.
func (f *traffic) wait(ctx context.Context) {
	c := newPerson(f.base, f.account.TestKey, f.record)
	after := int64(0)
	for f.ctx.Err() == nil {
		got, ok := c.do(ctx, request{
			kind: "wait for events", method: http.MethodGet, path: "/v1/events?limit=100&wait=5&after=" + strconv.FormatInt(after, 10),
			want: []int{http.StatusOK}, waits: true,
		})
		var page struct {
			Data []struct {
				Sequence int64 `json:"sequence"`
			} `json:"data"`
		}
		if !ok || !c.decode("wait for events", "/v1/events", got.Body, &page) {
			return
		}
		for _, e := range page.Data {
			if e.Sequence != after+1 {
				f.fail("wait for events: %d came after %d", e.Sequence, after)
			}
			after = e.Sequence
		}
	}
}

// listen is a page of the dashboard that stays open. Its stream ends when its process
// does; then the page opens it again.
func (f *traffic) listen(c *person) {
	out, err := http.NewRequestWithContext(f.ctx, http.MethodGet, f.base+"/dashboard/test/live?on=session", http.NoBody)
	if err != nil {
		f.fail("stream: %v", err)
		return
	}
	out.Header.Set("Accept", "text/event-stream")
	response, err := c.HTTP.Do(out)
	if err != nil {
		if f.ctx.Err() == nil {
			f.fail("stream: %v", err)
		}
		return
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		f.note("stream", 0, true)
		_, _ = io.Copy(io.Discard, response.Body) // until the process or the traffic ends
	} else {
		f.fail("stream: status %d", response.StatusCode)
	}
	select { // a browser waits a moment, too
	case <-f.ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}
