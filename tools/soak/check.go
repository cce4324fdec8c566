package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"candor/internal/statement"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// drainPatience is how long deliveries, PDFs and expiries may take after the last
// fault. A retry that was planned by a clock which was ahead is late by as much.
const drainPatience = 6 * time.Minute

// check compares what is stored and what arrived with the ledger.
type check struct {
	*people
	seen      map[*partner][]feedEvent // the whole feed, read at the end
	byID      map[string][]feedEvent   // of these, by session
	documents int                      // that were compared
	pdfs      int
	answers   int // that were compared
	right     int // checks of candor verify
	wrong     int
	failed    int // deliveries that had failed for good and were sent again
}

// drain waits until nothing is left to be done.
func (c *check) drain(ctx context.Context) error {
	const left = `SELECT (SELECT count(*) FROM delivery WHERE state = 'pending'),
		(SELECT count(*) FROM session WHERE status = 'completed' AND pdf_ready_at IS NULL),
		(SELECT count(*) FROM session WHERE status IN ('pending', 'in_progress') AND expires_at < now())`
	var pending, undrawn, due int
	var err error
	done := harness.Eventually(ctx, drainPatience, func() bool {
		err = withConn(ctx, c.env.cluster.primaryDSN(), func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, left).Scan(&pending, &undrawn, &due)
		})
		return err == nil && pending+undrawn+due == 0
	})
	if !done && err == nil {
		err = fmt.Errorf("after %s %d deliveries are pending, %d PDFs aren't drawn, %d sessions have not expired", drainPatience,
			pending, undrawn, due)
	}
	return err
}

// resend sends deliveries again that failed for good at receivers that failed for long.
func (c *check) resend(ctx context.Context) error {
	for _, p := range c.partners {
		staff := c.newBrowser()
		signedIn := false
		for _, e := range c.seen[p] {
			if e.Delivery == nil || e.Delivery.State != "failed" {
				continue
			}
			c.failed++
			if !signedIn {
				if _, err := p.signIn(ctx, staff); err != nil {
					return err
				}
				signedIn = true
			}
			if _, err := staff.post(ctx, "resend a delivery", "/dashboard/"+p.mode()+"/webhooks/deliveries/"+e.Delivery.ID+"/retry",
				nil); err != nil {
				return err
			}
		}
	}
	if c.failed == 0 {
		return nil
	}
	return c.drain(ctx)
}

// read reads the feed of every partner from its start.
func (c *check) read(ctx context.Context) error {
	c.seen, c.byID = map[*partner][]feedEvent{}, map[string][]feedEvent{}
	for _, p := range c.partners {
		again := &partner{browser: p.browser, index: p.index, account: p.account, live: p.live, events: map[int64]feedEvent{}}
		persist(ctx, c.ledger, "the feed at the end", func() bool {
			for again.list(ctx, 0) {
				continue // it reads a page
			}
			var most int64
			err := withConn(ctx, c.env.cluster.primaryDSN(), func(ctx context.Context, conn *pgx.Conn) error {
				return conn.QueryRow(ctx, `SELECT coalesce(max(sequence), 0) FROM event e WHERE livemode = $1 AND EXISTS (
					SELECT FROM account a WHERE a.id = e.account_id AND a.name = $2)`, p.live, p.company).Scan(&most)
			})
			return err == nil && again.after == most
		})
		for n := int64(1); n <= again.after; n++ {
			e, ok := again.events[n]
			if !ok {
				c.ledger.violate("missing numbers of events", fmt.Sprintf("%s %d", p.mode(), n))
			}
			c.seen[p] = append(c.seen[p], e)
			c.byID[e.Session] = append(c.byID[e.Session], e)
		}
		for n, e := range p.events {
			if again.events[n].ID != e.ID {
				c.ledger.violate("events that the feed had and lost", e.ID)
			}
		}
	}
	return ctx.Err()
}

// webhooks compares what arrived with the feed.
func (c *check) webhooks() {
	c.receivers.mu.Lock()
	defer c.receivers.mu.Unlock()
	unknown := make(map[string]bool, len(c.receivers.arrivals))
	for id := range c.receivers.arrivals {
		unknown[id] = true
	}
	for p, events := range c.seen {
		for _, e := range events {
			if e.Delivery == nil {
				c.ledger.violate("events without a delivery", e.ID)
				continue
			}
			delete(unknown, e.Delivery.ID)
			a := c.receivers.arrivals[e.Delivery.ID]
			switch {
			case a == nil || !a.taken:
				c.ledger.violate("webhooks that never arrived", e.Delivery.ID+" "+e.Delivery.State)
			case a.Sequence != e.Sequence || a.Event != e.Event || a.Session != e.Session || a.Partner != p.index || a.Live != p.live:
				c.ledger.violate("webhooks that differ from their event", e.Delivery.ID)
			}
		}
	}
	for id := range unknown {
		c.ledger.violate("webhooks of events that aren't there", id)
	}
}

// ends counts what a session's events say of its end.
func (c *check) ends(s *session, status string) {
	count := map[string]int{}
	for _, e := range c.byID[s.ID] {
		count[e.Event]++
	}
	want := map[string]int{"session.completed": 0, "session.expired": 0, "session.pdf_ready": 0}
	switch status {
	case "completed":
		want["session.completed"], want["session.pdf_ready"] = 1, 1
	case "expired":
		want["session.expired"] = 1
	}
	for event, n := range want {
		if count[event] != n {
			c.ledger.violate("sessions without exactly one terminal event", fmt.Sprintf("%s is %s and has %d %s", s.ID, status,
				count[event], event))
		}
	}
	for event, n := range count {
		if event != "session.section_completed" && n > 1 {
			c.ledger.violate("events that are there twice", s.ID+" "+event)
		}
	}
}

// sessions compares every acknowledged session.
func (c *check) sessions(ctx context.Context) error {
	var running sync.WaitGroup
	var mu sync.Mutex
	work := make(chan *session)
	for range 4 {
		running.Go(func() {
			for s := range work {
				answers, documents, pdfs := c.one(ctx, s)
				mu.Lock()
				c.answers, c.documents, c.pdfs = c.answers+answers, c.documents+documents, c.pdfs+pdfs
				mu.Unlock()
			}
		})
	}
	for _, s := range c.ledger.all() {
		work <- s
	}
	close(work)
	running.Wait()
	return errors.Join(ctx.Err(), c.twice(ctx))
}

// twice looks for sessions that a repeated request created again.
func (c *check) twice(ctx context.Context) error {
	return withConn(ctx, c.env.cluster.primaryDSN(), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT reference_id FROM session GROUP BY reference_id HAVING count(*) > 1`)
		if err != nil {
			return err
		}
		references, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, r := range references {
			c.ledger.violate("sessions created twice with one Idempotency-Key", r)
		}
		return err
	})
}

// fetch gets what must be there.
func (c *check) fetch(ctx context.Context, s *session, path string) (a client.Answer, ok bool) {
	ok = persist(ctx, c.ledger, "GET "+path, func() (got bool) {
		var err error
		a, err = s.Partner.call(ctx, http.MethodGet, path, "", nil)
		return err == nil && a.Status < http.StatusInternalServerError && a.Status != http.StatusAccepted
	})
	if ok && a.Status != http.StatusOK {
		c.ledger.violate("acknowledged things that were lost", fmt.Sprintf("%s: %d %s", path, a.Status, a.Code()))
	}
	return a, ok && a.Status == http.StatusOK
}

// one compares a session, and counts what was compared.
func (c *check) one(ctx context.Context, s *session) (answers, documents, pdfs int) {
	a, ok := c.fetch(ctx, s, "/sessions/"+s.ID)
	if !ok {
		return
	}
	var got struct {
		Status    string `json:"status"`
		Reference string `json:"reference_id"`
		Email     string `json:"customer_email"`
		Progress  struct {
			Completed int `json:"sections_completed"`
		} `json:"progress"`
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || got.Reference != s.Reference || got.Email != s.Email {
		c.ledger.violate("sessions that differ", s.ID)
	}
	open := got.Status == "pending" || got.Status == "in_progress"
	switch {
	case s.end != "" && got.Status != s.end:
		c.ledger.violate("acknowledged ends that were lost", fmt.Sprintf("%s is %s, not %s", s.ID, got.Status, s.end))
	case s.end == "" && !s.tries && !open:
		c.ledger.violate("ends that weren't asked for", s.ID+" is "+got.Status)
	case got.Progress.Completed < len(s.answers):
		c.ledger.violate("acknowledged sections that were lost", s.ID)
	}
	c.ends(s, got.Status)
	if got.Status != "completed" {
		return
	}
	a, ok = c.fetch(ctx, s, "/sessions/"+s.ID+"/data")
	if !ok {
		return
	}
	var submitted struct {
		Data submitted `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &submitted); err != nil {
		c.ledger.violate("data that can't be read", s.ID)
		return
	}
	shown, answers := c.compare(s, &submitted.Data)
	documents = c.files(ctx, s, &submitted.Data)
	return answers, documents, c.pdf(ctx, s, shown)
}

// submitted is the part of a session's data that is compared.
type submitted struct {
	Personal struct {
		Name       string `json:"full_name"`
		Occupation string `json:"occupation"`
		Employer   string `json:"employer"`
	} `json:"personal_details"`
	Income struct {
		Employment struct {
			Gross json.Number `json:"gross_salary"`
		} `json:"employment_income"`
	} `json:"income"`
	Assets struct {
		Vehicles []struct {
			Description string `json:"description"`
		} `json:"vehicles"`
	} `json:"assets"`
	Liabilities struct {
		Mortgages []struct {
			Lender string `json:"lender"`
		} `json:"mortgages"`
	} `json:"liabilities"`
	Expenses struct {
		Living struct {
			Groceries json.Number `json:"groceries"`
		} `json:"living"`
	} `json:"expenses"`
	Documents []struct {
		ID     string `json:"id"`
		SHA256 string `json:"sha256"`
	} `json:"documents"`
}

// compare compares the answers. It returns what the PDF must show.
func (c *check) compare(s *session, d *submitted) (shown []string, answers int) {
	shown = []string{d.Personal.Name, d.Personal.Occupation}
	if s.simulated {
		return shown, 0
	}
	vehicle, lender := "", ""
	if len(d.Assets.Vehicles) > 0 {
		vehicle = d.Assets.Vehicles[0].Description
	}
	if len(d.Liabilities.Mortgages) > 0 {
		lender = d.Liabilities.Mortgages[0].Lender
	}
	for _, f := range []struct{ section, field, got string }{
		{statement.PersonalDetailsSection, "occupation", d.Personal.Occupation},
		{statement.PersonalDetailsSection, "employer", d.Personal.Employer},
		{statement.IncomeSection, "employment_income.gross_salary", dollars(d.Income.Employment.Gross)},
		{statement.AssetsSection, "vehicles.0.description", vehicle},
		{statement.LiabilitiesSection, "mortgages.0.lender", lender},
		{statement.ExpensesSection, "living.groceries", dollars(d.Expenses.Living.Groceries)},
	} {
		if s.tried[f.section] {
			continue // one of two
		}
		answers++
		want := s.answers[f.section].Get(f.field)
		if f.got != want {
			c.ledger.violate("acknowledged answers that were lost", fmt.Sprintf("%s %s.%s is %q, not %q", s.ID, f.section, f.field,
				f.got, want))
		}
		if len(want) == len("90000") {
			want = want[:2] + "," + want[2:]
		}
		shown = append(shown, want)
	}
	return shown, answers
}

// dollars is an amount without cents.
func dollars(n json.Number) string {
	whole, cents, _ := strings.Cut(n.String(), ".")
	if strings.Trim(cents, "0") != "" {
		return n.String()
	}
	return whole
}

// files compares the documents byte for byte.
func (c *check) files(ctx context.Context, s *session, d *submitted) (documents int) {
	there := map[string]bool{}
	for _, listed := range d.Documents {
		there[listed.SHA256] = true
		a, ok := c.fetch(ctx, s, "/sessions/"+s.ID+"/documents/"+listed.ID)
		if !ok {
			continue
		}
		documents++
		if digest(a.Body) != listed.SHA256 || !s.simulated && !s.sent[listed.SHA256] {
			c.ledger.violate("documents that differ", s.ID+" "+listed.ID)
		}
		if content, acknowledged := s.documents[listed.SHA256]; acknowledged && !bytes.Equal(content, a.Body) {
			c.ledger.violate("documents that differ", s.ID+" "+listed.ID)
		}
	}
	for sum := range s.documents {
		if !there[sum] {
			c.ledger.violate("acknowledged documents that were lost", s.ID+" "+sum)
		}
	}
	return documents
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// pdf compares the PDF with what was announced, and what it shows with the answers.
func (c *check) pdf(ctx context.Context, s *session, shown []string) (pdfs int) {
	a, ok := c.fetch(ctx, s, "/sessions/"+s.ID+"/pdf")
	if !ok {
		return 0
	}
	var announced struct {
		Size  int `json:"file_size_bytes"`
		Pages int `json:"page_count"`
	}
	for _, e := range c.byID[s.ID] {
		if e.Event != "session.pdf_ready" {
			continue
		}
		if e.PDF != digest(a.Body) {
			c.ledger.violate("PDFs with another digest than announced", s.ID)
		}
		c.receivers.mu.Lock()
		if arrived := c.receivers.arrivals[e.Delivery.ID]; arrived != nil {
			_ = json.Unmarshal(arrived.Data, &announced) // its zeros are no announcement
		}
		c.receivers.mu.Unlock()
	}
	file, err := os.CreateTemp(c.env.dir, "*.pdf")
	if err != nil {
		c.ledger.violate("PDFs that can't be read", err.Error())
		return 0
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(a.Body)
	err = errors.Join(err, file.Close())
	if err == nil {
		var text []byte
		// Raw, because a long name wraps in its cell: by the layout, the next cells come in between.
		text, err = exec.CommandContext(ctx, "pdftotext", "-raw", file.Name(), "-").Output()
		if announced.Size != len(a.Body) || announced.Pages != bytes.Count(text, []byte("\f")) {
			c.ledger.violate("PDFs with another size than announced", s.ID)
		}
		plain := strings.Join(strings.Fields(string(text)), "")
		for _, want := range shown {
			if !strings.Contains(plain, strings.ReplaceAll(want, " ", "")) {
				c.ledger.violate("PDFs that lack an answer", s.ID+" "+want)
			}
		}
	}
	if err != nil {
		c.ledger.violate("PDFs that can't be read", s.ID+" "+err.Error())
	}
	return 1
}

// verify runs candor verify.
func (c *check) verify() (lines string) {
	out, err := c.env.command("verify").CombinedOutput()
	if err != nil {
		c.ledger.violate("checks of candor verify that failed", string(out))
	}
	lines = "\n" + string(out)
	c.right, c.wrong = strings.Count(lines, "\nok "), strings.Count(lines, "\nWRONG ")
	return lines
}
