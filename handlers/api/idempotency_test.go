package api_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/testkit/harness"
)

// sessionCount is how many sessions there are, of all accounts.
func sessionCount(h *harness.Harness) int {
	h.Helper()
	return harness.QueryOne[int](h, `SELECT count(*) FROM session`)
}

// replays checks that an answer is an earlier one again, byte by byte.
func replays(a harness.Answer, first harness.Answer) {
	a.TB.Helper()
	if a.Code != first.Code || !bytes.Equal(a.Body.Bytes(), first.Body.Bytes()) {
		a.TB.Errorf("replayed %d %s,\nwant %d %s", a.Code, a.Body, first.Code, first.Body)
	}
	if a.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		a.TB.Errorf("Idempotency-Replayed: %q, first %q", a.Header().Get("Idempotency-Replayed"),
			first.Header().Get("Idempotency-Replayed"))
	}
	if a.Header().Get("X-Request-Id") == first.Header().Get("X-Request-Id") {
		a.TB.Error("a replay has the first request's id")
	}
}

// TestIdempotency checks replays, and how long they last (D31).
func TestIdempotency(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	first := h.PostOnce("order 1", harness.ValidBody).WantStatus(http.StatusCreated)
	h.Clock.Advance(24*time.Hour - time.Millisecond)
	replays(h.PostOnce("order 1", harness.ValidBody), first)
	h.PostOnce("order 1", with(`"customer_name": "Jo"`)).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	h.PostOnce("order 1", "not JSON").WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	replays(h.PostOnce("order 1", harness.ValidBody), first)
	if n := sessionCount(h); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	h.Clock.Advance(time.Millisecond)
	again := h.PostOnce("order 1", harness.ValidBody).WantStatus(http.StatusCreated)
	if again.Header().Get("Idempotency-Replayed") != "" || sessionCount(h) != 2 {
		t.Error("after 24 hours the key isn't free")
	}
	replays(h.PostOnce("order 1", harness.ValidBody), again)
	h.PostOnce("order 2", harness.ValidBody).WantStatus(http.StatusCreated)
	for range 2 {
		h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated)
	}
	if n := sessionCount(h); n != 5 {
		t.Errorf("%d sessions, want 5", n)
	}
}

// TestIdempotencyScope checks that a key is one account's and mode's (D31),
// and that two keys of an account share it.
func TestIdempotencyScope(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	other := h.NewAccount("other@lender.example", "enterprise")
	_, second, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
	h.OK(err)
	create := harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Header: "Idempotency-Key: same"}
	first := h.Do(create).WantStatus(http.StatusCreated)
	for _, key := range []string{h.Account.LiveKey, other.TestKey, other.LiveKey} {
		create.Key = key
		if a := h.Do(create).WantStatus(http.StatusCreated); a.Header().Get("Idempotency-Replayed") != "" ||
			bytes.Equal(a.Body.Bytes(), first.Body.Bytes()) {
			t.Errorf("another scope gets the answer: %s", a.Body)
		}
	}
	create.Key = second
	replays(h.Do(create), first)
	create.Key = harness.NoKey
	h.Do(create).WantError(http.StatusUnauthorized, "unauthorized", "")
}

// TestIdempotentRefusals checks which refusals are kept (D31).
func TestIdempotentRefusals(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for key, body := range map[string]string{
		"malformed": "{", "missing": "{}", "type": with(`"customer_name": 1`), "rule": with(`"expires_in_days": 91`),
		"email": `{"form_type": "financial_statement", "customer_email": "x"}`,
	} {
		first := h.PostOnce(key, body)
		if first.Code != http.StatusBadRequest && first.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %d", key, first.Code)
		}
		replays(h.PostOnce(key, body), first)
		h.PostOnce(key, harness.ValidBody).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	}
	if n := sessionCount(h); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}

	create := harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: h.Account.LiveKey,
		Header: "Idempotency-Key: forbidden"}
	execSQL(h, `UPDATE subscription SET status = 'cancelled', effective_at = started_at`)
	h.Do(create).WantError(http.StatusForbidden, "forbidden", "")
	execSQL(h, `UPDATE subscription SET status = 'active', effective_at = NULL`)
	h.Do(create).WantStatus(http.StatusCreated)

	_, readOnly, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator,
		keys.Params{Name: "Read", Permissions: domain.Permissions{domain.SessionsRead}})
	h.OK(err)
	create.Key, create.Header = readOnly, "Idempotency-Key: permission"
	h.Do(create).WantError(http.StatusForbidden, "forbidden", "")
	create.Key = ""
	h.Do(create).WantStatus(http.StatusCreated)

	execSQL(h, `ALTER TABLE session RENAME TO away`)
	create.Header = "Idempotency-Key: failure"
	h.Do(create).WantError(http.StatusInternalServerError, "internal_error", "")
	execSQL(h, `ALTER TABLE away RENAME TO session`)
	h.Do(create).WantStatus(http.StatusCreated)
}

// TestIdempotencyKeyForm checks which keys are keys (D31).
func TestIdempotencyKeyForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for name, values := range map[string][]string{
		"empty": {""}, "256": {strings.Repeat("k", 256)}, "control": {"a\x01b"}, "tab": {"a\tb"}, "DEL": {"a\x7f"},
		"not ASCII": {"clé"}, "not UTF-8": {"\xff"}, "emoji": {"😀"}, "two": {"a", "b"},
	} {
		r := h.Request(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody})
		r.Header["Idempotency-Key"] = values
		w := h.Serve(r)
		h.CheckContract(r, w)
		if a := harness.AnswerOf(t, w); a.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, a.Code)
		} else {
			a.WantError(http.StatusBadRequest, "invalid_request", "Idempotency-Key")
		}
	}
	if n := sessionCount(h); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), "with space ~!\"'\\%00", "00000000-0000-0000-0000-000000000000"} {
		first := h.PostOnce(key, harness.ValidBody).WantStatus(http.StatusCreated)
		replays(h.PostOnce(key, harness.ValidBody), first)
	}
}

// TestIdempotencyOfOddPaths checks keys at addresses that PostgreSQL takes for no
// text.
func TestIdempotencyOfOddPaths(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, id := range []string{"%00", "%ff", "%ED%A0%80"} {
		send := func(body string) harness.Answer {
			return h.Do(harness.Call{Method: http.MethodPost, Path: "/test/sessions/" + id + "/advance", Body: body,
				Header: "Idempotency-Key: k"})
		}
		first := send(`{}`).WantError(http.StatusBadRequest, "invalid_request", "to")
		replays(send(`{}`), first)
		send(`{"to": 1}`).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	}
}

// TestIdempotencyOfLongPaths checks keys at an address that is too long for an index.
// Its characters are random, as PostgreSQL would compress others.
func TestIdempotencyOfLongPaths(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	long := rand.Text() // of 26 characters
	for len(long) < 4000 {
		long += strings.ToLower(rand.Text()) + rand.Text()
	}
	call := harness.Call{Method: http.MethodPost, Path: "/test/deliveries/" + long + "/attempt"}
	h.Do(call).WantError(http.StatusNotFound, "not_found", "")
	call.Header = "Idempotency-Key: k"
	first := h.Do(call).WantError(http.StatusNotFound, "not_found", "")
	replays(h.Do(call), first)
	call.Path = "/test/deliveries/other" + long + "/attempt"
	if a := h.Do(call).WantError(http.StatusNotFound, "not_found", ""); a.Header().Get("Idempotency-Replayed") != "" {
		t.Error("another long path has the same key")
	}
}

// TestMissingSessionIsReplayed checks that what isn't found is said the same again.
func TestMissingSessionIsReplayed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	send := func() harness.Answer {
		return h.Do(harness.Call{Method: http.MethodPost, Path: "/test/sessions/" + unknownSession + "/advance",
			Body: `{"to": "completed"}`, Header: "Idempotency-Key: k"})
	}
	first := send().WantError(http.StatusNotFound, "session_not_found", "")
	replays(send(), first)
}

// TestIdempotencyRace sends one key fifty times at once: one session comes of
// it, and every answer is that session or a conflict to try again.
func TestIdempotencyRace(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const requests = 50
	answers := make([]harness.Answer, requests)
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() { answers[i] = h.PostOnce("race", harness.ValidBody) })
	}
	group.Wait()
	var first harness.Answer
	created, bodies := 0, map[string]bool{}
	for _, a := range answers {
		switch a.Code {
		case http.StatusCreated:
			bodies[a.Body.String()] = true
			if a.Header().Get("Idempotency-Replayed") == "" {
				created++
				first = a
			}
		case http.StatusConflict:
			a.WantError(http.StatusConflict, "idempotency_in_progress", "")
		default:
			t.Errorf("answer %d %s", a.Code, a.Body)
		}
	}
	if created != 1 || len(bodies) != 1 || sessionCount(h) != 1 {
		t.Errorf("%d created, %d different answers, %d sessions; want 1 each", created, len(bodies), sessionCount(h))
	}
	replays(h.PostOnce("race", harness.ValidBody), first)
}

// lockSessions begins a transaction that holds the table of sessions in a mode.
func lockSessions(h *harness.Harness, mode string) *sql.Tx {
	h.Helper()
	blocker, err := h.DB.Raw().BeginTx(h.Context(), nil)
	h.OK(err)
	_, err = blocker.ExecContext(h.Context(), "LOCK TABLE session IN "+mode+" MODE")
	h.OK(err)
	return blocker
}

// TestIdempotencyInProgress checks the answer while the first request runs.
func TestIdempotencyInProgress(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	blocker := lockSessions(h, "ACCESS EXCLUSIVE")
	done := make(chan harness.Answer)
	go func() { done <- h.PostOnce("slow", harness.ValidBody) }()
	h.WaitForLock()
	refused := h.PostOnce("slow", harness.ValidBody).WantError(http.StatusConflict, "idempotency_in_progress", "")
	if got := refused.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q, want 1", got)
	}
	h.PostOnce("slow", with(`"customer_name": "Jo"`)).WantError(http.StatusConflict, "idempotency_in_progress", "")
	h.OK(blocker.Rollback())
	first := <-done
	replays(h.PostOnce("slow", harness.ValidBody), first.WantStatus(http.StatusCreated))
}

// TestStoredAnswersOpenNoForm checks that the database holds no link in clear
// (D5, D31).
func TestStoredAnswersOpenNoForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	url := h.PostOnce("k", harness.ValidBody).WantStatus(http.StatusCreated).Object()["session_url"].(string)
	token := url[strings.LastIndex(url, "/")+1:]
	var stored [][]byte
	h.OK(h.DB.Raw().SelectContext(h.Context(), &stored, `SELECT response FROM idempotency_key`))
	if len(stored) != 1 || bytes.Contains(stored[0], []byte(token)) || bytes.Contains(stored[0], []byte("jo@customer")) {
		t.Errorf("stored answers: %q", stored)
	}
}
