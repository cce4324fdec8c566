package forms

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"candor/internal/domain"
)

// sender is what a client has sent of a file: it counts what is read, and then keeps
// the reader waiting until the client goes.
type sender struct {
	read int
	gone <-chan struct{}
}

func (s *sender) Read(p []byte) (int, error) {
	if s.read >= 1<<20 {
		<-s.gone
		return 0, io.ErrUnexpectedEOF
	}
	s.read += len(p)
	return len(p), nil
}

// beginUpload begins an upload of another session of the account.
func beginUpload(ctx context.Context, u *uploads, account domain.AccountID, approved bool, content io.Reader) (end func(),
	err error) {
	session := &domain.Session{ID: domain.NewSessionID(), AccountID: account}
	return u.begin(ctx, session, Upload{Approved: approved}, bufio.NewReaderSize(content, waitingBytes))
}

// full returns the uploads of a process in which the account has all its places.
func full(t *testing.T, account domain.AccountID, approved bool, places int) (u *uploads, end func()) {
	t.Helper()
	u = newUploads()
	for range places {
		var err error
		if end, err = beginUpload(t.Context(), u, account, approved, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	return u, end
}

func TestUploadWaitsForAPlace(t *testing.T) {
	t.Parallel()
	for name, approved := range map[string]bool{"approved": true, "not approved": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				account, places := domain.NewAccountID(), 2
				if approved {
					places = 8
				}
				u, end := full(t, account, approved, places)
				began, client := time.Now(), &sender{gone: make(chan struct{})}
				if _, err := beginUpload(t.Context(), u, account, approved, client); !errors.Is(err, ErrUploadsBusy) {
					t.Errorf("one more is answered %v", err)
				}
				if waited := time.Since(began); waited != 10*time.Second {
					t.Errorf("it waited for %s, want 10 s", waited)
				}
				if client.read > waitingBytes {
					t.Errorf("%d bytes of it were read", client.read)
				}
				for range 3 {
					if _, err := beginUpload(t.Context(), u, domain.NewAccountID(), approved, strings.NewReader("x")); err != nil {
						t.Errorf("another account's: %v", err)
					}
				}
				time.AfterFunc(9*time.Second, end)
				began = time.Now()
				if _, err := beginUpload(t.Context(), u, account, approved, client); err != nil || time.Since(began) != 9*time.Second {
					t.Errorf("after a place is free: %v in %s", err, time.Since(began))
				}
			})
		})
	}
}

// TestWaitEndsWithItsClient: a client that goes leaves the queue at once.
func TestWaitEndsWithItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := domain.NewAccountID()
		u, _ := full(t, account, true, 8)
		began, gone := time.Now(), errors.New("gone")
		begun := io.MultiReader(strings.NewReader("%PDF-1.7"), iotest.ErrReader(gone))
		if _, err := beginUpload(t.Context(), u, account, true, begun); !errors.Is(err, gone) {
			t.Errorf("a client that has gone: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := beginUpload(ctx, u, account, true, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that has ended: %v", err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("they waited for %s", waited)
		}
		if len(u.from) != 8 {
			t.Errorf("%d sessions upload, want 8", len(u.from))
		}
	})
}

// TestAccountsOfAnyoneTakeNoneOfTheOthers: as many accounts as anyone may open take none
// of the places of those that are approved.
func TestAccountsOfAnyoneTakeNoneOfTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads()
		var taken atomic.Int32
		for range 30 {
			account := domain.NewAccountID()
			for range 3 {
				go func() {
					if _, err := beginUpload(t.Context(), u, account, false, strings.NewReader("x")); err == nil {
						taken.Add(1)
					}
				}()
			}
			synctest.Wait()
		}
		if n := taken.Load(); n != 8 {
			t.Errorf("they have %d places, want 8", n)
		}
		began := time.Now()
		for range 8 {
			if _, err := beginUpload(t.Context(), u, domain.AccountID{}, true, strings.NewReader("x")); err != nil ||
				time.Since(began) != 0 {
				t.Errorf("an approved account's: %v after %s", err, time.Since(began))
			}
		}
		time.Sleep(uploadWait + time.Second) //nolint:forbidigo // on the clock of synctest
	})
}
