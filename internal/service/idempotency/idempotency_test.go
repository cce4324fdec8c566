package idempotency_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/idempotency"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

// request is a POST with an idempotency key.
type request struct {
	scope           domain.Scope
	path, key, body string
}

// reply is what a request was answered with.
type reply struct {
	status   int
	body     string
	replayed bool
}

func (b *fixture) request(key, body string) request {
	return request{scope: b.Test(), path: "/v1/sessions", key: key, body: body}
}

// creating makes a session and answers with its link, as the API does.
func (b *fixture) creating(email string) func(tx *db.Tx) (string, error) {
	return func(tx *db.Tx) (string, error) {
		session, err := b.Sessions.Insert(b.Ctx, tx, b.Test(), domain.NewSession{FormType: domain.FinancialStatement,
			CustomerEmail: email})
		if err != nil {
			return "", err
		}
		return b.Sessions.URL(session, true), nil
	}
}

// send does what a request asks for, and answers it. Every *domain.Error but
// forbidden is an answer that is kept.
func (b *fixture) send(r request, do func(tx *db.Tx) (string, error)) (reply, error) {
	var answer *idempotency.Answer
	key := &idempotency.Key[string]{Path: r.path, Text: r.key, Body: []byte(r.body), Encode: func(result string,
		refusal error) (*idempotency.Answer, error) {
		answer = &idempotency.Answer{Status: 201, Body: []byte(result)}
		if refusal != nil {
			var e *domain.Error
			if answer = nil; errors.As(refusal, &e) && e.Code != domain.CodeForbidden {
				answer = &idempotency.Answer{Status: 422, Body: []byte(e.Code)}
			}
		}
		return answer, nil
	}}
	_, err := idempotency.Do(b.Ctx, b.Idempotency, r.scope, key, do)
	var replay *idempotency.Replay
	var e *domain.Error
	switch {
	case errors.As(err, &replay):
		return reply{replay.Status, string(replay.Body), true}, nil
	case err != nil && (answer == nil || !errors.As(err, &e) || string(e.Code) != string(answer.Body)):
		return reply{}, err
	}
	return reply{answer.Status, string(answer.Body), false}, nil
}

func TestIdempotentlyConcurrent(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var wg sync.WaitGroup
	var first, replayed, running atomic.Int32
	bodies := make(chan string, 50)
	for range 50 {
		wg.Go(func() {
			answer, err := b.send(b.request("k", "{}"), b.creating("jo@customer.example"))
			switch {
			case errors.Is(err, &domain.Error{Code: domain.CodeIdempotencyInProgress}):
				running.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			case answer.replayed:
				replayed.Add(1)
			default:
				first.Add(1)
			}
			bodies <- fmt.Sprint(answer.status, answer.body)
		})
	}
	wg.Wait()
	close(bodies)
	if first.Load() != 1 || first.Load()+replayed.Load()+running.Load() != 50 || b.Count("SELECT count(*) FROM session") != 1 {
		t.Errorf("%d first, %d replayed, %d running, %d sessions", first.Load(), replayed.Load(), running.Load(),
			b.Count("SELECT count(*) FROM session"))
	}
	one := <-bodies
	for body := range bodies {
		if body != one {
			t.Errorf("answers %s and %s", one, body)
		}
	}
	token := one[strings.LastIndex(one, "/")+1:]
	if len(token) < 20 ||
		b.Count("SELECT count(*) FROM idempotency_key k WHERE position($1::bytea IN response) > 0 OR strpos(k::text, $2) > 0",
			[]byte(token), token) != 0 {
		t.Errorf("the token %q is kept in clear", token)
	}
}

func TestIdempotentlyReplays(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	answer, err := b.send(b.request("k", "{}"), b.creating("jo@customer.example"))
	b.OK(err)
	if answer.replayed || answer.status != 201 {
		t.Errorf("first answer %+v", answer)
	}
	never := func(*db.Tx) (string, error) {
		t.Error("done again")
		return "", nil
	}
	b.Pass(24*time.Hour - time.Millisecond)
	again, err := b.send(b.request("k", "{}"), never)
	if err != nil || !again.replayed || again.status != 201 || again.body != answer.body {
		t.Errorf("replayed %+v, %v; want %+v", again, err, answer)
	}
	_, err = b.send(b.request("k", "[]"), never)
	b.Code("another body", err, domain.CodeIdempotencyKeyReused)
	others := []request{b.request("k2", "{}"), b.request("k", "{}"), b.request("k", "{}")}
	others[1].scope, others[2].path = b.Live(), "/v1/other"
	b.Pass(time.Millisecond) // 24 hours: it is forgotten
	for _, r := range append(others, b.request("k", "another")) {
		if got, err := b.send(r, b.creating("jo@customer.example")); err != nil || got.replayed {
			t.Errorf("%s %s %s: %+v, %v", r.key, r.path, r.body, got, err)
		}
	}
}

func TestIdempotentlyRefusals(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for i, replayed := range []bool{false, true} {
		got, err := b.send(b.request("bad", "{}"), b.creating("jo"))
		if err != nil || got.status != 422 || got.body != "invalid_email" || got.replayed != replayed {
			t.Errorf("refusal %d: %+v, %v", i, got, err)
		}
	}
	// What isn't kept leaves the key free, and undoes what was done.
	broken := errors.New("broken")
	for _, failure := range []error{broken, domain.Errorf(domain.CodeForbidden, "No.")} {
		_, err := b.send(b.request("again", "{}"), func(tx *db.Tx) (string, error) {
			if _, err := b.creating("jo@customer.example")(tx); err != nil {
				return "", err
			}
			return "", failure
		})
		if !errors.Is(err, failure) || b.Count("SELECT count(*) FROM session") != 0 {
			t.Errorf("%v: %v, %d sessions", failure, err, b.Count("SELECT count(*) FROM session"))
		}
	}
	if got, err := b.send(b.request("again", "{}"), b.creating("jo@customer.example")); err != nil || got.replayed ||
		got.status != 201 {
		t.Errorf("after failures: %+v, %v", got, err)
	}
}

func TestIdempotentlyWhileRunning(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, err := b.send(b.request("k", "{}"), func(tx *db.Tx) (string, error) {
		_, err := b.send(b.request("k", "{}"), b.creating("jo@customer.example"))
		b.Code("the same key at the same time", err, domain.CodeIdempotencyInProgress)
		_, err = b.send(b.request("other", "{}"), b.creating("jo@customer.example"))
		b.OK(err)
		return "", nil
	})
	b.OK(err)
}
