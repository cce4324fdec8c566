package db_test

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func (s *store) setURL(scope domain.Scope, url string) error {
	return s.InTx(s.ctx, func(tx *db.Tx) error {
		e, _, err := tx.LockEndpoints(s.ctx, scope)
		switch {
		case err != nil:
			return err
		case url == "":
			return tx.DeleteEndpoint(s.ctx, e.ID, start)
		}
		e.SetURL(url)
		return tx.UpdateEndpoint(s.ctx, e)
	})
}

func (s *store) setNext(secret string, at time.Time) error {
	return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.SetNextSecret(s.ctx, s.scope, nil, []byte(secret), at) })
}

func (s *store) switchSecret(until time.Time) error {
	return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.SwitchSecret(s.ctx, s.scope, nil, until) })
}

func (s *store) restoreSecret(at time.Time) error {
	return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.RestoreSecret(s.ctx, s.scope, nil, at) })
}

func (s *store) abandonNext() error {
	return s.InTx(s.ctx, func(tx *db.Tx) error { return tx.AbandonNextSecret(s.ctx, s.scope, nil) })
}

// setting is what the previous release reads in webhook_setting: the URL and the secrets.
func (s *store) setting(scope domain.Scope) (out string) {
	s.Helper()
	s.ok(s.Raw().GetContext(s.ctx, &out, `
		SELECT concat_ws(' ', default_url, encode(secret, 'escape'), encode(next_secret, 'escape'), encode(previous_secret, 'escape'))
		FROM webhook_setting WHERE account_id = $1 AND livemode = $2`, scope.AccountID, scope.Livemode))
	return out
}

func TestDefaultEndpoint(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	live := domain.Scope{AccountID: s.scope.AccountID, Livemode: true}
	_, err := s.DefaultEndpoint(s.ctx, s.scope)
	s.missing("endpoint before there is one", err)
	url := "https://example.com/hook"
	s.missing("URL before there is an endpoint", s.setURL(s.scope, url))
	s.tx(func(tx *db.Tx) error {
		return errors.Join(tx.InsertDefaultEndpoint(s.ctx, s.scope, []byte("test"), start), tx.InsertDefaultEndpoint(s.ctx, live,
			[]byte("live"), start))
	})
	s.ok(s.setURL(live, url))
	for scope, want := range map[domain.Scope]string{s.scope: "test", live: url + " live"} {
		if got := s.setting(scope); got != want {
			t.Errorf("the previous release reads %q, want %q", got, want)
		}
	}
	s.ok(s.setURL(live, ""))
	if got, err := s.DefaultEndpoint(s.ctx, live); err != nil || got.URL != nil || s.setting(live) != "live" {
		t.Errorf("after unsetting: %v, %v", got, err)
	}
}

// While the previous release runs, both read what either writes.
func TestDefaultEndpointOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write := func(query string) {
		s.Helper()
		s.ok(second(s.Raw().ExecContext(s.ctx, query, s.scope.AccountID, s.scope.Livemode)))
	}
	write(`INSERT INTO webhook_setting (account_id, livemode, secret) VALUES ($1, $2, 'a')`)
	first, err := s.DefaultEndpoint(s.ctx, s.scope)
	s.ok(err)
	write(`UPDATE webhook_setting SET default_url = 'https://LENDER.example:443/hook?a=b' WHERE account_id = $1 AND livemode = $2`)
	write(`UPDATE webhook_setting SET next_secret = 'b', next_secret_at = now() WHERE account_id = $1 AND livemode = $2`)
	s.secrets("a b ")
	s.ok(s.switchSecret(start.Add(time.Hour)))
	if got, want := s.setting(s.scope), "https://LENDER.example:443/hook?a=b b a"; got != want {
		t.Errorf("the previous release reads %q, want %q", got, want)
	}
	e, err := s.DefaultEndpoint(s.ctx, s.scope)
	s.ok(err)
	if e.ID != first.ID || e.Origin != "https://lender.example" || e.Origin != domain.Origin(*e.URL) {
		t.Errorf("the endpoint is %+v, was %+v", e, first)
	}
	// It makes a row for URLs of sessions at the same origin.
	s.tx(func(tx *db.Tx) error {
		id, err := tx.EndpointFor(s.ctx, s.scope, e.Origin, start)
		if id == e.ID {
			t.Error("URLs of sessions share the default endpoint")
		}
		return err
	})
}

// secrets reads the scope's secrets as "current next previous".
func (s *store) secrets(want string) {
	s.Helper()
	w, err := s.EndpointSecrets(s.ctx, s.scope, nil)
	s.ok(err)
	if got := string(bytes.Join([][]byte{w.Secret, w.NextSecret, w.PreviousSecret}, []byte(" "))); got != want {
		s.Errorf("secrets are %q, want %q", got, want)
	}
	if (w.NextSecret == nil) != (w.NextSecretAt == nil) || (w.PreviousSecret == nil) != (w.PreviousSecretUntil == nil) {
		s.Errorf("secrets and their times don't fit: %+v", w)
	}
}

func TestSecretsChangeByConditionalStatements(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	other := s.newScope("Broker")
	s.tx(func(tx *db.Tx) error {
		return errors.Join(tx.InsertDefaultEndpoint(s.ctx, s.scope, []byte("a"), start), tx.InsertDefaultEndpoint(s.ctx, other,
			[]byte("x"), start))
	})
	until := start.Add(24 * time.Hour)
	s.refused("switch without a next one", s.switchSecret(until))
	s.refused("abandon without a next one", s.abandonNext())
	s.refused("restore without a previous one", s.restoreSecret(start))
	s.ok(s.setNext("c", start))
	s.refused("replace a next one", s.setNext("d", start))
	s.secrets("a c ")
	s.ok(s.switchSecret(until))
	s.secrets("c  a")
	s.ok(s.setNext("d", start))
	s.refused("restore over a next one", s.restoreSecret(start))
	s.ok(s.abandonNext())
	s.refused("restore when its time is over", s.restoreSecret(until))
	s.ok(s.restoreSecret(until.Add(-time.Microsecond)))
	s.secrets("a c ")
	s.ok(s.switchSecret(until))
	s.ok(s.ErasePreviousSecrets(s.ctx, until.Add(-time.Microsecond)))
	s.secrets("c  a")
	s.ok(s.ErasePreviousSecrets(s.ctx, until))
	s.secrets("c  ")
	if w, err := s.EndpointSecrets(s.ctx, other, nil); err != nil || string(w.Secret) != "x" || w.NextSecret != nil ||
		w.PreviousSecret != nil {
		t.Errorf("another account's secrets have become %+v, %v", w, err)
	}
}

// Of those who do the same at once, one does it.
func TestSecretsChangeOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.tx(func(tx *db.Tx) error {
		return tx.InsertDefaultEndpoint(s.ctx, s.scope, []byte("a"), start)
	})
	for name, change := range map[string]func() error{
		"next":    func() error { return s.setNext("b", start) },
		"switch":  func() error { return s.switchSecret(start.Add(time.Hour)) },
		"restore": func() error { return s.restoreSecret(start) },
		"abandon": func() error { return s.abandonNext() },
	} {
		_, err := s.Raw().ExecContext(s.ctx,
			`UPDATE webhook_setting SET next_secret = NULL, next_secret_at = NULL, previous_secret = NULL, previous_secret_until = NULL`)
		s.ok(err)
		if name == "switch" || name == "abandon" {
			s.ok(s.setNext("n", start))
		}
		if name == "restore" {
			s.ok(s.setNext("n", start))
			s.ok(s.switchSecret(start.Add(time.Hour)))
		}
		var done atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := change()
				if err == nil {
					done.Add(1)
				} else if !errors.Is(err, db.ErrState) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 {
			t.Errorf("%s was done %d times, want once", name, done.Load())
		}
	}
}
