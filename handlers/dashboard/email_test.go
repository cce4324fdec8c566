package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit/harness"
)

// openEmail opens an email's link, which must lead to the page without the token.
func openEmail(s *harness.StaffBrowser, link, page string) {
	s.Helper()
	answer := s.Get(link)
	s.WantRedirect(answer, page)
	cookie := answer.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != page {
		s.Errorf("cookie of the link: %+v", cookie)
	}
}

// wantNoTrace fails where the log, the audit log or a job has the text.
func wantNoTrace(h *harness.Harness, secrets ...string) {
	h.Helper()
	var trail, args string
	h.OK(h.DB.Raw().GetContext(h.Context(), &trail, `SELECT coalesce(string_agg(a::text, ' '), '') FROM audit_log a`))
	h.OK(h.DB.Raw().GetContext(h.Context(), &args,
		`SELECT coalesce(string_agg(concat(args, errors, metadata), ' '), '') FROM river_job`))
	for _, secret := range secrets {
		for where, text := range map[string]string{"log": h.Logs.String(), "audit log": trail, "jobs": args} {
			if strings.Contains(text, secret) {
				h.Errorf("the %s has %q", where, secret)
			}
		}
	}
}

func audited(h *harness.Harness, action domain.AuditAction, want int) {
	h.Helper()
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM audit_log WHERE action = $1`, action); n != want {
		h.Errorf("%d lines %s in the audit log, want %d", n, action, want)
	}
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	elsewhere := h.SignedOut()
	elsewhere.WantRedirect(elsewhere.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
		"/dashboard")
	browser := h.SignedOut()
	browser.WantPage(browser.Post("/dashboard/forgot", url.Values{"email": {"not an address"}}), http.StatusUnprocessableEntity,
		"Enter an email address")

	browser.WantRedirect(browser.Post("/dashboard/forgot", url.Values{"email": {strings.ToUpper(h.Account.Email)}}),
		"/dashboard/letter-sent")
	first := m.Link(m.Email(h.Account.Email, "Choose a new password"))
	browser.WantRedirect(browser.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}}), "/dashboard/letter-sent")
	second := m.Link(m.Email(h.Account.Email, "Choose a new password"))
	if first == second {
		t.Fatal("two emails have the same link")
	}
	openEmail(browser, first, "/dashboard/reset")
	answer := browser.Get("/dashboard/reset")
	browser.WantPage(answer, http.StatusOK, h.Account.Email)
	if strings.Contains(answer.Body.String(), harness.TokenOf(first)) {
		t.Error("the page shows the token")
	}
	browser.WantPage(browser.Post("/dashboard/reset", url.Values{"new_password": {"password123"}}), http.StatusUnprocessableEntity,
		"too common")
	browser.WantRedirect(browser.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), "/dashboard/sign-in")
	browser.WantPage(browser.Get("/dashboard/sign-in"), http.StatusOK, "Password changed")
	m.Email(h.Account.Email, "Your password was changed")
	elsewhere.WantRedirect(elsewhere.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")

	for name, link := range map[string]string{"used": first, "the other one": second, "invented": "/dashboard/reset/ABC"} {
		again := h.SignedOut()
		openEmail(again, link, "/dashboard/reset")
		again.WantPage(again.Get("/dashboard/reset"), http.StatusNotFound, "This link no longer works")
		again.WantPage(again.Post("/dashboard/reset", url.Values{"new_password": {"another good one"}}), http.StatusNotFound,
			"This link no longer works")
		_ = name
	}
	browser.WantPage(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
		http.StatusUnprocessableEntity)
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, harness.GoodPassword)), "/dashboard")
	audited(h, domain.AuditPasswordReset, 1)
	m.Idle()
	wantNoTrace(h, harness.TokenOf(first), harness.TokenOf(second), harness.GoodPassword)
}

func TestResetLinkExpires(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	browser := h.SignedOut()
	browser.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}})
	openEmail(browser, m.Link(m.Email(h.Account.Email, "Choose a new password")), "/dashboard/reset")
	h.Clock.Advance(domain.ResetLife - time.Second)
	browser.WantPage(browser.Get("/dashboard/reset"), http.StatusOK)
	h.Clock.Advance(time.Second)
	browser.WantPage(browser.Get("/dashboard/reset"), http.StatusNotFound)
	browser.WantPage(browser.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), http.StatusNotFound)
}

// TestResponsesDontTellWhoHasAnAccount: what is answered, and what is done before
// the answer, is the same for the address of a user and for an unknown one.
func TestResponsesDontTellWhoHasAnAccount(t *testing.T) {
	t.Parallel()
	signUp := func(email string) url.Values {
		return url.Values{"company": {"New Lender"}, "name": {"Jo"}, "email": {email}, "new_password": {harness.GoodPassword}}
	}
	for name, ask := range map[string]func(browser *harness.StaffBrowser, email string) string{
		"forgot": func(browser *harness.StaffBrowser, email string) string {
			return wholeAnswer(browser, "/dashboard/forgot", url.Values{"email": {email}})
		},
		"sign-up": func(browser *harness.StaffBrowser, email string) string {
			return wholeAnswer(browser, "/dashboard/sign-up", signUp(email))
		},
		"throttled": func(browser *harness.StaffBrowser, email string) string {
			all := ""
			for range 4 {
				all += wholeAnswer(browser, "/dashboard/forgot", url.Values{"email": {email}})
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			var seen []string
			for _, email := range []string{h.Account.Email, "nobody1@lender.example"} {
				answer := strings.ReplaceAll(ask(h.SignedOut(), email), email, "<address>")
				var requests, emails int
				h.OK(h.DB.Raw().GetContext(h.Context(), &requests, `SELECT count(*) FROM staff_request`))
				h.OK(h.DB.Raw().GetContext(h.Context(), &emails, `SELECT count(*) FROM river_job WHERE kind = 'staff_letter'`))
				want := 1
				if name == "throttled" {
					want = 3 // of four, and the page doesn't say so
				}
				if requests != want || requests != emails {
					t.Errorf("%d requests and %d jobs, want %d of each", requests, emails, want)
				}
				seen = append(seen, answer)
				execSQL(h, `DELETE FROM staff_request`)
				execSQL(h, `DELETE FROM river_job`)
			}
			if seen[0] != seen[1] {
				t.Errorf("the answers differ:\n%s\n%s", seen[0], seen[1])
			}
			wantNoTrace(h, h.Account.Email, "nobody1@lender.example")
		})
	}
}

// wholeAnswer posts and returns all that the browser sees of the answer.
func wholeAnswer(browser *harness.StaffBrowser, path string, values url.Values) string {
	answer := browser.Post(path, values)
	return http.StatusText(answer.Code) + " " + answer.Result().Status + " " + answer.Header().Get("Location") + " " +
		answer.Body.String()
}

func TestRequestsAreSealed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.SignedOut().Post("/dashboard/sign-up", url.Values{"company": {"Sealed Lender"}, "name": {"Jo Sealed"},
		"email": {"jo@sealed.example"}, "new_password": {harness.GoodPassword}})
	row := harness.QueryOne[string](h, `SELECT concat(r::text, encode(sealed, 'escape')) FROM staff_request r`)
	for _, secret := range []string{"sealed.example", "Sealed", "argon2", "three small"} {
		if strings.Contains(row, secret) {
			t.Errorf("a request is stored with %q in clear", secret)
		}
	}
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	browser := h.SignedOut()
	form := url.Values{"company": {" "}, "name": {""}, "email": {"jo"}, "new_password": {"short"}}
	browser.WantPage(browser.Post("/dashboard/sign-up", form), http.StatusUnprocessableEntity,
		"Enter the name of your company", "Enter your name", "Enter an email address", "at least 10")
	form = url.Values{"company": {`<script>"A & B`}, "name": {"Jo"}, "email": {"jo@new.example"},
		"new_password": {harness.GoodPassword}}
	browser.WantRedirect(browser.Post("/dashboard/sign-up", form), "/dashboard/letter-sent")
	link := m.Link(m.Email("jo@new.example", "Confirm your email address"))
	if accounts := harness.QueryOne[int](h, `SELECT count(*) FROM account`); accounts != 1 {
		t.Fatal("there is an account before its address is proven")
	}
	openEmail(browser, link, "/dashboard/verify")
	browser.WantPage(browser.Get("/dashboard/verify"), http.StatusOK, "jo@new.example")
	browser.WantPage(browser.Post("/dashboard/verify", url.Values{"password": {"not the one"}}), http.StatusUnprocessableEntity,
		"That isn’t your password")
	browser.WantRedirect(browser.Post("/dashboard/verify", url.Values{"password": {harness.GoodPassword}}), "/dashboard/test")
	answer := browser.Get("/dashboard/test")
	browser.WantPage(answer, http.StatusOK, "Test mode", "Welcome to Candor", "<script>")
	if strings.Contains(answer.Body.String(), `<script>"A`) {
		t.Error("the company's name is not escaped")
	}
	var plan, role string
	h.OK(h.DB.Raw().QueryRowContext(h.Context(), `
		SELECT s.plan_id, u.role FROM staff_user u JOIN subscription s USING (account_id)
			WHERE u.email = 'jo@new.example'`).Scan(&plan, &role))
	if plan != "starter" || role != "owner" {
		t.Errorf("plan %s, role %s; want starter, owner", plan, role)
	}
	again := h.SignedOut()
	openEmail(again, link, "/dashboard/verify")
	again.WantPage(again.Post("/dashboard/verify", url.Values{"password": {harness.GoodPassword}}), http.StatusNotFound,
		"This link no longer works")

	browser.WantRedirect(browser.Post("/dashboard/sign-up", form), "/dashboard/letter-sent")
	known := m.Email("jo@new.example", "You already have an account")
	if strings.Contains(known.Text, "script") {
		t.Errorf("the email repeats what a stranger typed: %s", known.Text)
	}
	m.Idle()
	if left := harness.QueryOne[int](h, `SELECT count(*) FROM staff_request`); left != 0 {
		t.Errorf("%d requests are left", left)
	}
	audited(h, domain.AuditAccountOpened, 1)
	if waiting := harness.QueryOne[int](h, `SELECT count(*) FROM account WHERE approved_at IS NULL`); waiting != 1 {
		t.Errorf("%d accounts await approval, want the one that signed up", waiting)
	}
	wantNoTrace(h, harness.TokenOf(link), harness.GoodPassword)
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	owner := h.Staff(domain.RoleOwner)
	by := owner.Session.Actor()
	invite := func(email string, role domain.Role) (*domain.Invitation, error) {
		return h.Service.Team.Invite(h.Context(), h.Account.AccountID, by, harness.NewInvitation(email, role))
	}
	for _, wrong := range []struct {
		email string
		role  domain.Role
	}{{"sam", domain.RoleSupport}, {"sam@lender.example", "king"}, {h.Account.Email, domain.RoleSupport}} {
		if _, err := invite(wrong.email, wrong.role); len(fieldsOf(err)) != 1 {
			t.Errorf("invite %s as %s: %v, want a problem with one field", wrong.email, wrong.role, err)
		}
	}
	_, err := invite("sam@lender.example", domain.RoleOwner)
	h.OK(err)
	replaced := m.Link(m.Email("sam@lender.example", "Join Lender & Sons on Candor"))
	_, err = invite("Sam@Lender.example", domain.RoleDeveloper)
	h.OK(err)
	link := m.Link(m.Email("Sam@Lender.example", "Join Lender & Sons on Candor"))
	if list, err := h.Service.Team.Invitations(h.Context(), h.Account.AccountID); err != nil || len(list) != 1 ||
		list[0].Role != domain.RoleDeveloper {
		t.Fatalf("invitations: %+v, %v; want the second alone", list, err)
	}

	late := h.SignedOut()
	openEmail(late, replaced, "/dashboard/invitation")
	late.WantPage(late.Get("/dashboard/invitation"), http.StatusNotFound, "ask for another invitation")
	browser := h.SignedOut()
	openEmail(browser, link, "/dashboard/invitation")
	browser.WantPage(browser.Get("/dashboard/invitation"), http.StatusOK, "Join Lender & Sons", "developer", by.Name)
	browser.WantPage(browser.Post("/dashboard/invitation", url.Values{"new_password": {"lender sons"}}),
		http.StatusUnprocessableEntity, "Enter your name", "can’t be your name")
	accept := url.Values{"name": {"Sam"}, "new_password": {harness.GoodPassword}}
	var wg sync.WaitGroup
	codes := make([]int, 2)
	for i := range codes {
		twin := h.SignedOut()
		openEmail(twin, link, "/dashboard/invitation")
		wg.Go(func() { codes[i] = twin.Post("/dashboard/invitation", accept).Code })
	}
	wg.Wait()
	if codes[0]+codes[1] != http.StatusSeeOther+http.StatusNotFound {
		t.Errorf("accepted twice at once: %v, want one 303 and one 404", codes)
	}
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm("sam@lender.example", harness.GoodPassword)),
		"/dashboard")
	browser.WantPage(browser.Get("/dashboard/test/me"), http.StatusOK, "Sam", "Developer")
	m.Email("Sam@Lender.example", "New browser signed in")

	other, err := invite("kim@lender.example", domain.RoleSupport)
	h.OK(err)
	revoked := m.Link(m.Email("kim@lender.example", "Join Lender & Sons on Candor"))
	stranger := h.NewAccount("other@lender.example", "starter")
	if err := h.Service.Team.Revoke(h.Context(), stranger.AccountID, by, other.ID.String()); err == nil {
		t.Error("another account withdrew the invitation")
	}
	h.OK(h.Service.Team.Revoke(h.Context(), h.Account.AccountID, by, other.ID.String()))
	openEmail(late, revoked, "/dashboard/invitation")
	late.WantPage(late.Post("/dashboard/invitation", accept), http.StatusNotFound)

	_, err = invite("other@lender.example", domain.RoleSupport)
	h.OK(err)
	if email := m.Email("other@lender.example", "Join Lender & Sons on Candor"); harness.LinkInEmail.MatchString(email.Text) {
		t.Errorf("who is in another team gets a link: %s", email.Text)
	}
	audited(h, domain.AuditInvited, 4)
	audited(h, domain.AuditInvitationRevoked, 1)
	audited(h, domain.AuditJoined, 1)
	m.Idle()
	wantNoTrace(h, harness.TokenOf(link), harness.TokenOf(replaced), harness.GoodPassword)
}

func TestInvitationExpires(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	_, err := h.Service.Team.Invite(h.Context(), h.Account.AccountID, harness.Operator, harness.NewInvitation("sam@lender.example",
		domain.RoleFinance))
	h.OK(err)
	browser := h.SignedOut()
	openEmail(browser, m.Link(m.Email("sam@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	h.Clock.Advance(domain.InvitationLife)
	browser.WantPage(browser.Get("/dashboard/invitation"), http.StatusNotFound)
	browser.WantPage(browser.Post("/dashboard/invitation", url.Values{"name": {"Sam"}, "new_password": {harness.GoodPassword}}),
		http.StatusNotFound)
}

// storedMail is a fixed list of emails.
type storedMail []mail.Message

// Letters returns the list.
func (m storedMail) Emails() ([]mail.Message, error) { return m, nil }

func TestDevMail(t *testing.T) {
	t.Parallel()
	emails := storedMail{{To: "jo@example.com", Subject: "<b>Hello", Text: "Open https://candor.example/dashboard/reset/ABC now",
		SentAt: harness.StartTime}}
	for _, development := range []bool{true, false} {
		h := harness.New(t, func(c *handlers.Config) { c.DevMail, c.Development = emails, development })
		browser := h.SignedOut()
		answer := browser.Get("/dev/mail")
		if !development {
			browser.WantPage(answer, http.StatusNotFound)
			continue
		}
		browser.WantPage(answer, http.StatusOK, "<b>Hello").LeadsTo("https://candor.example/dashboard/reset/ABC")
	}
}
