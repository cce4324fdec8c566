package service_test

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
	"candor/internal/service"
)

func (b *bench) request(key, body string) service.IdempotentRequest {
	return service.IdempotentRequest{Scope: b.test(), Path: "/v1/sessions", Key: key, Body: []byte(body)}
}

// creating makes a session and answers with its link, as the API does.
func (b *bench) creating(email string) func(tx *db.Tx) (service.Answer, error) {
	return func(tx *db.Tx) (service.Answer, error) {
		session, err := b.CreateSession(b.ctx, tx, b.test(), domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: email})
		if err != nil {
			return service.Answer{}, err
		}
		return service.Answer{Status: 201, Body: []byte(b.SessionURL(session.ID))}, nil
	}
}

// keepRefusals keeps every *domain.Error but forbidden.
func keepRefusals(err error) (service.Answer, bool) {
	var e *domain.Error
	if !errors.As(err, &e) {
		return service.Answer{}, false
	}
	return service.Answer{Status: 422, Body: []byte(e.Code)}, e.Code != domain.CodeForbidden
}

func TestIdempotentlyConcurrent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var wg sync.WaitGroup
	var first, replayed, running atomic.Int32
	bodies := make(chan string, 50)
	for range 50 {
		wg.Go(func() {
			answer, err := b.Idempotently(b.ctx, b.request("k", "{}"), b.creating("jo@customer.example"), keepRefusals)
			switch {
			case errors.Is(err, &domain.Error{Code: domain.CodeIdempotencyInProgress}):
				running.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			case answer.Replayed:
				replayed.Add(1)
			default:
				first.Add(1)
			}
			bodies <- fmt.Sprint(answer.Status, string(answer.Body))
		})
	}
	wg.Wait()
	close(bodies)
	if first.Load() != 1 || first.Load()+replayed.Load()+running.Load() != 50 || b.count("SELECT count(*) FROM session") != 1 {
		t.Errorf("%d first, %d replayed, %d running, %d sessions", first.Load(), replayed.Load(), running.Load(), b.count("SELECT count(*) FROM session"))
	}
	one := <-bodies
	for body := range bodies {
		if body != one {
			t.Errorf("answers %s and %s", one, body)
		}
	}
	token := one[strings.LastIndex(one, "/")+1:]
	if len(token) < 20 || b.count("SELECT count(*) FROM idempotency_key k WHERE position($1::bytea IN response) > 0 OR strpos(k::text, $2) > 0", []byte(token), token) != 0 {
		t.Errorf("the token %q is kept in clear", token)
	}
}

func TestIdempotentlyReplays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	answer, err := b.Idempotently(b.ctx, b.request("k", "{}"), b.creating("jo@customer.example"), keepRefusals)
	b.ok(err)
	if answer.Replayed || answer.Status != 201 {
		t.Errorf("first answer %+v", answer)
	}
	never := func(*db.Tx) (service.Answer, error) {
		t.Error("done again")
		return service.Answer{}, nil
	}
	b.pass(24*time.Hour - time.Millisecond)
	again, err := b.Idempotently(b.ctx, b.request("k", "{}"), never, keepRefusals)
	if err != nil || !again.Replayed || again.Status != 201 || string(again.Body) != string(answer.Body) {
		t.Errorf("replayed %+v, %v; want %+v", again, err, answer)
	}
	_, err = b.Idempotently(b.ctx, b.request("k", "{} "), never, keepRefusals)
	b.code("another body", err, domain.CodeIdempotencyKeyReused)
	others := []service.IdempotentRequest{b.request("k2", "{}"), b.request("k", "{}"), b.request("k", "{}")}
	others[1].Scope, others[2].Path = b.live(), "/v1/other"
	b.pass(time.Millisecond) // 24 hours: it is forgotten
	for _, r := range append(others, b.request("k", "another")) {
		if got, err := b.Idempotently(b.ctx, r, b.creating("jo@customer.example"), keepRefusals); err != nil || got.Replayed {
			t.Errorf("%s %s %s: %+v, %v", r.Key, r.Path, r.Body, got, err)
		}
	}
}

func TestIdempotentlyRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, replayed := range []bool{false, true} {
		got, err := b.Idempotently(b.ctx, b.request("bad", "{}"), b.creating("nobody"), keepRefusals)
		if err != nil || got.Status != 422 || string(got.Body) != "invalid_email" || got.Replayed != replayed {
			t.Errorf("refusal %d: %+v, %v", i, got, err)
		}
	}
	// What isn't kept leaves the key free, and undoes what was done.
	broken := errors.New("broken")
	for _, failure := range []error{broken, domain.Errorf(domain.CodeForbidden, "No.")} {
		_, err := b.Idempotently(b.ctx, b.request("again", "{}"), func(tx *db.Tx) (service.Answer, error) {
			if _, err := b.creating("jo@customer.example")(tx); err != nil {
				return service.Answer{}, err
			}
			return service.Answer{}, failure
		}, keepRefusals)
		if !errors.Is(err, failure) || b.count("SELECT count(*) FROM session") != 0 {
			t.Errorf("%v: %v, %d sessions", failure, err, b.count("SELECT count(*) FROM session"))
		}
	}
	if got, err := b.Idempotently(b.ctx, b.request("again", "{}"), b.creating("jo@customer.example"), keepRefusals); err != nil || got.Replayed || got.Status != 201 {
		t.Errorf("after failures: %+v, %v", got, err)
	}
}

func TestIdempotentlyWhileRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Idempotently(b.ctx, b.request("k", "{}"), func(tx *db.Tx) (service.Answer, error) {
		_, err := b.Idempotently(b.ctx, b.request("k", "{}"), b.creating("jo@customer.example"), keepRefusals)
		b.code("the same key meanwhile", err, domain.CodeIdempotencyInProgress)
		_, err = b.Idempotently(b.ctx, b.request("other", "{}"), b.creating("jo@customer.example"), keepRefusals)
		b.ok(err)
		return service.Answer{Status: 201}, nil
	}, keepRefusals)
	b.ok(err)
}
