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
	if got, err := s.DefaultEndpoint(s.ctx, live); err != nil || *got.URL != url || got.Origin != domain.Origin(url) {
		t.Errorf("after setting: %v, %v", got, err)
	}
	s.ok(s.setURL(live, ""))
	if got, err := s.DefaultEndpoint(s.ctx, live); err != nil || got.URL != nil {
		t.Errorf("after unsetting: %v, %v", got, err)
	}
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
			`UPDATE webhook_endpoint SET next_secret = NULL, next_secret_at = NULL, previous_secret = NULL, previous_secret_until = NULL`)
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
