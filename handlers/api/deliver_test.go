package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/service/accounts"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/smtptest"
)

const (
	invited  = "Lender & Sons asks for your financial statement"
	reminded = "Reminder: " + invited
	begun    = "Your statement for Lender & Sons isn’t finished"
)

// delivered creates a live session whose link is emailed.
func delivered(h *harness.Harness, remind bool, email string) *domain.Session {
	h.Helper()
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	return h.NewSession(live, domain.NewSession{CustomerEmail: email, CustomerName: "Jo Citizen",
		Deliver: &domain.Deliver{Remind: remind}})
}

// deliverOf is the session's member deliver.
func deliverOf(h *harness.Harness, key string, id any) map[string]any {
	h.Helper()
	got, _ := h.Do(harness.Call{Method: http.MethodGet, Path: fmt.Sprint("/sessions/", id), Key: key}).WantStatus(http.StatusOK).
		Object()["deliver"].(map[string]any)
	return got
}

// none fails if an email was sent.
func none(m *harness.Mailbox) {
	m.Helper()
	m.AwaitLinkEmails()
	select {
	case email := <-m.Sent:
		m.Fatalf("unexpected email to %s: %q", email.To, email.Subject)
	default:
	}
}

// swept waits until the workers' first sweep, which starts with them, is over: it would find
// what is due when a test moves the clock.
func swept(h *harness.Harness) {
	h.Helper()
	testkit.Await(h, "the sweep of emails never ran", func() bool {
		return harness.QueryOne[int](h, `SELECT count(*) FROM river_job WHERE kind = 'session_email_sweep' AND state = 'completed'`) > 0
	})
}

// TestLinkIsEmailed: the customer gets the link that the request's key may have, once, in
// the partner's name, and what became of it is seen (D103).
func TestLinkIsEmailed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		account, err := tx.LockAccount(t.Context(), h.Account.AccountID)
		help := "help@lender.example"
		account.HelpEmail = &help
		return errors.Join(err, tx.UpdateAccount(t.Context(), account))
	}))
	const body = `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "customer_name": "Jo Citizen", "deliver": {"by": "email"}}`
	create := harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: body,
		Header: "Idempotency-Key: one"}
	created := h.Do(create).WantStatus(http.StatusCreated).Object()
	if got := fmt.Sprint(
		created["deliver"]); got != "map[by:email problem:<nil> remind:false reminders_sent:0 reminders_stopped_at:<nil> sent_at:<nil> status:queued]" {
		t.Errorf("created with %s", got)
	}
	email := m.Email("jo@customer.example", invited)
	link := created["session_url"].(string)
	if email.FromName != "Lender & Sons via Candor" || email.ReplyTo != "help@lender.example" || email.Unsubscribe != "" ||
		email.ID == "" {
		t.Errorf("from %q, replies to %q, unsubscribe %q, id %q", email.FromName, email.ReplyTo, email.Unsubscribe, email.ID)
	}
	for _, want := range []string{"Hello Jo Citizen,", link, "until 20 December 2026, 2:04 pm AEDT",
		"Contact Lender & Sons at help@lender.example."} {
		if !strings.Contains(email.Text, want) {
			t.Errorf("the email lacks %q:\n%s", want, email.Text)
		}
	}
	if !strings.Contains(email.HTML, `href="`+link+`"`) || strings.Contains(email.HTML, "<img") ||
		strings.ContainsAny(email.Text, "$") {
		t.Errorf("the HTML has another link, loads something, or money is told:\n%s", email.HTML)
	}
	h.Do(create).WantStatus(http.StatusCreated) // the same request again
	h.AwaitLinkEmails()
	if got := deliverOf(h, h.Account.LiveKey, created["id"]); got["status"] != "sent" ||
		got["sent_at"] != "2026-11-20T03:04:05.678Z" || got["problem"] != nil {
		t.Errorf("sent as %v", got)
	}
	none(m)
	token := link[strings.LastIndex(link, "/")+1:]
	if n := harness.QueryOne[int](h,
		`SELECT (SELECT count(*) FROM river_job j WHERE j::text LIKE '%' || $1 || '%') + (SELECT count(*) FROM link_email e WHERE e::text LIKE '%' || $1 || '%')`, token); n != 0 || strings.Contains(h.Logs.String(), token) {
		t.Errorf("%d rows, or the log, have the link's token", n)
	}
	h.OK(h.Service.Accounts.ChangeSettings(t.Context(), h.Account.AccountID, harness.Operator,
		func(s *accounts.Settings) { s.Languages = []string{string(domain.Vietnamese)} }))
	owner := h.Owner()
	owner.WantRedirect(owner.SendLogo("logo.png", harness.Drawing(t, 96, 96, color.Black)), "/dashboard/test/settings")
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey,
		Body: strings.Replace(body, "{", `{"language": "vi", `, 1)}).WantStatus(http.StatusCreated)
	if email := <-m.Sent; email.Subject == invited || !strings.Contains(email.HTML, `<html lang="vi"`) || email.Picture == nil ||
		len(email.Picture.Content) == 0 || !strings.Contains(email.HTML, `src="cid:`+email.Picture.Name+`"`) {
		t.Errorf("in Vietnamese with a logo: %q, %v in %.300s", email.Subject, email.Picture != nil, email.HTML)
	}
	if bare := h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated).Object(); bare["deliver"] != nil ||
		deliverOf(h, "", bare["id"]) != nil {
		t.Error("a session that didn’t ask for it has deliver")
	}
}

// TestNextLinkIsEmailed: who was asked before sees that this is another request, and that the
// former answers are there (D101).
func TestNextLinkIsEmailed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	former := delivered(h, false, "jo@customer.example")
	m.Email(former.CustomerEmail, invited)
	h.Complete(former.ID)
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: strings.Replace(
		continues(former.CustomerEmail, former.ID.String()), "{", `{"deliver": {"by": "email"}, `, 1)}).WantStatus(http.StatusCreated)
	if email := m.Email(former.CustomerEmail, "Lender & Sons asks for a new financial statement"); !strings.Contains(email.Text,
		"Your last answers are there") {
		t.Errorf("the email doesn’t say what is there:\n%s", email.Text)
	}
}

// TestDeliverIsChecked: what can’t be done is refused, and names the field.
func TestDeliverIsChecked(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for wrong, field := range map[string]string{`"email"`: "deliver", `true`: "deliver", `[]`: "deliver", `{}`: "deliver.by",
		`{"by": 5}`: "deliver.by", `{"by": "email", "remind": "yes"}`: "deliver.remind"} {
		h.Post("/sessions", with(`"deliver": `+wrong)).WantError(http.StatusBadRequest, "invalid_request", field)
	}
	h.Post("/sessions", with(`"deliver": {"by": "sms"}`)).WantError(http.StatusUnprocessableEntity, "validation_error", "deliver.by")
	h.Post("/sessions", `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "deliver": null}`).
		WantStatus(http.StatusCreated)
}

// TestEmailedLinkIsTheCreators: a key without data:read can’t have the link that opens what
// the customer entered emailed to an address of its own (D51, D92), and test mode emails
// only the account's own team (D106).
func TestEmailedLinkIsTheCreators(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	stranger := h.NewAccount("other@lender.example", "starter")
	member, other := h.Staff(domain.RoleSupport).Session.Email, h.StaffOf(stranger.AccountID, domain.RoleOwner).Session.Email
	key := h.RestrictedKey(domain.Permissions{domain.SessionsWrite, domain.SessionsRead})
	create := func(address string) map[string]any {
		return h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: key, Body: map[string]any{
			"form_type": "financial_statement", "customer_email": address, "deliver": map[string]any{"by": "email", "remind": true},
		}}).WantStatus(http.StatusCreated).Object()
	}
	created := create(strings.ToUpper(member[:1]) + member[1:])
	link := created["session_url"].(string)
	if email := <-m.Sent; !strings.Contains(link, "/b0.") || !strings.Contains(email.Text, link+"\n") {
		t.Errorf("the email has another link than %s:\n%s", link, email.Text)
	}
	for _, address := range []string{"jo@customer.example", other} {
		id := create(address)["id"]
		none(m)
		if got := deliverOf(h, key, id); got["status"] != "not_sent" ||
			got["problem"] != "Test mode sends emails only to people of your own team." {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// TestReminders come by what happened, once each, and not at night (D104).
func TestReminders(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	swept(h)
	session := delivered(h, true, "jo@customer.example") // at 14:04 in Sydney
	m.Email("jo@customer.example", invited)
	start := h.Clock.Now()
	at := func(after time.Duration) {
		h.LookAtEmails(session.ID, start.Add(after))
	}
	const day, hour = 24 * time.Hour, time.Hour
	at(2*day - time.Minute)
	none(m)
	at(2*day + 7*hour) // 21:04
	none(m)
	at(2*day + 18*hour) // 8:04
	first := m.Email("jo@customer.example", reminded)
	if !strings.Contains(first.Text, "You haven’t opened the form yet.") || !strings.HasPrefix(first.Unsubscribe,
		"https://candor.example/f/"+session.ID.String()+"/reminders/") || !strings.Contains(first.Text, first.Unsubscribe) {
		t.Errorf("unsubscribe at %q:\n%s", first.Unsubscribe, first.Text)
	}
	at(6 * day)
	none(m)
	at(7 * day)
	m.Email("jo@customer.example", reminded)
	at(9 * day)
	none(m)

	c := h.Customer(session) // and begins
	c.WantPage(c.Get(""), http.StatusOK)
	c.Answer(statement.PersonalDetailsSection)
	c.Answer(statement.IncomeSection)
	at(10*day - time.Minute)
	none(m)
	at(10 * day)
	if email := m.Email("jo@customer.example", begun); !strings.Contains(email.Text, "The next section is: Assets") {
		t.Errorf("no section:\n%s", email.Text)
	}
	at(13 * day)
	m.Email("jo@customer.example", begun)
	at(27 * day)
	none(m)
	at(28 * day)
	ending := m.Email("jo@customer.example", "Your link from Lender & Sons ends on 20 December 2026")
	at(29 * day)
	none(m)
	if got := deliverOf(h, h.Account.LiveKey, session.ID); got["reminders_sent"] != 5.0 {
		t.Errorf("%v", got)
	}
	owner := h.Staff(domain.RoleOwner)
	path := "/dashboard/live/sessions/" + session.ID.String()
	const follow = "The customer is reminded until the form is sent."
	owner.WantPage(owner.Get(path), http.StatusOK, "Emails to the customer", "Second reminder: not finished",
		"Reminder: the link ends soon").Hides(follow)

	owner.WantRedirect(owner.Post(path+"/extend", url.Values{"more": {"7"}}), path)
	owner.WantPage(owner.Get(path), http.StatusOK, follow)
	h.AwaitLinkEmails()
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM link_delivery WHERE look_at IS NOT NULL`); n != 1 {
		t.Error("no worker looks at an extended session")
	}
	at(34 * day)
	none(m)
	at(35 * day)
	again := m.Email("jo@customer.example", "Your link from Lender & Sons ends on 27 December 2026")
	if again.ID == ending.ID {
		t.Error("mail programs would show the second as the first")
	}
	at(36 * day)
	none(m)
	if got := deliverOf(h, h.Account.LiveKey, session.ID); got["reminders_sent"] != 6.0 || got["status"] != "sent" {
		t.Errorf("%v", got)
	}
}

// TestReminderIsOvertaken: a reminder that the mail server put off isn't sent, and doesn't wait
// for ever, when the customer has begun or completed in between (D104).
func TestReminderIsOvertaken(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	server, say := mailServer(h)
	session := delivered(h, true, "jo@customer.example")
	h.AwaitLinkEmails()
	path := "/dashboard/live/sessions/" + session.ID.String()
	want := func(waits bool, sent float64) {
		t.Helper()
		got := deliverOf(h, h.Account.LiveKey, session.ID)
		if (got["problem"] == "The mail server asks to try again later (451 4.7.1).") != waits || got["problem"] == nil == waits ||
			got["reminders_sent"] != sent {
			t.Errorf("%v, want one that waits: %t, and %v reminders", got, waits, sent)
		}
		if owner := h.Staff(domain.RoleOwner); !waits { // signed in now
			owner.WantPage(owner.Get(path), http.StatusOK, "It wasn’t needed any more")
		}
	}
	start := h.Clock.Now()
	at := func(days int) { h.LookAtEmails(session.ID, start.AddDate(0, 0, days)) }
	say("RCPT", "451 4.7.1 wait")
	at(2)
	want(true, 0)
	c := h.Customer(session)
	c.Answer(statement.IncomeSection)
	say("", "")
	at(2)
	want(false, 0)
	at(3)
	want(false, 1)
	say("RCPT", "451 4.7.1 wait")
	at(6)
	want(true, 1)
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	say("", "")
	at(7)
	want(false, 1)
	if got := len(server.Emails()); got != 2 {
		t.Errorf("%d emails, want the link and a reminder", got)
	}

	session = delivered(h, true, "jo@customer.example") // whose last reminder waits while it is extended
	h.AwaitLinkEmails()
	start, path = h.Clock.Now(), "/dashboard/live/sessions/"+session.ID.String()
	at(7)
	say("RCPT", "451 4.7.1 wait")
	at(28)
	want(true, 1)
	owner := h.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post(path+"/extend", url.Values{"more": {"7"}}), path)
	say("", "")
	at(29)
	want(false, 1)
	at(35)
	if got := deliverOf(h, h.Account.LiveKey, session.ID); got["reminders_sent"] != 2.0 {
		t.Errorf("%v", got)
	}
	owner = h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get(path), http.StatusOK).Hides("a second time")
}

// TestRemindersEnd: nothing follows completion, cancellation, a renewed link, an erasure or
// "No more reminders", which needs no sign-in, and which a GET doesn't choose (D104).
func TestRemindersEnd(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	swept(h)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	post := func(path string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("List-Unsubscribe=One-Click"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return h.Serve(r).Code
	}
	stopOf := func(id domain.SessionID) string {
		return "/f/" + id.String() + "/reminders/" + h.Service.Ring.Token(domain.ReminderSubject(id))
	}
	for name, end := range map[string]func(s *domain.Session){
		"nothing": func(s *domain.Session) {
			for _, path := range []string{stopOf(s.ID)[:len(stopOf(s.ID))-1], "/f/" + s.ID.String() + "/reminders/" + h.Token(s.ID)} {
				if got := post(path); got != http.StatusNotFound {
					t.Errorf("POST %s: %d, want 404", path, got)
				}
			}
			c := &harness.Customer{Harness: h, ID: s.ID, Cookies: map[string]string{}}
			c.WantPage(c.Send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, stopOf(s.ID), nil)), http.StatusOK).
				Shows("Candor reminds you of the statement for Lender & Sons")
		},
		"no more": func(s *domain.Session) {
			if got := post(stopOf(s.ID)); got != http.StatusOK {
				t.Errorf("POST: %d, want 200", got)
			}
			owner := h.Staff(domain.RoleOwner)
			owner.WantPage(owner.Get("/dashboard/live/sessions/"+s.ID.String()), http.StatusOK, "The customer chose no more reminders.")
			if deliverOf(h, h.Account.LiveKey, s.ID)["reminders_stopped_at"] == nil {
				t.Error("the API doesn't say that reminders are stopped")
			}
		},
		"completed": func(s *domain.Session) {
			c := h.Customer(s)
			c.AnswerAll()
			c.WantRedirect(c.Sign())
		},
		"cancelled": func(s *domain.Session) {
			_, err := h.Service.Sessions.Cancel(t.Context(), live, s.ID, harness.Operator)
			h.OK(err)
		},
		"renewed": func(s *domain.Session) {
			_, err := h.Service.Sessions.RenewLink(t.Context(), live, s.ID, harness.Operator)
			h.OK(err)
		},
		"erased": func(s *domain.Session) {
			h.OK(h.Service.Sessions.Erase(t.Context(), live, s.ID, []domain.SessionID{s.ID}, s.CustomerEmail, harness.Operator))
			if n := harness.QueryOne[int](h,
				`SELECT (SELECT count(*) FROM link_email WHERE session_id = $1) + (SELECT count(*) FROM link_delivery WHERE session_id = $1)`,
				s.ID); n != 0 {
				t.Errorf("%d rows of an erased session", n)
			}
		},
	} {
		session := delivered(h, true, strings.ReplaceAll(name, " ", "")+"@customer.example")
		m.Email(session.CustomerEmail, invited)
		end(session)
		created := h.Clock.Now()
		for _, days := range []int{2, 7, 28} {
			h.LookAtEmails(session.ID, created.AddDate(0, 0, days))
			if name == "nothing" {
				<-m.Sent
			} else {
				none(m)
			}
		}
		h.Clock.Set(created)
	}
}

// mailServer has real workers send emails through a server that answers one step as say says.
func mailServer(h *harness.Harness) (server *smtptest.Server, say func(step, answer string)) {
	h.Helper()
	var mu sync.Mutex
	answers := map[string]string{}
	server = smtptest.New(h, func(command string) string {
		mu.Lock()
		defer mu.Unlock()
		verb, _, _ := strings.Cut(command, " ")
		return answers[verb]
	})
	sender, err := mail.NewSMTP("smtp://"+server.Address, "Candor <no-reply@candor.example>")
	h.OK(err)
	h.Workers(sender)
	swept(h)
	return server, func(step, answer string) { mu.Lock(); defer mu.Unlock(); clear(answers); answers[step] = answer }
}

// TestEmailsThatAreNotTaken: a 5xx is final, a 4xx is tried again as RFC 5321 says, for 4½
// days, and a text without an answer isn't sent again (D105).
func TestEmailsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	server, say := mailServer(h)
	owner := h.Staff(domain.RoleOwner)
	tried := func(s *domain.Session) int {
		return harness.QueryOne[int](h, `SELECT tries FROM link_email WHERE session_id = $1 AND kind = 'link'`, s.ID)
	}
	want := func(s *domain.Session, status string, problem any) {
		t.Helper()
		h.AwaitLinkEmails()
		if got := deliverOf(h, h.Account.LiveKey, s.ID); got["status"] != status || got["problem"] != problem {
			t.Errorf("%v, want %s, %v", got, status, problem)
		}
	}

	say("RCPT", "550 5.1.1 no such user gone@customer.example")
	gone := delivered(h, true, "gone@customer.example")
	const missing = "The mail server says that this address doesn’t exist (550 5.1.1)."
	want(gone, "failed", missing)
	owner.WantPage(owner.Get("/dashboard/live/sessions/"+gone.ID.String()), http.StatusOK, "Couldn’t be delivered", missing)
	say("", "")
	h.LookAtEmails(gone.ID, h.Clock.Now().Add(49*time.Hour))
	want(gone, "failed", missing)

	say(".", "451 4.7.1 wait, grey@customer.example")
	grey, later := delivered(h, true, "grey@customer.example"), delivered(h, false, "later@customer.example")
	want(grey, "queued", "The mail server asks to try again later (451 4.7.1).")
	for i, pause := range []time.Duration{30 * time.Minute, 30 * time.Minute, 3 * time.Hour, 3 * time.Hour} {
		for _, step := range []time.Duration{pause - time.Second, time.Second} {
			h.Clock.Advance(step)
			var looked bool
			h.OK(h.DB.Raw().GetContext(t.Context(), &looked, `SELECT look_at <= $2 FROM link_delivery WHERE session_id = $1`, grey.ID,
				h.Clock.Now()))
			if looked != (step == time.Second) {
				t.Fatalf("try %d is due after %s: %t", i+2, pause, looked)
			}
		}
		h.LookAtEmails(grey.ID, h.Clock.Now())
		if n := tried(grey); n != i+2 {
			t.Fatalf("tried %d times, want %d", n, i+2)
		}
	}
	h.LookAtEmails(later.ID, h.Clock.Now().Add(100*time.Hour)) // for the second time
	h.LookAtEmails(grey.ID, h.Clock.Now().Add(3*time.Hour))
	want(grey, "failed", "The mail server did not take the email for 4½ days (451 4.7.1).")
	say("", "")
	h.LookAtEmails(later.ID, h.Clock.Now())
	want(later, "sent", nil)
	if emails := server.Emails(); len(emails) != 1 || emails[0].To != "later@customer.example" {
		t.Errorf("the server has %v", emails)
	}

	say(".", "-")
	unknown := delivered(h, true, "unknown@customer.example")
	want(unknown, "unknown", nil)
	say("", "")
	h.LookAtEmails(unknown.ID, h.Clock.Now())
	want(unknown, "unknown", nil)
	h.LookAtEmails(unknown.ID, h.Clock.Now().Add(53*time.Hour))
	emails := server.Emails()
	if len(emails) != 3 || emails[2].To != "unknown@customer.example" || !strings.Contains(emails[2].Text,
		"List-Unsubscribe-Post: List-Unsubscribe=One-Click") {
		t.Errorf("the server has %d emails, want the first and a reminder", len(emails))
	}
	if strings.Contains(h.Logs.String(), "@customer.example") {
		t.Error("the log has an address")
	}
}

// TestRefusalsOfCandor: what is wrong with the operator's sender or network ends no email, and
// is said of no customer's address (D105).
func TestRefusalsOfCandor(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	server, say := mailServer(h)
	for i, tt := range []struct{ step, answer, problem string }{
		{"RCPT", "554 5.7.1 Client host rejected: Access denied", "The mail server refuses the email by its rules (554 5.7.1)."},
		{"RCPT", "550 5.1.8 Sender address rejected: Domain not found", "The mail server refuses the email (550 5.1.8)."},
		{"MAIL", "550 who are you", "The mail server refuses the email (550 to the sender)."},
	} {
		say(tt.step, tt.answer)
		session := delivered(h, false, "jo@customer.example")
		h.AwaitLinkEmails()
		if got := deliverOf(h, h.Account.LiveKey, session.ID); got["status"] != "queued" || got["problem"] != tt.problem {
			t.Errorf("%s: %v, want it queued: %s", tt.answer, got, tt.problem)
		}
		say("", "")
		h.LookAtEmails(session.ID, h.Clock.Now().Add(30*time.Minute))
		if got := deliverOf(h, h.Account.LiveKey, session.ID); got["status"] != "sent" || len(server.Emails()) != i+1 {
			t.Errorf("once the operator has mended it: %v, want it sent", got)
		}
	}
}

// TestLinkSentAgainIsTheLatest: what became of a link that staff sent again is said after a
// reminder, too (D124).
func TestLinkSentAgainIsTheLatest(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	server, say := mailServer(h)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	session := delivered(h, true, "jo@customer.example")
	h.AwaitLinkEmails()
	h.LookAtEmails(session.ID, h.Clock.Now().Add(50*time.Hour))
	if n := len(server.Emails()); n != 2 {
		t.Fatalf("%d emails, want the link and a reminder", n)
	}
	h.Clock.Advance(time.Minute)
	say(".", "550 no such content")
	_, err := h.Service.Sessions.EmailLink(t.Context(), live, session.ID, 1, false, harness.Operator)
	h.OK(err)
	h.AwaitLinkEmails()
	if got := deliverOf(h, h.Account.LiveKey, session.ID); got["status"] != "failed" ||
		got["problem"] != "The mail server refuses the email (550 to the email)." {
		t.Errorf("%v, want it failed, with the reason", got)
	}
}

// TestRemindersByTheAddressThatIsKnown: it is night where the partner says that the customer
// lives, before anything is saved (D104).
func TestRemindersByTheAddressThatIsKnown(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	swept(h)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	session := h.NewSession(live, domain.NewSession{CustomerEmail: "jo@customer.example", Deliver: &domain.Deliver{Remind: true},
		Prefill: json.RawMessage(`{"personal_details": {"address": {"postcode": "6000", "state": "WA"}}}`)})
	m.Email(session.CustomerEmail, invited)
	const eight = 66 * time.Hour // o'clock and 4 minutes in Sydney, where the account is; 5 in Perth
	start := h.Clock.Now()
	h.LookAtEmails(session.ID, start.Add(eight))
	none(m)
	h.LookAtEmails(session.ID, start.Add(eight+3*time.Hour))
	m.Email(session.CustomerEmail, reminded)
}

// TestClaimWaitsForAnEnd: a link isn't emailed once what ends its session is under way (D104,
// D105).
func TestClaimWaitsForAnEnd(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	for name, tt := range map[string]struct {
		kind domain.LinkEmailKind
		end  func(tx *db.Tx, s *domain.Session) error
	}{
		"cancelled": {domain.LinkItself, func(tx *db.Tx, s *domain.Session) error {
			_, err := tx.CancelSession(t.Context(), live, s.ID, h.Clock.Now())
			return err
		}},
		"no more": {domain.LinkUnopened1, func(tx *db.Tx, s *domain.Session) error {
			return tx.StopReminders(t.Context(), s, h.Clock.Now())
		}},
	} {
		session := delivered(h, true, "jo@customer.example")
		claimed := make(chan error, 1)
		h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
			if err := tt.end(tx, session); err != nil {
				return err
			}
			go func() {
				claimed <- h.DB.ClaimLinkEmail(t.Context(), session.ID, &domain.LinkEmail{Kind: tt.kind}, h.Clock.Now())
			}()
			testkit.Await(h, name+": the claim neither waits nor ends", func() bool {
				return len(claimed) > 0 || harness.QueryOne[int](h, `
					SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%link_email%'`) > 0
			})
			return nil
		}))
		if err := <-claimed; !errors.Is(err, db.ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
	}
}

// TestSessionIsReadDuringItsErasure: the erasure of the emails is seen before that of how they
// are sent.
func TestSessionIsReadDuringItsErasure(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := delivered(h, true, "jo@customer.example")
	execSQL(h, `DELETE FROM link_email WHERE session_id = $1`, session.ID)
	if got := deliverOf(h, h.Account.LiveKey, session.ID); got != nil {
		t.Errorf("%v, want none as after the erasure", got)
	}
}

// TestCutOffEmailIsNotRepeated: an email whose worker died after the mail server got the
// text is not sent again, and one whose worker died before it is (D105).
func TestCutOffEmailIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	before, after := delivered(h, true, "before@customer.example"), delivered(h, true, "after@customer.example")
	link := &domain.LinkEmail{Kind: domain.LinkItself}
	h.OK(h.DB.ClaimLinkEmail(t.Context(), after.ID, link, h.Clock.Now()))
	if err := h.DB.ClaimLinkEmail(t.Context(), after.ID, link, h.Clock.Now()); !errors.Is(err, db.ErrState) {
		t.Errorf("a second claim: %v, want ErrState", err)
	}
	m := h.Mailbox()
	m.Email("before@customer.example", invited)
	none(m)
	if got := deliverOf(h, h.Account.LiveKey, after.ID); got["status"] != "unknown" {
		t.Errorf("%v", got)
	}
	if got := deliverOf(h, h.Account.LiveKey, before.ID); got["status"] != "sent" {
		t.Errorf("%v", got)
	}
	// The worker was only slow, and the mail server answers after all.
	delivery, err := h.DB.LinkDelivery(t.Context(), after.ID)
	h.OK(err)
	late := delivery.Emails[0]
	late.End(domain.LinkSent, "", h.Clock.Now())
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error { return tx.SaveLinkEmail(t.Context(), after, delivery, &late, nil) }))
	if got := deliverOf(h, h.Account.LiveKey, after.ID); got["status"] != "sent" {
		t.Errorf("%v", got)
	}
}

// TestLinkEmailsOfADayAreLimited, exactly, also if many come at once (D106).
func TestLinkEmailsOfADayAreLimited(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for key, most := range map[string]int{h.Account.LiveKey: 2000, h.Account.TestKey: 200} {
		execSQL(h, `INSERT INTO link_email_count VALUES ($1, $2, '2026-11-20', $3)`,
			h.Account.AccountID, key == h.Account.LiveKey, most-3)
		const body = `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "deliver": {"by": "email"}}`
		answers := make([]harness.Answer, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: key, Body: body,
					Header: fmt.Sprint("Idempotency-Key: ", i)})
			})
		}
		all.Wait()
		created := 0
		for _, a := range answers {
			if a.Code == http.StatusCreated {
				created++
				continue
			}
			a.WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "deliver")
			if a.Header().Get("Retry-After") != "75355" { // until midnight UTC
				t.Errorf("Retry-After: %s", a.Header().Get("Retry-After"))
			}
		}
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM session WHERE livemode = $1`, key == h.Account.LiveKey); created != 3 ||
			n != 3 {
			t.Errorf("%d of 3 were created, %d are stored", created, n)
		}
		h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: key, Body: harness.ValidBody}).WantStatus(http.StatusCreated)
	}
	owner := h.Staff(domain.RoleOwner)
	form := url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"30"}, "deliver": {"email"}, "remind": {"on"}}
	owner.WantPage(owner.Post("/dashboard/live/sessions", form), http.StatusUnprocessableEntity,
		"as many links emailed today as it can")
	h.Clock.Advance(24 * time.Hour)
	owner = h.Staff(domain.RoleOwner)
	if got := owner.Post("/dashboard/live/sessions", form); got.Code != http.StatusSeeOther {
		t.Errorf("the next day: %d", got.Code)
	}
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM link_delivery WHERE remind`); n != 1 {
		t.Errorf("%d sessions with reminders of the form", n)
	}
	if n := (&domain.Account{}).LinksADay(false); n != 20 {
		t.Errorf("an account that isn't approved: %d", n)
	}
}

// TestAdvanceToReminder: in test mode a reminder comes when it is asked for, at night, too,
// each call the next one, until none follows (D116).
func TestAdvanceToReminder(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	h.Clock.Advance(6 * time.Hour) // after 8 o’clock in the evening where the account is
	member := h.Staff(domain.RoleSupport).Session.Email
	create := func(deliver string) string {
		body := fmt.Sprintf(`{"form_type": "financial_statement", "customer_email": %q, "deliver": %s}`, member, deliver)
		return h.Post("/sessions", body).WantStatus(http.StatusCreated).Object()["id"].(string)
	}
	advance := func(id, to string) harness.Answer {
		return h.Post("/test/sessions/"+id+"/advance", fmt.Sprintf(`{"to": %q}`, to))
	}
	bare := create("null")
	advance(bare, "reminder").WantError(http.StatusUnprocessableEntity, "validation_error", "to")
	silent := create(`{"by": "email"}`)
	m.Email(member, invited)
	h.AwaitLinkEmails()
	advance(silent, "reminder").WantError(http.StatusUnprocessableEntity, "validation_error", "to")

	id := create(`{"by": "email", "remind": true}`)
	m.Email(member, invited)
	h.AwaitLinkEmails()
	remind := func(subject string) {
		t.Helper()
		advance(id, "reminder").WantStatus(http.StatusOK)
		m.Email(member, subject)
		h.AwaitLinkEmails()
	}
	remind(reminded)
	refuse := func() {
		t.Helper()
		refused := advance(id, "reminder")
		refused.WantError(http.StatusUnprocessableEntity, "validation_error", "to")
		if !strings.Contains(refused.Body.String(), "is being sent") {
			t.Errorf("while one is on its way: %s", refused.Body)
		}
	}
	second := func(state string) {
		t.Helper()
		execSQL(h, `INSERT INTO link_email AS e (session_id, kind, state, tries)
			SELECT session_id, 'unopened_2', $1, 1 FROM link_email WHERE kind = 'unopened_1'
			ON CONFLICT (session_id, kind) DO UPDATE SET state = $1`, state)
	}
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error { // the second is due
		session, err := domain.ParseSessionID(id)
		h.OK(err)
		h.OK(tx.SetSessionBack(t.Context(), session, 5*24*time.Hour, h.Clock.Now()))
		due, err := tx.TakeLinkDeliveries(t.Context(), h.Clock.Now(), h.Clock.Now(), 10)
		if !slices.Contains(due, session) {
			t.Errorf("the sweep looks at %v, want %s, too: the job of the email before can still take this one's place", due, id)
		}
		return err
	}))
	refuse()
	second("sending")
	refuse()
	second("queued") // the mail server didn't take it
	remind(reminded)
	advance(id, "income").WantStatus(http.StatusOK)
	remind(begun)
	remind(begun)
	remind("Your link from Lender & Sons ends on 22 November 2026")
	over := advance(id, "reminder").WantError(http.StatusUnprocessableEntity, "validation_error", "to")
	if !strings.Contains(over.Body.String(), "until the last one") {
		t.Errorf("after the last one: %s", over.Body)
	}
	if got := deliverOf(h, "", id); got["reminders_sent"] != 5.0 {
		t.Errorf("%v", got)
	}
	advance(id, "expired").WantStatus(http.StatusOK)
	advance(id, "reminder").WantError(http.StatusConflict, "session_expired", "")
}
