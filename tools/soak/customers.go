package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// marker is in everything that only customers know: logs must not have it.
const marker = "Xoakmark"

// people are the partners and customers.
type people struct {
	env       *environment
	ledger    *ledger
	receivers *receivers
	partners  []*partner
	acks      *acks
	transport http.RoundTripper
	run       string // makes references unique
}

// customer is one browser with a form.
type customer struct {
	*people
	web     *browser
	rnd     *mathrand.Rand
	session *session
}

// live creates sessions and leads them to their fate until ctx ends. What has begun
// is finished until finish ends.
func (p *people) live(ctx, finish context.Context, worker int, seed uint64) {
	rnd := mathrand.New(mathrand.NewPCG(seed, uint64(worker)))
	for n := 0; ctx.Err() == nil; n++ {
		c := &customer{p, p.newBrowser(), rnd, nil}
		c.create(finish, p.partners[rnd.IntN(len(p.partners))], fmt.Sprintf("%s-%d-%d", p.run, worker, n))
		if c.session != nil {
			c.meet(finish)
		}
		harness.Pause(ctx, time.Duration(rnd.IntN(100))*time.Millisecond)
	}
}

// fateOf chooses what becomes of a session.
func fateOf(p *partner, rnd *mathrand.Rand) fate {
	fates := []fate{completes, completes, completes, completes, completes, completes, cancels, cancels, expires, expires, waits,
		advances, simulates, simulates}
	f := fates[rnd.IntN(len(fates))]
	if p.live && (f == advances || f == simulates) {
		return completes // a live key can't
	}
	return f
}

// create creates the session.
func (c *customer) create(ctx context.Context, p *partner, reference string) {
	s := &session{
		Reference: reference, Email: strings.ToLower(marker) + "-" + reference + "@customer.example",
		Name: "Zoë " + marker + " " + reference, Partner: p, Fate: fateOf(p, c.rnd),
		answers: map[string]url.Values{}, tried: map[string]bool{}, documents: map[string][]byte{}, sent: map[string]bool{},
	}
	body := map[string]any{
		"form_type": "financial_statement", "customer_email": s.Email, "customer_name": s.Name, "reference_id": reference,
		"webhook_url": fmt.Sprintf("http://%s/%d", p.hooks[c.rnd.IntN(len(p.hooks))], p.index),
	}
	if s.Fate == simulates {
		body["simulate"], s.simulated, s.end = "completed", true, "completed"
	}
	persist(ctx, c.ledger, "POST /v1/sessions "+reference, func() bool {
		a, err := p.call(ctx, http.MethodPost, "/sessions", reference, body)
		var made client.Session
		if err != nil || a.Status != http.StatusCreated || json.Unmarshal(a.Body, &made) != nil {
			return false
		}
		s.ID, s.Link = made.ID, made.Link()
		c.session = s
		c.ledger.acknowledge(s)
		return true
	})
}

// meet leads the session to its fate.
func (c *customer) meet(ctx context.Context) {
	s := c.session
	if s.Fate == simulates {
		return
	}
	if c.rnd.IntN(8) == 0 {
		c.renew(ctx)
	}
	if s.Fate != completes && c.rnd.IntN(3) == 0 {
		c.finish(ctx) // never opened
		return
	}
	if !c.open(ctx) {
		return
	}
	sections := statement.SectionNames[:]
	if s.Fate != completes {
		sections = sections[:c.rnd.IntN(4)]
	}
	for i, name := range sections {
		if !c.save(ctx, name) {
			return
		}
		if i > 0 && c.rnd.IntN(6) == 0 && name != statement.DeclarationSection && !c.save(ctx, sections[c.rnd.IntN(i)]) {
			return // it changed an earlier answer
		}
		c.look(ctx)
	}
	c.finish(ctx)
}

// finish ends the session if that is its fate.
func (c *customer) finish(ctx context.Context) {
	s := c.session
	switch s.Fate {
	case cancels:
		s.asks()
		persist(ctx, c.ledger, "cancel "+s.ID, func() bool {
			a, err := s.Partner.call(ctx, http.MethodDelete, "/sessions/"+s.ID, "", nil)
			if err == nil && (a.Status == http.StatusOK || a.Code() == "session_cancelled") {
				s.ends("cancelled")
				return true
			}
			c.found(a, err)
			return false
		})
	case advances:
		s.asks()
		persist(ctx, c.ledger, "advance "+s.ID, func() bool {
			a, err := s.Partner.call(ctx, http.MethodPost, "/test/sessions/"+s.ID+"/advance", "advance "+s.ID,
				map[string]any{"to": "expired"})
			if err == nil && a.Status == http.StatusOK {
				s.ends("expired")
				return true
			}
			c.found(a, err)
			return false
		})
	case expires: // the link's time is over now
		s.asks()
		persist(ctx, c.ledger, "expire "+s.ID, func() bool {
			err := withConn(ctx, c.env.cluster.primaryDSN(), func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx,
					`UPDATE session SET expires_at = now() WHERE reference_id = $1 AND status IN ('pending', 'in_progress')`, s.Reference)
				return err
			})
			if err == nil {
				s.ends("expired")
			}
			return err == nil
		})
	}
}

// found checks that an acknowledged session is there for every reader.
func (c *customer) found(a client.Answer, err error) {
	if err == nil && a.Status == http.StatusNotFound && a.Code() == "session_not_found" {
		c.ledger.violate("acknowledged sessions that were not found", c.session.ID)
	}
}

// renew lets staff replace the link: the session's link is then another one.
func (c *customer) renew(ctx context.Context) {
	s := c.session
	staff := c.newBrowser()
	signedIn := false
	persist(ctx, c.ledger, "renew "+s.ID, func() bool {
		if !signedIn {
			a, err := s.Partner.signIn(ctx, staff)
			signedIn = err == nil && a.Status == http.StatusSeeOther && a.Header.Get("Location") == "/dashboard"
		}
		if !signedIn {
			return false
		}
		a, err := staff.post(ctx, "renew a link", "/dashboard/"+s.Partner.mode()+"/sessions/"+s.ID+"/renew", nil)
		return err == nil && a.Status == http.StatusSeeOther
	})
	old := s.Link
	persist(ctx, c.ledger, "the new link of "+s.ID, func() bool {
		a, err := s.Partner.call(ctx, http.MethodGet, "/sessions/"+s.ID, "", nil)
		c.found(a, err)
		var got client.Session
		if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &got) != nil {
			return false
		}
		s.Link = got.Link()
		return true
	})
	if s.Link == old {
		c.ledger.violate("links that were renewed and are the same", s.ID)
	}
}

// open opens the link and the form.
func (c *customer) open(ctx context.Context) bool {
	return persist(ctx, c.ledger, "open "+c.session.ID, func() bool {
		a, err := c.web.get(ctx, "open a link", c.session.Link)
		if err != nil || a.Status != http.StatusSeeOther {
			return false
		}
		a, err = c.web.get(ctx, "open a form", "/f/"+c.session.ID)
		return err == nil && a.Status == http.StatusOK
	})
}

// look is what partners do beside.
func (c *customer) look(ctx context.Context) {
	p, s := c.session.Partner, c.session
	switch c.rnd.IntN(12) {
	case 0:
		_, _ = p.call(ctx, http.MethodGet, "/sessions?per_page=10&reference_id="+s.Reference, "", nil)
	case 1:
		_, _ = p.call(ctx, http.MethodGet, "/sessions?per_page=50&status=completed", "", nil)
	case 2:
		c.found(p.call(ctx, http.MethodGet, "/sessions/"+s.ID, "", nil))
	case 3:
		_, _ = p.call(ctx, http.MethodGet, "/billing/usage?period=last_30_days", "", nil)
	case 4:
		if id, ok := c.receivers.any(p.index, c.rnd); ok && !p.live {
			if a, err := p.call(ctx, http.MethodPost, "/test/deliveries/"+id+"/attempt", "", map[string]any{}); err == nil &&
				a.Status == http.StatusOK {
				c.ledger.mu.Lock()
				c.ledger.redelivers++
				c.ledger.mu.Unlock()
			}
		}
	}
}

// typed are a customer's answers, some of them only its own.
func (c *customer) typed(section string) url.Values {
	values := maps.Clone(statementtest.Values(section))
	own := marker + strings.ReplaceAll(c.session.Reference, "-", "x") + "v" + fmt.Sprint(c.rnd.IntN(100))
	switch section {
	case statement.PersonalDetailsSection:
		values.Set("occupation", "Tester "+own)
		values.Set("employer", "Works "+own)
	case statement.IncomeSection:
		values.Set("employment_income.gross_salary", fmt.Sprint(90_000+c.rnd.IntN(9_000)))
	case statement.AssetsSection:
		values.Set("vehicles.0.description", "Corolla "+own)
	case statement.LiabilitiesSection:
		values.Set("mortgages.0.lender", "Bank "+own)
	case statement.ExpensesSection:
		values.Set("living.groceries", fmt.Sprint(800+c.rnd.IntN(200)))
	case statement.DocumentsSection:
		values = url.Values{"action": {"continue"}}
	}
	return values
}

// save saves a section until that is acknowledged.
func (c *customer) save(ctx context.Context, section string) bool {
	s := c.session
	if section == statement.DocumentsSection {
		for range c.rnd.IntN(3) {
			if !c.upload(ctx) {
				return false
			}
		}
	}
	values := c.typed(section)
	kind := "save a section"
	if section == statement.DeclarationSection {
		kind = "submit"
		s.asks()
	}
	s.mu.Lock()
	s.tried[section] = true
	s.mu.Unlock()
	return persist(ctx, c.ledger, section+" of "+s.ID, func() bool {
		a, err := c.web.post(ctx, kind, "/f/"+s.ID+"/"+section, values)
		if err != nil {
			return false
		}
		if section == statement.DeclarationSection && a.Status != http.StatusSeeOther && c.completed(ctx) {
			a.Status = http.StatusSeeOther // an earlier one was done, and its answer lost
		}
		if a.Status == http.StatusSeeOther {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.answers[section] = values
			delete(s.tried, section)
			if section == statement.DeclarationSection {
				s.end = "completed"
			}
			return true
		}
		if a.Status < http.StatusInternalServerError {
			c.open(ctx)
		}
		return false
	})
}

// completed asks the partner's side.
func (c *customer) completed(ctx context.Context) bool {
	a, err := c.session.Partner.call(ctx, http.MethodGet, "/sessions/"+c.session.ID, "", nil)
	c.found(a, err)
	return err == nil && strings.Contains(string(a.Body), `"status":"completed"`)
}

// upload sends a document until that is acknowledged.
func (c *customer) upload(ctx context.Context) bool {
	content := make([]byte, 2_000+c.rnd.IntN(200_000))
	_, _ = rand.Read(content) // never fails
	copy(content, "%PDF-1.4\n")
	body, header := client.Document("tax_return", marker+" payslip.pdf", content)
	sum, s := digest(content), c.session
	s.mu.Lock()
	s.sent[sum] = true
	s.mu.Unlock()
	return persist(ctx, c.ledger, "upload to "+s.ID, func() bool {
		a, err := c.web.send(ctx, "upload a document", http.MethodPost, "/f/"+s.ID+"/documents", body, header)
		if err != nil || a.Status != http.StatusSeeOther && a.Status != http.StatusOK {
			if err == nil && a.Status < http.StatusInternalServerError {
				c.open(ctx)
			}
			return false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.documents[sum] = content
		return true
	})
}
