package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/simulator"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// newSessionID creates a session with the test key.
func newSessionID(h *harness.Harness, body string) string {
	h.Helper()
	return h.Post("/sessions", body).WantStatus(http.StatusCreated).Object()["id"].(string)
}

func advance(h *harness.Harness, id, body string) harness.Answer {
	h.Helper()
	return h.Post("/test/sessions/"+id+"/advance", body)
}

// eventTypes are the types of a session's events in the feed.
func eventTypes(h *harness.Harness, id string) string {
	h.Helper()
	var out []string
	for _, e := range h.Events("?limit=100&session_id=" + id).Data {
		out = append(out, strings.TrimPrefix(string(e.Event), "session."))
	}
	return strings.Join(out, " ")
}

// TestAdvance takes a session to each goal.
func TestAdvance(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for i, goal := range simulator.Goals {
		if goal == simulator.Reminder { // TestAdvanceToReminder
			continue
		}
		sections := min(i, statement.SectionsTotal)
		status, events := "in_progress", "accessed"+strings.Repeat(" section_completed", sections)
		switch goal {
		case simulator.Expired:
			status, events, sections = "expired", "expired", 0
		case statement.DeclarationSection, simulator.Completed, simulator.PDFExpired:
			status, events, sections = "completed", "accessed"+strings.Repeat(" section_completed", 7)+" completed", 7
		}
		id := newSessionID(h, harness.ValidBody)
		body := fmt.Sprintf(`{"to": %q}`, goal)
		got := advance(h, id, body).WantStatus(http.StatusOK)
		if o := got.Object(); o["status"] != status || o["progress"].(map[string]any)["sections_completed"] != float64(sections) {
			t.Errorf("%s: %s", goal, got.Body)
		}
		if types := eventTypes(h, id); types != events {
			t.Errorf("%s: events %q, want %q", goal, types, events)
		}
		if again := advance(h, id, body).WantStatus(http.StatusOK); again.Body.String() != got.Body.String() ||
			eventTypes(h, id) != events {
			t.Errorf("%s: another time it is %s", goal, again.Body)
		}
		if sections == 7 {
			h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK)
			code := "pdf_not_ready"
			if goal == simulator.PDFExpired {
				code = "pdf_expired"
			}
			h.Get("/sessions/"+id+"/pdf").WantError(domain.Code(code).Status(), code, "")
		}
	}
}

// TestSimulatorHoldsNoEventNumberWhileItWaits: a customer who saves a section counts it
// and then takes the account's next event number. A simulated form that took them the
// other way round was a deadlock, a second long each, and 500 after four of them.
func TestSimulatorHoldsNoEventNumberWhileItWaits(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	customer := newSessionID(h, harness.ValidBody)
	advance(h, customer, `{"to": "opened"}`).WantStatus(http.StatusOK)
	half := newSessionID(h, harness.ValidBody)
	advance(h, half, `{"to": "personal_details"}`).WantStatus(http.StatusOK)
	id, err := domain.ParseSessionID(customer)
	h.OK(err)
	for name, simulate := range map[string]func() harness.Answer{
		"create": func() harness.Answer {
			return h.Post("/sessions", strings.Replace(harness.ValidBody, "{", `{"simulate": "completed", `, 1))
		},
		"advance": func() harness.Answer { return advance(h, half, `{"to": "completed"}`) },
	} {
		section := map[string]string{"create": "income", "advance": "assets"}[name]
		done := make(chan harness.Answer, 1)
		err := h.DB.InTx(h.Context(), func(tx *db.Tx) error {
			if err := tx.ReachSection(h.Context(), id, section, h.Clock.Now()); err != nil {
				return err
			}
			go func() { done <- simulate() }()
			h.WaitForLock()
			_, err := tx.Raw().ExecContext(h.Context(), `SELECT FROM event_sequence WHERE account_id = $1 FOR UPDATE NOWAIT`,
				h.Account.AccountID)
			return err
		})
		if err != nil {
			t.Errorf("%s: beside a simulated form: %v", name, err)
		}
		if got := <-done; got.Code >= http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestAdvanceStepByStep takes one session through all goals, and then asks for
// those that can't be reached.
func TestAdvanceStepByStep(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := newSessionID(h, harness.ValidBody)
	for _, to := range []string{"opened", "assets", "income", "documents", "opened", "completed", "declaration", "pdf_expired",
		"completed"} {
		advance(h, id, `{"to": "`+to+`"}`).WantStatus(http.StatusOK)
	}
	if types := eventTypes(h, id); types != "accessed"+strings.Repeat(" section_completed", 7)+" completed" {
		t.Errorf("events %q", types)
	}
	for body, code := range map[string]string{`{"to": "opened"}`: "session_completed", `{"to": "income"}`: "session_completed",
		`{"to": "expired"}`: "session_completed", `{"to": "completed", "data": {"income": {}}}`: "session_completed"} {
		advance(h, id, body).WantError(http.StatusConflict, code, "")
	}
	other := newSessionID(h, harness.ValidBody)
	once := harness.Call{Method: http.MethodPost, Path: "/test/sessions/" + other + "/advance", Body: `{"to": "opened"}`,
		Header: "Idempotency-Key: once"}
	first := h.Do(once).WantStatus(http.StatusOK)
	advance(h, other, `{"to": "income"}`).WantStatus(http.StatusOK)
	if again := h.Do(once).WantStatus(http.StatusOK); again.Body.String() != first.Body.String() || again.Header().
		Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed as %s", again.Body)
	}
	cancelled, expired := newSessionID(h, harness.ValidBody), newSessionID(h, harness.ValidBody)
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + cancelled}).WantStatus(http.StatusOK)
	advance(h, expired, `{"to": "expired"}`).WantStatus(http.StatusOK)
	for _, goal := range simulator.Goals {
		advance(h, cancelled, fmt.Sprintf(`{"to": %q}`, goal)).WantError(http.StatusConflict, "session_cancelled", "")
		if goal != simulator.Expired {
			advance(h, expired, fmt.Sprintf(`{"to": %q}`, goal)).WantError(http.StatusConflict, "session_expired", "")
		}
	}
}

// TestAdvanceWithData gives answers, of which the rest is made up, the same each
// time.
func TestAdvanceWithData(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := newSessionID(h, `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "customer_name": "Jo Citizen",
		"prefill": {"income": {"employment_income": {"gross_salary": 85000}}, "assets": {"vehicles": [{"description": "Ute"}]}}}`)
	advance(h, id, `{"to": "income"}`).WantStatus(http.StatusOK)
	advance(h, id, `{"to": "completed", "data": {"personal_details": {"phone": "0491570006"}, "liabilities": {},
		"assets": {"bank_accounts": [{"institution": "Westpac", "account_type": "savings",
			"balance": 1234.56}]}}}`).WantStatus(http.StatusOK)
	data := h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
	personal, summary := data["personal_details"].(map[string]any), data["summary"].(map[string]any)
	if personal["full_name"] != "Jo Citizen" || personal["email"] != "jo@customer.example" || personal["phone"] != "0491 570 006" ||
		personal["date_of_birth"] == "" {
		t.Errorf("personal details %v", personal)
	}
	if summary["total_assets"] != 1234.56 || summary["total_liabilities"] != float64(0) {
		t.Errorf("summary %v", summary)
	}
	if results := data["prefilled"].(map[string]any); results["income.employment_income.gross_salary"] != "confirmed" ||
		results["assets.vehicles.0.description"] != "changed" {
		t.Errorf("prefilled %v", results)
	}
}

// TestAdvanceWithPartialPrefill: a prefilled item that isn't a whole answer gives way
// to made-up ones.
func TestAdvanceWithPartialPrefill(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	for path, item := range map[string]string{
		"real_property.0.description": `{"description": "Shack"}`, "vehicles.0.value": `{"value": 7}`,
		"superannuation.0.balance": `{"balance": 7}`, "investments.0.value": `{"value": 7}`,
		"bank_accounts.0.institution": `{"institution": "CommBank", "balance": 1200}`,
	} {
		list, _, _ := strings.Cut(path, ".")
		prefill := fmt.Sprintf(`"prefill": {"assets": {%q: [%s]}}`, list, item)
		advanced := newSessionID(h, with(prefill))
		advance(h, advanced, `{"to": "completed"}`).WantStatus(http.StatusOK)
		for _, id := range []string{advanced, newSessionID(h, with(prefill+`, "simulate": "completed"`))} {
			data := h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
			if result := data["prefilled"].(map[string]any)["assets."+path]; result != "changed" {
				t.Errorf("%s is %v", path, result)
			}
		}
	}
}

// TestAdvanceRefuses names what is wrong, and changes nothing then.
func TestAdvanceRefuses(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := newSessionID(h, harness.ValidBody)
	for body, want := range map[string]struct {
		status      int
		code, field string
	}{
		`{}`:                              {400, "invalid_request", "to"},
		`{"to": 5}`:                       {400, "invalid_request", "to"},
		`{"to": ""}`:                      {422, "validation_error", "to"},
		`{"to": "asets"}`:                 {422, "validation_error", "to"},
		`{"to": "completed", "data": []}`: {400, "invalid_request", "data"},
		`{"to": "completed", "data": {"asets": {}}}`: {422, "validation_error", "data.asets"},
		`{"to": "income", "data": {"assets": {}}}`:   {422, "validation_error", "data.assets"},
		`{"to": "opened", "data": {"income": {}}}`:   {422, "validation_error", "data.income"},
		`{"to": "expired", "data": {"income": {}}}`:  {422, "validation_error", "data.income"},
		`{"to": "completed", "data": {"assets": {"vehicles": [{"value": 5}]}}}`: {422, "validation_error",
			"data.assets.vehicles.0.description"},
		`{"to": "completed", "data": {"personal_details": {"date_of_birth": "x"}}}`: {422, "validation_error",
			"data.personal_details.date_of_birth"},
		`{"to": "completed", "data": {"income": "` + strings.Repeat("x", 40<<10) + `"}}`: {422, "validation_error", "data"},
		`{"to": "completed", "data": {"income": "` + strings.Repeat("x", 4<<20) + `"}}`:  {413, "payload_too_large", ""},
	} {
		advance(h, id, body).WantError(want.status, want.code, want.field)
	}
	if got := h.Get("/sessions/" + id).Object(); got["status"] != "pending" || eventTypes(h, id) != "" {
		t.Errorf("the session is %v", got)
	}
	other := h.NewAccount("other@lender.example", "starter")
	for _, c := range []struct {
		key, path, code string
		status          int
	}{
		{h.Account.LiveKey, "/test/sessions/" + id + "/advance", "not_found", 404},
		{h.Account.LiveKey, "/test/events", "not_found", 404},
		{h.Account.LiveKey, "/test/deliveries/x/attempt", "not_found", 404},
		{other.TestKey, "/test/sessions/" + id + "/advance", "session_not_found", 404},
		{h.RestrictedKey(domain.Permissions{domain.SessionsRead, domain.DataRead}), "/test/sessions/" + id + "/advance",
			"forbidden", 403},
		{harness.NoKey, "/test/sessions/" + id + "/advance", "unauthorized", 401},
		{"", "/test/sessions/sess_x/advance", "session_not_found", 404},
		{"", "/test/sessions/" + unknownSession + "/advance", "session_not_found", 404},
		{"", "/test/deliveries/whd_x/attempt", "not_found", 404},
	} {
		h.Do(harness.Call{Method: http.MethodPost, Path: c.path, Key: c.key, Body: `{"to": "opened", "type": "billing.invoice_paid"}`}).
			WantError(c.status, c.code, "")
	}
}

// TestSimulateAtCreation: a completed session's data takes two requests.
func TestSimulateAtCreation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	requests := 0
	do := func(c harness.Call) harness.Answer {
		requests++
		return h.Do(c)
	}
	body := strings.Replace(harness.ValidBody, "{", `{"simulate": "completed", `, 1)
	created := do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: body}).WantStatus(http.StatusCreated).Object()
	do(harness.Call{Method: http.MethodGet, Path: "/sessions/" + created["id"].(string) + "/data"}).WantStatus(http.StatusOK)
	if created["status"] != "completed" || created["completed_at"] == nil || requests != 2 {
		t.Errorf("created %v", created)
	}
	for _, goal := range simulator.Goals {
		a := h.Post("/sessions", strings.Replace(harness.ValidBody, "{", fmt.Sprintf(`{"simulate": %q, `, goal), 1))
		if goal == simulator.Reminder { // there is no email yet that it reminds of
			a.WantError(http.StatusUnprocessableEntity, "validation_error", "simulate")
			continue
		}
		a.WantStatus(http.StatusCreated)
	}
	live := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: body})
	live.WantError(http.StatusUnprocessableEntity, "validation_error", "simulate")
	wrong := h.Post("/sessions", strings.Replace(body, "completed", "finished", 1))
	wrong.WantError(http.StatusUnprocessableEntity, "validation_error", "simulate")
	if strings.Contains(wrong.Body.String(), "reminder") {
		t.Errorf("what a new session can’t be is offered: %s", wrong.Body)
	}
	first := h.PostOnce("simulated", body).WantStatus(http.StatusCreated)
	if again := h.PostOnce("simulated", body).WantStatus(http.StatusCreated); again.Body.String() != first.Body.String() ||
		again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed as %s", again.Body)
	}
}

// TestSimulatedCustomersConfirm: who plays the customer confirms what the form asks about (D60, D79).
func TestSimulatedCustomersConfirm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := newSessionID(h, with(`"prefill": {"income": {"employment_income": {"gross_salary": 100}}}`))
	advance(h, id, `{"to": "completed", "data": {"assets": {}, "liabilities": {"mortgages": [{"lender": "Westpac", "balance": 5000}]},
		"income": {"employment_income": {"bonuses": 5000}}, "expenses": {}}}`).WantStatus(http.StatusOK)
	data := h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
	var got []string
	for _, c := range data["confirmations"].([]any) {
		one := c.(map[string]any)
		got = append(got, one["code"].(string))
		if one["text"] == "" || one["confirmed_at"] != data["declaration"].(map[string]any)["signed_at"] {
			t.Errorf("confirmed %v", one)
		}
	}
	want := "bonus_above_salary low_expenses mortgage_without_property debt_without_repayment"
	if strings.Join(got, " ") != want {
		t.Errorf("confirmed %v, want %s", got, want)
	}
}

// TestSimulatedStatementsAreWhole completes many sessions, with other made-up
// customers each.
func TestSimulatedStatementsAreWhole(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	names := map[string]bool{}
	for range 25 {
		id := newSessionID(h, strings.Replace(harness.ValidBody, "{", `{"simulate": "completed", `, 1))
		data := h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
		names[data["personal_details"].(map[string]any)["full_name"].(string)] = true
	}
	if len(names) < 15 {
		t.Errorf("%d names in 25 sessions", len(names))
	}
}

// TestAdvanceAtOnce: of advances at the same time one acts, and the others find
// the session where they want it.
func TestAdvanceAtOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := newSessionID(h, harness.ValidBody)
	var wg sync.WaitGroup
	answers := make([]harness.Answer, 6)
	for i := range answers {
		wg.Go(func() { answers[i] = advance(h, id, `{"to": "completed"}`) })
	}
	wg.Wait()
	for _, a := range answers {
		if a.WantStatus(http.StatusOK).Body.String() != answers[0].Body.String() {
			t.Errorf("answers %s and %s", answers[0].Body, a.Body)
		}
	}
	if types := eventTypes(h, id); types != "accessed"+strings.Repeat(" section_completed", 7)+" completed" {
		t.Errorf("events %q", types)
	}
}

// TestSimulatorHasADailyLimit: what the simulator completes is stored for weeks, so
// a loop of it must end.
func TestSimulatorHasADailyLimit(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	execSQL(h, `
		INSERT INTO session_count (account_id, livemode, day, shard, completed_that_day) VALUES ($1, false, $2, 99, $3)`,
		h.Account.AccountID, harness.StartTime, simulator.CompletionsADay-1)
	body := strings.Replace(harness.ValidBody, "{", `{"simulate": "completed", `, 1)
	h.Post("/sessions", body).WantStatus(http.StatusCreated)
	refused := h.Post("/sessions", body)
	refused.WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	if refused.Header().Get("Retry-After") != "75355" { // from 03:04:05.678
		t.Errorf("Retry-After %q", refused.Header().Get("Retry-After"))
	}
	h.Post("/sessions", strings.Replace(body, "completed", "documents", 1)).WantStatus(http.StatusCreated)
	h.Clock.Advance(24 * time.Hour)
	h.Post("/sessions", body).WantStatus(http.StatusCreated)
}

// TestTestEvents makes up each billing event.
func TestTestEvents(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	execSQL(h, `UPDATE webhook_endpoint SET url = 'https://lender.example/hook', origin = 'https://lender.example#' || id WHERE is_default AND NOT livemode`)
	for i, of := range simulator.BillingType("").Enum() {
		got := h.Post("/test/events", map[string]string{"type": of}).WantStatus(http.StatusCreated).Object()
		if got["event"] != of || got["livemode"] != false || got["sequence"] != float64(i+1) ||
			got["delivery"].(map[string]any)["url"] != "https://lender.example/hook" {
			t.Errorf("%s: %v", of, got)
		}
	}
	page := h.Events("")
	if len(page.Data) != 3 {
		t.Fatalf("the feed has %+v", page)
	}
	for _, of := range []string{"", "session.completed", "billing.unknown"} {
		refused := h.Post("/test/events", map[string]string{"type": of})
		refused.WantError(http.StatusUnprocessableEntity, "validation_error", "type")
		for _, known := range simulator.BillingType("").Enum() {
			if !strings.Contains(refused.Body.String(), known) {
				t.Errorf("%q: %s lacks %s", of, refused.Body, known)
			}
		}
	}
	delivery := page.Data[0].Delivery
	execSQL(h, `UPDATE delivery SET state = 'failed', next_attempt_at = NULL, finished_at = now(), attempts = 7, attempts_total = 7 WHERE id = (SELECT id FROM delivery ORDER BY sequence LIMIT 1)`)
	again := h.Do(harness.Call{Method: http.MethodPost, Path: "/test/deliveries/" + delivery.ID + "/attempt"}).
		WantStatus(http.StatusOK).Object()
	if again["id"] != delivery.ID || again["state"] != "pending" || again["attempts"] != float64(7) ||
		again["next_attempt_at"] == nil || again["queued"] != true {
		t.Errorf("attempted %v", again)
	}
	other := h.NewAccount("other@lender.example", "starter")
	h.Do(harness.Call{Method: http.MethodPost, Path: "/test/deliveries/" + delivery.ID + "/attempt", Key: other.TestKey}).
		WantError(http.StatusNotFound, "not_found", "")
	if !slices.Contains(simulator.BillingType("").Enum(), string(domain.BillingInvoicePaid)) {
		t.Error("no type is listed")
	}
}
