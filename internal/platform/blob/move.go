package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Moving is a Store while blobs move from one Place to another (D71). What is
// written goes to To; what isn't there is read from From.
type Moving struct{ To, From Place }

// Put stores in To.
func (m Moving) Put(ctx context.Context, id string, r io.Reader) error { return m.To.Put(ctx, id, r) }

// Open returns a blob of either place.
func (m Moving) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	// The third look finds what was moved between the first and the second.
	for _, place := range []Place{m.To, m.From} {
		if r, err := place.Open(ctx, id); !errors.Is(err, ErrNotFound) {
			return r, err
		}
	}
	return m.To.Open(ctx, id)
}

// Delete removes a blob from both places.
func (m Moving) Delete(ctx context.Context, id string) error {
	return errors.Join(m.From.Delete(ctx, id), m.To.Delete(ctx, id))
}

// Moved is what Move did.
type Moved struct {
	Moved   int   // blobs that are in To only
	Bytes   int64 // of them
	Left    int   // without a document: uploads under way, and garbage that the upkeep job deletes
	Differs int   // in both places with different bytes; both are kept
}

// moveAtOnce is how many blobs Move copies at a time.
const moveAtOnce = 8

// Move moves every blob that kept names from m.From to m.To: it copies it, reads the
// copy, compares the hashes and deletes the original. It can be ended and begun at any
// time, also twice side by side, while the service runs with m as its Store. The
// service deletes a blob after the row of its document. So what loses its row while
// it is copied is deleted in both places, by the service or here. If dry, it only
// counts. Done is called after each blob.
func (m Moving) Move(ctx context.Context, kept func(ctx context.Context, id string) (bool, error), dry bool,
	done func(Moved)) (Moved, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var total Moved
	var errs []error
	var group sync.WaitGroup
	places := make(chan struct{}, moveAtOnce)
	for info, err := range m.From.List(ctx) {
		if err != nil {
			errs = append(errs, err) // the last element of a list
			break
		}
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-places }()
			one, err := m.moveOne(ctx, info, kept, dry)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", info.ID, err))
				cancel() // what is wrong with one is often wrong with all
				return
			}
			total.Moved, total.Bytes = total.Moved+one.Moved, total.Bytes+one.Bytes
			total.Left, total.Differs = total.Left+one.Left, total.Differs+one.Differs
			done(total)
		})
	}
	group.Wait()
	if len(errs) > 0 {
		return total, errs[0] // the others followed from cancel
	}
	return total, ctx.Err()
}

func (m Moving) moveOne(ctx context.Context, info Info, kept func(context.Context, string) (bool, error),
	dry bool) (Moved, error) {
	ok, err := kept(ctx, info.ID)
	switch {
	case err != nil:
		return Moved{}, err
	case !ok:
		return Moved{Left: 1}, nil
	case dry:
		return Moved{Moved: 1, Bytes: info.Size}, nil
	}
	original, err := m.copy(ctx, info.ID)
	if errors.Is(err, ErrNotFound) {
		return Moved{}, nil // another run moved it, or the service deletes it
	}
	if err != nil {
		return Moved{}, err
	}
	copied, err := sum(ctx, m.To, info.ID)
	if err == nil && !bytes.Equal(original, copied) {
		return Moved{Differs: 1}, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Moved{}, err
	}
	ok, keptErr := kept(ctx, info.ID)
	switch {
	case keptErr != nil:
		return Moved{}, keptErr
	case !ok:
		return Moved{}, m.To.Delete(ctx, info.ID)
	case err != nil:
		return Moved{}, errors.New("the copy is gone")
	}
	return Moved{Moved: 1, Bytes: info.Size}, m.From.Delete(ctx, info.ID)
}

// copy copies a blob, unless To has one, and returns the original's hash.
func (m Moving) copy(ctx context.Context, id string) ([]byte, error) {
	r, err := m.From.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash := sha256.New()
	err = m.To.Add(ctx, id, io.TeeReader(r, hash))
	if errors.Is(err, ErrExists) {
		return sum(ctx, m.From, id)
	}
	return hash.Sum(nil), err
}

func sum(ctx context.Context, place Place, id string) ([]byte, error) {
	r, err := place.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return nil, err
	}
	return hash.Sum(nil), nil
}
