package handlers_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/webhook"
	"candor/jobs"
)

// A mailbox takes the letters that a bench's workers send.
type mailbox struct {
	*bench
	sent chan mail.Message
}

// Send takes a letter.
func (m *mailbox) Send(_ context.Context, letter mail.Message) error {
	m.sent <- letter
	return nil
}

// mailbox sets real workers to work, whose letters it takes, until the test
// ends.
func (b *bench) mailbox() *mailbox {
	b.Helper()
	m := &mailbox{bench: b, sent: make(chan mail.Message, 100)}
	client := webhook.NewClient(webhook.Policy{})
	dispatcher := delivery.New(delivery.Config{
		DB: b.db, Ring: b.service.Ring, Client: client, Schedule: webhook.DefaultSchedule(), Clock: b.clock.Now, Logger: b.service.Logger, PollEvery: time.Hour,
	})
	w, err := jobs.NewWorker(b.Context(), jobs.Config{
		DB: b.db, DSN: b.dsn, Outbox: b.service.Outbox, Dispatcher: dispatcher, Ring: b.service.Ring, Blobs: b.service.Blobs,
		Mail: m, BaseURL: baseURL, Clock: b.clock.Now, Logger: b.service.Logger, SweepEvery: time.Hour, RescueAfter: time.Minute, PDFWorkers: 1,
	})
	b.ok(err)
	b.ok(w.Start(b.Context()))
	dispatcher.Start()
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		dispatcher.Stop(ctx)
		if err := w.Stop(ctx); err != nil {
			b.Errorf("stop the workers: %v", err)
		}
	})
	return m
}

// letter waits for the next letter, which must be to that address and have
// that subject.
func (m *mailbox) letter(to, subject string) mail.Message {
	m.Helper()
	select {
	case letter := <-m.sent:
		if letter.To != to || letter.Subject != subject {
			m.Fatalf("letter to %s: %q, want one to %s: %q", letter.To, letter.Subject, to, subject)
		}
		return letter
	case <-time.After(20 * time.Second):
		m.Fatalf("no letter to %s came: %q", to, subject)
		return mail.Message{}
	}
}

// idle waits until all letters that were asked for are sent, and fails on one
// that nobody took.
func (m *mailbox) idle() {
	m.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var waiting int
		m.ok(m.db.Raw().GetContext(m.Context(), &waiting, `SELECT count(*) FROM river_job WHERE kind = 'staff_letter' AND state <> 'completed'`))
		if waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			m.Fatalf("%d letters are never sent", waiting)
		}
	}
	select {
	case letter := <-m.sent:
		m.Errorf("unexpected letter to %s: %q", letter.To, letter.Subject)
	default:
	}
}

var linkInLetter = regexp.MustCompile(regexp.QuoteMeta(baseURL) + `(/dashboard/\S+)`)

// link is the path that a letter's link leads to; its HTML says the same.
func (m *mailbox) link(letter mail.Message) string {
	m.Helper()
	found := linkInLetter.FindStringSubmatch(letter.Text)
	if found == nil || !strings.Contains(letter.HTML, `href="`+found[0]+`"`) {
		m.Fatalf("no link, or not the same one in text and HTML:\n%s\n%s", letter.Text, letter.HTML)
	}
	return found[1]
}

// openLetter opens a letter's link, which must lead to the page without the token.
func (s *staffBrowser) openLetter(link, page string) {
	s.Helper()
	answer := s.get(link)
	s.wantRedirect(answer, page)
	cookie := answer.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != page {
		s.Errorf("cookie of the link: %+v", cookie)
	}
}

func token(link string) string { return link[strings.LastIndex(link, "/")+1:] }

// wantNoTrace fails where the log, the audit log or a job has the text.
func (b *bench) wantNoTrace(secrets ...string) {
	b.Helper()
	var trail, args string
	b.ok(b.db.Raw().GetContext(b.Context(), &trail, `SELECT coalesce(string_agg(a::text, ' '), '') FROM audit_log a`))
	b.ok(b.db.Raw().GetContext(b.Context(), &args, `SELECT coalesce(string_agg(concat(args, errors, metadata), ' '), '') FROM river_job`))
	for _, secret := range secrets {
		for where, text := range map[string]string{"log": b.logs.String(), "audit log": trail, "jobs": args} {
			if strings.Contains(text, secret) {
				b.Errorf("the %s has %q", where, secret)
			}
		}
	}
}

func (b *bench) audited(action domain.AuditAction, want int) {
	b.Helper()
	var n int
	b.ok(b.db.Raw().GetContext(b.Context(), &n, `SELECT count(*) FROM audit_log WHERE action = $1`, action))
	if n != want {
		b.Errorf("%d lines %s in the audit log, want %d", n, action, want)
	}
}

const goodPassword = "three small green boats"

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	elsewhere := b.stranger()
	elsewhere.wantRedirect(elsewhere.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
	browser := b.stranger()
	browser.wantPage(browser.post("/dashboard/forgot", url.Values{"email": {"not an address"}}), http.StatusUnprocessableEntity, "Enter an e-mail address")

	browser.wantRedirect(browser.post("/dashboard/forgot", url.Values{"email": {strings.ToUpper(b.account.Email)}}), "/dashboard/letter-sent")
	first := m.link(m.letter(b.account.Email, "Choose a new password"))
	browser.wantRedirect(browser.post("/dashboard/forgot", url.Values{"email": {b.account.Email}}), "/dashboard/letter-sent")
	second := m.link(m.letter(b.account.Email, "Choose a new password"))
	if first == second {
		t.Fatal("two letters have the same link")
	}
	browser.openLetter(first, "/dashboard/reset")
	answer := browser.get("/dashboard/reset")
	browser.wantPage(answer, http.StatusOK, b.account.Email)
	if strings.Contains(answer.Body.String(), token(first)) {
		t.Error("the page shows the token")
	}
	browser.wantPage(browser.post("/dashboard/reset", url.Values{"new_password": {"password123"}}), http.StatusUnprocessableEntity, "first that others would try")
	browser.wantRedirect(browser.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), "/dashboard/sign-in")
	browser.wantPage(browser.get("/dashboard/sign-in"), http.StatusOK, "Password changed")
	m.letter(b.account.Email, "Your password was changed")
	elsewhere.wantRedirect(elsewhere.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")

	for name, link := range map[string]string{"used": first, "the other one": second, "invented": "/dashboard/reset/ABC"} {
		again := b.stranger()
		again.openLetter(link, "/dashboard/reset")
		again.wantPage(again.get("/dashboard/reset"), http.StatusNotFound, "This link no longer works")
		again.wantPage(again.post("/dashboard/reset", url.Values{"new_password": {"another good one"}}), http.StatusNotFound, "This link no longer works")
		_ = name
	}
	browser.wantPage(browser.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), http.StatusUnprocessableEntity)
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(b.account.Email, goodPassword)), "/dashboard")
	b.audited(domain.AuditPasswordReset, 1)
	m.idle()
	b.wantNoTrace(token(first), token(second), goodPassword)
}

func TestResetLinkExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	browser := b.stranger()
	browser.post("/dashboard/forgot", url.Values{"email": {b.account.Email}})
	browser.openLetter(m.link(m.letter(b.account.Email, "Choose a new password")), "/dashboard/reset")
	b.clock.advance(domain.ResetLife - time.Second)
	browser.wantPage(browser.get("/dashboard/reset"), http.StatusOK)
	b.clock.advance(time.Second)
	browser.wantPage(browser.get("/dashboard/reset"), http.StatusNotFound)
	browser.wantPage(browser.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), http.StatusNotFound)
}

// TestNobodyLearnsWhoHasAnAccount: what is answered, and what is done before
// the answer, is the same for an address that somebody has and one that nobody
// has.
func TestNobodyLearnsWhoHasAnAccount(t *testing.T) {
	t.Parallel()
	signUp := func(email string) url.Values {
		return url.Values{"company": {"New Lender"}, "name": {"Jo"}, "email": {email}, "new_password": {goodPassword}}
	}
	for name, ask := range map[string]func(browser *staffBrowser, email string) string{
		"forgot": func(browser *staffBrowser, email string) string {
			return page(browser, "/dashboard/forgot", url.Values{"email": {email}})
		},
		"sign-up": func(browser *staffBrowser, email string) string {
			return page(browser, "/dashboard/sign-up", signUp(email))
		},
		"throttled": func(browser *staffBrowser, email string) string {
			all := ""
			for range 4 {
				all += page(browser, "/dashboard/forgot", url.Values{"email": {email}})
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var seen []string
			for _, email := range []string{b.account.Email, "nobody1@lender.example"} {
				answer := strings.ReplaceAll(ask(b.stranger(), email), email, "<address>")
				var requests, letters int
				b.ok(b.db.Raw().GetContext(b.Context(), &requests, `SELECT count(*) FROM staff_request`))
				b.ok(b.db.Raw().GetContext(b.Context(), &letters, `SELECT count(*) FROM river_job WHERE kind = 'staff_letter'`))
				want := 1
				if name == "throttled" {
					want = 3 // of four, and the page doesn't say so
				}
				if requests != want || requests != letters {
					t.Errorf("%d requests and %d jobs, want %d of each", requests, letters, want)
				}
				seen = append(seen, answer)
				_, err := b.db.Raw().ExecContext(b.Context(), `DELETE FROM staff_request`)
				b.ok(err)
				_, err = b.db.Raw().ExecContext(b.Context(), `DELETE FROM river_job`)
				b.ok(err)
			}
			if seen[0] != seen[1] {
				t.Errorf("the answers differ:\n%s\n%s", seen[0], seen[1])
			}
			b.wantNoTrace(b.account.Email, "nobody1@lender.example")
		})
	}
}

// page posts and returns all that the browser sees of the answer.
func page(browser *staffBrowser, path string, values url.Values) string {
	answer := browser.post(path, values)
	return http.StatusText(answer.Code) + " " + answer.Result().Status + " " + answer.Header().Get("Location") + " " + answer.Body.String()
}

func TestRequestsAreSealed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.stranger().post("/dashboard/sign-up", url.Values{"company": {"Sealed Lender"}, "name": {"Jo Sealed"}, "email": {"jo@sealed.example"}, "new_password": {goodPassword}})
	var row string
	b.ok(b.db.Raw().GetContext(b.Context(), &row, `SELECT concat(r::text, encode(sealed, 'escape')) FROM staff_request r`))
	for _, secret := range []string{"sealed.example", "Sealed", "argon2", "three small"} {
		if strings.Contains(row, secret) {
			t.Errorf("a request is stored with %q in clear", secret)
		}
	}
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	browser := b.stranger()
	form := url.Values{"company": {" "}, "name": {""}, "email": {"jo"}, "new_password": {"short"}}
	browser.wantPage(browser.post("/dashboard/sign-up", form), http.StatusUnprocessableEntity,
		"Enter the name of your company", "Enter your name", "Enter an e-mail address", "at least 10")
	form = url.Values{"company": {`<script>"A & B`}, "name": {"Jo"}, "email": {"jo@new.example"}, "new_password": {goodPassword}}
	browser.wantRedirect(browser.post("/dashboard/sign-up", form), "/dashboard/letter-sent")
	link := m.link(m.letter("jo@new.example", "Confirm your e-mail address"))
	var accounts int
	b.ok(b.db.Raw().GetContext(b.Context(), &accounts, `SELECT count(*) FROM account`))
	if accounts != 1 {
		t.Fatal("there is an account before its address is proven")
	}
	browser.openLetter(link, "/dashboard/verify")
	browser.wantPage(browser.get("/dashboard/verify"), http.StatusOK, "jo@new.example")
	browser.wantPage(browser.post("/dashboard/verify", url.Values{"password": {"not the one"}}), http.StatusUnprocessableEntity, "That isn’t your password")
	browser.wantRedirect(browser.post("/dashboard/verify", url.Values{"password": {goodPassword}}), "/dashboard/test")
	answer := browser.get("/dashboard/test")
	browser.wantPage(answer, http.StatusOK, "Test mode", "Welcome to Candor", "&lt;script&gt;")
	if strings.Contains(answer.Body.String(), `<script>"A`) {
		t.Error("the company's name is not escaped")
	}
	var plan, role string
	b.ok(b.db.Raw().QueryRowContext(b.Context(), `
		SELECT s.plan_id, u.role FROM staff_user u JOIN subscription s USING (account_id) WHERE u.email = 'jo@new.example'`).Scan(&plan, &role))
	if plan != "starter" || role != "owner" {
		t.Errorf("plan %s, role %s; want starter, owner", plan, role)
	}
	again := b.stranger()
	again.openLetter(link, "/dashboard/verify")
	again.wantPage(again.post("/dashboard/verify", url.Values{"password": {goodPassword}}), http.StatusNotFound, "This link no longer works")

	browser.wantRedirect(browser.post("/dashboard/sign-up", form), "/dashboard/letter-sent")
	known := m.letter("jo@new.example", "You already have an account")
	if strings.Contains(known.Text, "script") {
		t.Errorf("the letter repeats what a stranger typed: %s", known.Text)
	}
	m.idle()
	var left int
	b.ok(b.db.Raw().GetContext(b.Context(), &left, `SELECT count(*) FROM staff_request`))
	if left != 0 {
		t.Errorf("%d requests are left", left)
	}
	b.audited(domain.AuditAccountOpened, 1)
	var waiting int
	b.ok(b.db.Raw().GetContext(b.Context(), &waiting, `SELECT count(*) FROM account WHERE approved_at IS NULL`))
	if waiting != 1 {
		t.Errorf("%d accounts await approval, want the one that signed up", waiting)
	}
	b.wantNoTrace(token(link), goodPassword)
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	owner := b.staff(domain.RoleOwner)
	by := owner.session.Actor()
	invite := func(email string, role domain.Role) (*domain.Invitation, error) {
		return b.service.Team.Invite(b.Context(), b.account.AccountID, by, newInvitation(email, role))
	}
	for _, wrong := range []struct {
		email string
		role  domain.Role
	}{{"nobody", domain.RoleSupport}, {"sam@lender.example", "king"}, {b.account.Email, domain.RoleSupport}} {
		if _, err := invite(wrong.email, wrong.role); len(fieldsOf(err)) != 1 {
			t.Errorf("invite %s as %s: %v, want a problem with one field", wrong.email, wrong.role, err)
		}
	}
	_, err := invite("sam@lender.example", domain.RoleOwner)
	b.ok(err)
	replaced := m.link(m.letter("sam@lender.example", "Join Lender & Sons on Candor"))
	_, err = invite("Sam@Lender.example", domain.RoleDeveloper)
	b.ok(err)
	link := m.link(m.letter("Sam@Lender.example", "Join Lender & Sons on Candor"))
	if list, err := b.service.Team.Invitations(b.Context(), b.account.AccountID); err != nil || len(list) != 1 || list[0].Role != domain.RoleDeveloper {
		t.Fatalf("invitations: %+v, %v; want the second alone", list, err)
	}

	late := b.stranger()
	late.openLetter(replaced, "/dashboard/invitation")
	late.wantPage(late.get("/dashboard/invitation"), http.StatusNotFound, "ask for another invitation")
	browser := b.stranger()
	browser.openLetter(link, "/dashboard/invitation")
	browser.wantPage(browser.get("/dashboard/invitation"), http.StatusOK, "Join Lender &amp; Sons", "developer", by.Name)
	browser.wantPage(browser.post("/dashboard/invitation", url.Values{"new_password": {"lender sons"}}), http.StatusUnprocessableEntity, "Enter your name", "must not be your name")
	accept := url.Values{"name": {"Sam"}, "new_password": {goodPassword}}
	var wg sync.WaitGroup
	codes := make([]int, 2)
	for i := range codes {
		twin := b.stranger()
		twin.openLetter(link, "/dashboard/invitation")
		wg.Go(func() { codes[i] = twin.post("/dashboard/invitation", accept).Code })
	}
	wg.Wait()
	if codes[0]+codes[1] != http.StatusSeeOther+http.StatusNotFound {
		t.Errorf("accepted twice at once: %v, want one 303 and one 404", codes)
	}
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm("sam@lender.example", goodPassword)), "/dashboard")
	browser.wantPage(browser.get("/dashboard/test/me"), http.StatusOK, "Sam", "Developer")
	m.letter("Sam@Lender.example", "New browser signed in")

	other, err := invite("kim@lender.example", domain.RoleSupport)
	b.ok(err)
	revoked := m.link(m.letter("kim@lender.example", "Join Lender & Sons on Candor"))
	stranger := b.newAccount("other@lender.example", "starter")
	if err := b.service.Team.Revoke(b.Context(), stranger.AccountID, by, other.ID.String()); err == nil {
		t.Error("another account withdrew the invitation")
	}
	b.ok(b.service.Team.Revoke(b.Context(), b.account.AccountID, by, other.ID.String()))
	late.openLetter(revoked, "/dashboard/invitation")
	late.wantPage(late.post("/dashboard/invitation", accept), http.StatusNotFound)

	_, err = invite("other@lender.example", domain.RoleSupport)
	b.ok(err)
	if letter := m.letter("other@lender.example", "Join Lender & Sons on Candor"); linkInLetter.MatchString(letter.Text) {
		t.Errorf("who is in another team gets a link: %s", letter.Text)
	}
	b.audited(domain.AuditInvited, 4)
	b.audited(domain.AuditInvitationRevoked, 1)
	b.audited(domain.AuditJoined, 1)
	m.idle()
	b.wantNoTrace(token(link), token(replaced), goodPassword)
}

func TestInvitationExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	_, err := b.service.Team.Invite(b.Context(), b.account.AccountID, someone, newInvitation("sam@lender.example", domain.RoleFinance))
	b.ok(err)
	browser := b.stranger()
	browser.openLetter(m.link(m.letter("sam@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	b.clock.advance(domain.InvitationLife)
	browser.wantPage(browser.get("/dashboard/invitation"), http.StatusNotFound)
	browser.wantPage(browser.post("/dashboard/invitation", url.Values{"name": {"Sam"}, "new_password": {goodPassword}}), http.StatusNotFound)
}

// storedMail is a fixed list of emails.
type storedMail []mail.Message

// Letters returns the list.
func (m storedMail) Emails() ([]mail.Message, error) { return m, nil }

func TestDevMail(t *testing.T) {
	t.Parallel()
	letters := storedMail{{To: "jo@example.com", Subject: "<b>Hello", Text: "Open https://candor.example/dashboard/reset/ABC now", SentAt: startTime}}
	for _, development := range []bool{true, false} {
		b := newBench(t, func(c *handlers.Config) { c.DevMail, c.Development = letters, development })
		browser := b.stranger()
		answer := browser.get("/dev/mail")
		if !development {
			browser.wantPage(answer, http.StatusNotFound)
			continue
		}
		browser.wantPage(answer, http.StatusOK, "&lt;b&gt;Hello", `<a href="https://candor.example/dashboard/reset/ABC">`)
	}
}
