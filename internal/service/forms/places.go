package forms

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/fairqueue"
	"candor/internal/statement"
)

// The places for uploads of a process (D86). Those of accounts that anyone can open are
// apart from the others.
var (
	approvedPlaces   = fairqueue.Limits{Places: 24, Each: 8, Waiting: 64}
	unapprovedPlaces = fairqueue.Limits{Places: 8, Each: 2, Waiting: 16}
)

const (
	// uploadWait is how long an upload waits for a place.
	uploadWait = 10 * time.Second
	// waitingBytes are read of an upload that waits, to see its sender go.
	waitingBytes = 16 << 10
)

// uploads are what this process receives: one of a session, and as many of an account
// as its places. Other processes count their own; what a session stores is bounded in
// the database.
type uploads struct {
	approved, unapproved *fairqueue.Queue[domain.AccountID]

	mu   sync.Mutex
	from map[domain.SessionID]bool
}

func newUploads() *uploads {
	return &uploads{
		approved:   fairqueue.New[domain.AccountID](approvedPlaces),
		unapproved: fairqueue.New[domain.AccountID](unapprovedPlaces),
		from:       map[domain.SessionID]bool{},
	}
}

// begin admits an upload of the session until end is called. It waits for a place and
// reads no more of content than its buffer.
func (u *uploads) begin(ctx context.Context, session *domain.Session, upload Upload, content *bufio.Reader) (end func(),
	err error) {
	if !u.claim(session.ID) {
		return nil, fileError("file", statement.UploadRunning)
	}
	queue := u.unapproved
	if upload.Approved {
		queue = u.approved
	}
	place, err := queue.Join(session.AccountID)
	if err != nil {
		u.unclaim(session.ID)
		return nil, ErrUploadsBusy
	}
	end = func() {
		place.Leave()
		u.unclaim(session.ID)
	}
	if err := await(ctx, place.Granted(), content); err != nil {
		end()
		return nil, err
	}
	if upload.Began != nil {
		upload.Began(place.Crowded)
	}
	return end, nil
}

// await waits until granted is closed. net/http sees a client go only after its body
// was read, so the wait reads the beginning. Errors: ErrUploadsBusy, and those of
// reading content.
func await(ctx context.Context, granted <-chan struct{}, content *bufio.Reader) error {
	select {
	case <-granted:
		return nil
	default:
	}
	ctx, stop := context.WithTimeoutCause(ctx, uploadWait, ErrUploadsBusy)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		if _, err := content.Peek(waitingBytes); err != nil && !errors.Is(err, io.EOF) {
			cancel(err)
		}
	})
	defer reading.Wait() // the caller reads next
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (u *uploads) claim(id domain.SessionID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.from[id] {
		return false
	}
	u.from[id] = true
	return true
}

func (u *uploads) unclaim(id domain.SessionID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.from, id)
}
