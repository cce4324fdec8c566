package handlers_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/keys"
)

// once sends a POST /sessions with an Idempotency-Key.
func (b *bench) once(key, body string) answer {
	b.Helper()
	return b.call(apiCall{method: http.MethodPost, path: "/sessions", body: body, header: "Idempotency-Key: " + key})
}

// sessionCount is how many sessions there are, of all accounts.
func (b *bench) sessionCount() int {
	b.Helper()
	var n int
	b.ok(b.db.Raw().GetContext(b.Context(), &n, `SELECT count(*) FROM session`))
	return n
}

// replays checks that an answer is an earlier one again, byte by byte.
func (a answer) replays(first answer) {
	a.t.Helper()
	if a.Code != first.Code || !bytes.Equal(a.Body.Bytes(), first.Body.Bytes()) {
		a.t.Errorf("replayed %d %s,\nwant %d %s", a.Code, a.Body, first.Code, first.Body)
	}
	if a.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		a.t.Errorf("Idempotency-Replayed: %q, first %q", a.Header().Get("Idempotency-Replayed"), first.Header().Get("Idempotency-Replayed"))
	}
	if a.Header().Get("X-Request-Id") == first.Header().Get("X-Request-Id") {
		a.t.Error("a replay has the first request's id")
	}
}

// TestIdempotency checks replays, and how long they last (D31).
func TestIdempotency(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.once("order 1", validBody).status(http.StatusCreated)
	b.clock.advance(24*time.Hour - time.Millisecond)
	b.once("order 1", validBody).replays(first)
	b.once("order 1", validBody+" ").refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	b.once("order 1", "not JSON").refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	b.once("order 1", validBody).replays(first)
	if n := b.sessionCount(); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	b.clock.advance(time.Millisecond)
	again := b.once("order 1", validBody).status(http.StatusCreated)
	if again.Header().Get("Idempotency-Replayed") != "" || b.sessionCount() != 2 {
		t.Error("after 24 hours the key isn't free")
	}
	b.once("order 1", validBody).replays(again)
	b.once("order 2", validBody).status(http.StatusCreated)
	for range 2 {
		b.post("/sessions", validBody).status(http.StatusCreated)
	}
	if n := b.sessionCount(); n != 5 {
		t.Errorf("%d sessions, want 5", n)
	}
}

// TestIdempotencyScope checks that a key is one account's and mode's (D31),
// and that two keys of an account share it.
func TestIdempotencyScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.newAccount("other@lender.example", "enterprise")
	_, second, err := b.service.Keys.Create(b.Context(), b.testScope(), someone, keys.Params{Name: "Second"})
	b.ok(err)
	create := apiCall{method: http.MethodPost, path: "/sessions", body: validBody, header: "Idempotency-Key: same"}
	first := b.call(create).status(http.StatusCreated)
	for _, key := range []string{b.account.LiveKey, other.TestKey, other.LiveKey} {
		create.key = key
		if a := b.call(create).status(http.StatusCreated); a.Header().Get("Idempotency-Replayed") != "" || bytes.Equal(a.Body.Bytes(), first.Body.Bytes()) {
			t.Errorf("another scope gets the answer: %s", a.Body)
		}
	}
	create.key = second
	b.call(create).replays(first)
	create.key = anonymous
	b.call(create).refused(http.StatusUnauthorized, "unauthorized", "")
}

// TestIdempotentRefusals checks which refusals are kept (D31).
func TestIdempotentRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for key, body := range map[string]string{
		"malformed": "{", "missing": "{}", "type": with(`"customer_name": 1`), "rule": with(`"expires_in_days": 91`), "email": `{"form_type": "financial_statement", "customer_email": "x"}`,
	} {
		first := b.once(key, body)
		if first.Code != http.StatusBadRequest && first.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %d", key, first.Code)
		}
		b.once(key, body).replays(first)
		b.once(key, validBody).refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	}
	if n := b.sessionCount(); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}

	create := apiCall{method: http.MethodPost, path: "/sessions", body: validBody, key: b.account.LiveKey, header: "Idempotency-Key: forbidden"}
	_, err := b.db.Raw().ExecContext(b.Context(), `UPDATE subscription SET status = 'cancelled', effective_at = started_at`)
	b.ok(err)
	b.call(create).refused(http.StatusForbidden, "forbidden", "")
	_, err = b.db.Raw().ExecContext(b.Context(), `UPDATE subscription SET status = 'active', effective_at = NULL`)
	b.ok(err)
	b.call(create).status(http.StatusCreated)

	_, readOnly, err := b.service.Keys.Create(b.Context(), b.testScope(), someone, keys.Params{Name: "Read", Permissions: domain.Permissions{domain.SessionsRead}})
	b.ok(err)
	create.key, create.header = readOnly, "Idempotency-Key: permission"
	b.call(create).refused(http.StatusForbidden, "forbidden", "")
	create.key = ""
	b.call(create).status(http.StatusCreated)

	_, err = b.db.Raw().ExecContext(b.Context(), `ALTER TABLE session RENAME TO away`)
	b.ok(err)
	create.header = "Idempotency-Key: failure"
	b.call(create).refused(http.StatusInternalServerError, "internal_error", "")
	_, err = b.db.Raw().ExecContext(b.Context(), `ALTER TABLE away RENAME TO session`)
	b.ok(err)
	b.call(create).status(http.StatusCreated)
}

// TestIdempotencyKeyForm checks which keys are keys (D31).
func TestIdempotencyKeyForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, values := range map[string][]string{
		"empty": {""}, "256": {strings.Repeat("k", 256)}, "control": {"a\x01b"}, "tab": {"a\tb"}, "DEL": {"a\x7f"}, "not ASCII": {"clé"}, "not UTF-8": {"\xff"}, "emoji": {"😀"}, "two": {"a", "b"},
	} {
		r := b.request(apiCall{method: http.MethodPost, path: "/sessions", body: validBody})
		r.Header["Idempotency-Key"] = values
		w := b.serve(r)
		b.checkResponse(r, w)
		if a := (answer{t, w}); a.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, a.Code)
		} else {
			a.refused(http.StatusBadRequest, "invalid_request", "Idempotency-Key")
		}
	}
	if n := b.sessionCount(); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), "with space ~!\"'\\%00", "00000000-0000-0000-0000-000000000000"} {
		first := b.once(key, validBody).status(http.StatusCreated)
		b.once(key, validBody).replays(first)
	}
}

// TestIdempotencyRace sends one key fifty times at once: one session comes of
// it, and every answer is that session or a conflict to try again.
func TestIdempotencyRace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const requests = 50
	answers := make([]answer, requests)
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() { answers[i] = b.once("race", validBody) })
	}
	group.Wait()
	var first answer
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
			a.refused(http.StatusConflict, "idempotency_in_progress", "")
		default:
			t.Errorf("answer %d %s", a.Code, a.Body)
		}
	}
	if created != 1 || len(bodies) != 1 || b.sessionCount() != 1 {
		t.Errorf("%d created, %d different answers, %d sessions; want 1 each", created, len(bodies), b.sessionCount())
	}
	b.once("race", validBody).replays(first)
}

// TestIdempotencyInProgress checks the answer while the first request runs.
func TestIdempotencyInProgress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	blocker, err := b.db.Raw().BeginTxx(b.Context(), nil)
	b.ok(err)
	_, err = blocker.ExecContext(b.Context(), `LOCK TABLE session IN ACCESS EXCLUSIVE MODE`)
	b.ok(err)
	done := make(chan answer)
	go func() { done <- b.once("slow", validBody) }()
	b.waiting()
	b.once("slow", validBody).refused(http.StatusConflict, "idempotency_in_progress", "")
	b.once("slow", with(`"customer_name": "Jo"`)).refused(http.StatusConflict, "idempotency_in_progress", "")
	b.ok(blocker.Rollback())
	first := <-done
	b.once("slow", validBody).replays(first.status(http.StatusCreated))
}

// TestStoredAnswersOpenNoForm checks that the database holds no link in clear
// (D5, D31).
func TestStoredAnswersOpenNoForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	url := b.once("k", validBody).status(http.StatusCreated).object()["session_url"].(string)
	token := url[strings.LastIndex(url, "/")+1:]
	var stored [][]byte
	b.ok(b.db.Raw().SelectContext(b.Context(), &stored, `SELECT response FROM idempotency_key`))
	if len(stored) != 1 || bytes.Contains(stored[0], []byte(token)) || bytes.Contains(stored[0], []byte("jo@customer")) {
		t.Errorf("stored answers: %q", stored)
	}
}
