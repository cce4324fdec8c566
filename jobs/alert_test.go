package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/jobs"
)

// inbox collects emails as "to: subject".
type inbox struct {
	mu    sync.Mutex
	all   []string
	texts []string
	fails int // so many sends fail first
}

// send keeps the email.
func (l *inbox) send(m mail.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails > 0 {
		l.fails--
		return errors.New("the server is down")
	}
	l.all, l.texts = append(l.all, m.To+": "+m.Subject), append(l.texts, m.Text)
	return nil
}

// colleague stores a staff user.
func (h *harness) colleague(role domain.Role, emails domain.AlertEmails) {
	h.Helper()
	s := &domain.Staff{ID: domain.NewStaffID(), AccountID: h.Scope.AccountID, Email: fmt.Sprintf("%s-%t@lender.example", role,
		emails.Webhooks), Role: role, CreatedAt: hooktest.Now()}
	h.Tx(func(tx *db.Tx) error {
		if err := tx.InsertStaff(h.Ctx, s, "hash"); err != nil {
			return err
		}
		return tx.SetAlertEmails(h.Ctx, s.ID, emails)
	})
}

// outage has the first attempt at the URL fail, and returns the outage that this began. The
// next attempt is longer ahead than a test looks.
func (h *harness) outage(url string, at time.Time) domain.Outage {
	h.Helper()
	session := h.Session(url, at)
	h.Emit(session, 1)
	d := h.Delivery(session, domain.DeliveryPending)
	next, status, class := at.AddDate(0, 0, 60), 502, "status"
	h.OK(h.DB.RecordAttempts(h.Ctx, []db.AttemptOutcome{{Scope: h.Scope, SessionID: d.SessionID, Cycle: 1,
		State: domain.DeliveryPending, Next: &next,
		DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: 1, StartedAt: at, RequestHeaders: []byte(`{}`),
			StatusCode: &status, ErrorClass: &class}}},
		[]db.EndpointHealth{{ID: d.EndpointID, At: at, Failures: 1, StatusCode: status, ErrorClass: class}}))
	all, err := h.DB.Outages(h.Ctx, []domain.EndpointID{d.EndpointID}, 1)
	h.OK(err)
	return all[d.EndpointID][0]
}

// TestEndpointAlerts: an endpoint's developers get one email after an hour, one
// after three days and one when it has recovered, however often and in however
// many processes it is looked for, and a flapping endpoint no more than one a day. Each
// leads to the outage.
func TestEndpointAlerts(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	h.colleague(domain.RoleOwner, domain.AlertEmails{Webhooks: true})
	h.colleague(domain.RoleDeveloper, domain.AlertEmails{Webhooks: true})
	h.colleague(domain.RoleDeveloper, domain.AlertEmails{Keys: true})
	h.colleague(domain.RoleSupport, domain.AlertEmails{Webhooks: true})
	const secret = "token-in-the-path"
	start := hooktest.Now()
	outage := h.outage("https://api.lender.example/"+secret+"?key="+secret, start)
	endpoint := outage.EndpointID
	box := &inbox{}
	clock := &movable{at: start}
	sweep := func(at time.Duration) []string {
		t.Helper()
		clock.set(start.Add(at))
		box.mu.Lock()
		box.all = nil
		box.mu.Unlock()
		h.OK(jobs.SweepAlerts(h.Ctx, h.DB, h.Outbox, clock.now, 3))
		testkit.Await(h, "emails", func() bool {
			return h.Count("SELECT count(*) FROM river_job WHERE kind = 'alert_email' AND state <> 'completed'") == 0
		})
		box.mu.Lock()
		defer box.mu.Unlock()
		slices.Sort(box.all)
		return box.all
	}
	attempt := func(at time.Duration, ok bool) {
		t.Helper()
		when := start.Add(at)
		health := db.EndpointHealth{ID: endpoint, At: when, Failures: 1, StatusCode: 502, ErrorClass: "status"}
		if ok {
			health = db.EndpointHealth{ID: endpoint, At: when, SuccessAt: &when, StatusCode: 200}
		}
		h.OK(h.DB.RecordAttempts(h.Ctx, nil, []db.EndpointHealth{health}))
	}
	both := func(subject string) []string {
		return []string{"developer-true@lender.example: " + subject, "owner-true@lender.example: " + subject}
	}
	h.start(func(c *config) { c.Mail, c.Clock = senderFunc(box.send), clock.now })
	const day = 24 * time.Hour
	for _, step := range []struct {
		at   time.Duration
		ok   *bool // the attempt just before; nil for none
		want []string
	}{
		{59 * time.Minute, nil, nil},
		{time.Hour, new(false), both("Webhooks to api.lender.example fail")},
		{2 * time.Hour, nil, nil},
		{3*day - time.Minute, nil, nil},
		{3 * day, new(false), both("Webhooks to api.lender.example have failed for 3 days")},
		{12 * day, new(false), nil},
		{12*day + time.Minute, new(true), nil}, // it may fail again at once
		{12*day + 20*time.Minute, nil, both("Webhooks to api.lender.example arrive again")},
		{13 * day, nil, nil},
		{14 * day, new(false), nil},
		{14*day + time.Hour, nil, both("Webhooks to api.lender.example fail")},
		{14*day + 2*time.Hour, new(true), both("Webhooks to api.lender.example arrive again")},
		{14*day + 3*time.Hour, nil, nil},
		{14*day + 4*time.Hour, new(false), nil},
		{14*day + 6*time.Hour, nil, nil}, // reported less than a day ago
		{15*day + 2*time.Hour, nil, both("Webhooks to api.lender.example fail")},
	} {
		if step.ok != nil {
			attempt(step.at, *step.ok)
		}
		if got := sweep(step.at); !slices.Equal(got, step.want) {
			t.Errorf("after %s: %q, want %q", step.at, got, step.want)
		}
	}
	for _, text := range box.texts {
		if strings.Contains(text, secret) || !strings.Contains(text, "/dashboard/live/webhooks/outages/"+outage.ID.String()) ||
			!strings.Contains(text, "/dashboard/live/me#emails") {
			t.Errorf("an email says %s", text)
		}
	}
	if n := h.Count("SELECT count(*) FROM river_job j WHERE j::text LIKE '%lender.example%'"); n != 0 {
		t.Errorf("%d jobs have an address", n)
	}
}

// TestAlertsOfManyEndpointsAreOneEmail: an account whose endpoints fail one after
// the other gets an email an hour, and a mail server that is down loses none.
func TestAlertsOfManyEndpointsAreOneEmail(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.colleague(domain.RoleOwner, domain.AlertEmails{Webhooks: true})
	start := hooktest.Now()
	_, err := h.DB.Raw().ExecContext(h.Ctx, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, failing_since, last_failure_at, consecutive_failures,
			created_at)
		SELECT gen_random_uuid(), $1, true, 'https://hook' || n || '.example', $2::timestamptz + n * interval '1 second', $2, 3, $2
			FROM generate_series(1, 1500) n`,
		h.Scope.AccountID, start)
	h.OK(err)
	box := &inbox{fails: 1}
	clock := &movable{at: start}
	for at := 61 * time.Minute; at < 2*time.Hour+2*time.Minute; at += time.Minute {
		clock.set(start.Add(at))
		h.OK(jobs.SweepAlerts(h.Ctx, h.DB, h.Outbox, clock.now, 1))
	}
	_, err = h.DB.Raw().ExecContext(h.Ctx, `UPDATE river_job SET scheduled_at = now() WHERE kind = 'alert_email'`)
	h.OK(err)
	h.start(func(c *config) { c.Mail, c.Clock = senderFunc(box.send), clock.now })
	retried := func() bool {
		_, err := h.DB.Raw().ExecContext(h.Ctx,
			`UPDATE river_job SET scheduled_at = now(), state = 'available' WHERE kind = 'alert_email' AND state = 'retryable'`)
		h.OK(err)
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'alert_email' AND state <> 'completed'") == 0
	}
	testkit.Await(h, "the emails", retried)
	slices.Sort(box.all)
	if want := []string{"owner-true@lender.example: Webhooks to 1440 webhook endpoints fail",
		"owner-true@lender.example: Webhooks to 60 webhook endpoints fail"}; !slices.Equal(box.all, want) {
		t.Errorf("emails %q, want %q", box.all, want)
	}
	if text := strings.Join(box.texts, "\n"); strings.Count(text, "hook") > 60 || !strings.Contains(text, "and 50 others") ||
		strings.Count(text, "/dashboard/live/webhooks#endpoints") != 2 {
		t.Errorf("the emails list %s", text)
	}
}

// TestKeyAlerts: those who want it get one email when a key is used from a network
// that it wasn't used from before, and none about the first.
func TestKeyAlerts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.colleague(domain.RoleOwner, domain.AlertEmails{Webhooks: true})
	h.colleague(domain.RoleDeveloper, domain.AlertEmails{Keys: true})
	h.colleague(domain.RoleSupport, domain.AlertEmails{Keys: true})
	key, _ := domain.NewAPIKey(h.Scope, "Production", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return tx.InsertAPIKey(h.Ctx, &key) })
	box, clock := &inbox{}, &movable{at: hooktest.Now()}
	h.start(func(c *config) { c.Mail, c.Clock = senderFunc(box.send), clock.now })
	for i, address := range []string{"192.0.2.1", "192.0.2.2", "203.0.113.9", "203.0.113.9"} {
		clock.set(hooktest.Now().Add(time.Duration(i) * 2 * time.Hour))
		h.OK(h.DB.InsertAPIRequests(h.Ctx, []domain.APIRequest{{
			ID: domain.NewRequestID(clock.now()), AccountID: h.Scope.AccountID, Livemode: h.Scope.Livemode, KeyID: key.ID, Method: "GET",
			Status: 200, Address: address,
		}}))
		h.OK(jobs.SweepAlerts(h.Ctx, h.DB, h.Outbox, clock.now, 3))
	}
	testkit.Await(h, "the emails", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'alert_email' AND state <> 'completed'") == 0
	})
	box.mu.Lock()
	defer box.mu.Unlock()
	want := "developer-false@lender.example: API key Production …" + key.Last4 + " was used from a new network"
	if len(box.all) != 1 || box.all[0] != want {
		t.Fatalf("emails %q, want %q", box.all, want)
	}
	for _, part := range []string{"203.0.113.9", "/dashboard/live/keys/" + key.ID.String(), "/dashboard/live/me#emails"} {
		if !strings.Contains(box.texts[0], part) {
			t.Errorf("the email lacks %s: %s", part, box.texts[0])
		}
	}
}

// movable is a clock that a test sets.
type movable struct {
	mu sync.Mutex
	at time.Time
}

func (m *movable) set(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *movable) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}
