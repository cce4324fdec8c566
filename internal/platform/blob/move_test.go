package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"candor/internal/platform/blob"
)

// documents are the rows of the service: which blobs are kept.
type documents struct {
	mu   sync.Mutex
	rows map[string]string // content by id
}

func (d *documents) kept(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.rows[id]
	return ok, nil
}

func (d *documents) set(id, content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[id] = content
}

func (d *documents) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rows, id)
}

func blobID(n int) string { return fmt.Sprintf("doc_01h455vb4pex5vsknk%04dn02", n) }

func quietly(blob.Moved) {}

// eachWay calls f with each pair of places.
func eachWay(t *testing.T, f func(t *testing.T, m blob.Moving)) {
	t.Helper()
	for _, from := range backends {
		for _, to := range backends {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				f(t, blob.Moving{From: from.open(t), To: to.open(t)})
			})
		}
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, m blob.Moving) {
		ctx := t.Context()
		docs := &documents{rows: map[string]string{}}
		for i := range 20 {
			content := strings.Repeat(blobID(i), i*100)
			if err := m.From.Put(ctx, blobID(i), strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			docs.set(blobID(i), content)
		}
		garbage := blobID(7)
		docs.drop(garbage)
		if did, err := m.Move(ctx, docs.kept, true, quietly); err != nil || did.Moved != 19 || did.Left != 1 || did.Bytes == 0 ||
			len(ids(t, m.To)) != 0 {
			t.Errorf("a dry run: %+v, %v, %d moved", did, err, len(ids(t, m.To)))
		}
		// It ends after some, and is begun again.
		part, cancel := context.WithCancel(ctx)
		first, err := m.Move(part, docs.kept, false, func(did blob.Moved) {
			if did.Moved == 5 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("an interrupted run: %v", err)
		}
		second, err := m.Move(ctx, docs.kept, false, quietly)
		if err != nil || second.Left != 1 || second.Differs != 0 || first.Moved < 5 || first.Moved > 5+8 || second.Moved == 0 {
			t.Errorf("runs %+v and %+v, %v", first, second, err)
		}
		if left := ids(t, m.From); len(left) != 1 || left[0] != garbage {
			t.Errorf("left behind: %v", left)
		}
		for id, content := range docs.rows {
			wantBlob(t, m, id, []byte(content))
			wantBlob(t, m.To, id, []byte(content))
		}
		if err := m.Delete(ctx, garbage); err != nil || len(ids(t, m.From)) != 0 {
			t.Errorf("garbage: %v", err)
		}
		if third, err := m.Move(ctx, docs.kept, false, quietly); err != nil || third != (blob.Moved{}) {
			t.Errorf("nothing to move: %+v, %v", third, err)
		}
	})
}

// TestMoveWhileServing moves in two runs side by side, while documents are read,
// added and deleted. None is missing at any time, and none is left when its row is
// gone.
func TestMoveWhileServing(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, m blob.Moving) {
		ctx := t.Context()
		docs := &documents{rows: map[string]string{}}
		const n = 60
		for i := range n {
			if err := m.From.Put(ctx, blobID(i), strings.NewReader(blobID(i))); err != nil {
				t.Fatal(err)
			}
			docs.set(blobID(i), blobID(i))
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if did, err := m.Move(ctx, docs.kept, false, quietly); err != nil || did.Differs != 0 {
					t.Errorf("%+v, %v", did, err)
				}
			})
		}
		group.Go(func() {
			for i := range n / 2 { // as the service: the row first
				docs.drop(blobID(2 * i))
				if err := m.Delete(ctx, blobID(2*i)); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for i := range 10 {
				if err := m.Put(ctx, blobID(n+i), strings.NewReader(blobID(n+i))); err != nil {
					t.Error(err)
				}
				docs.set(blobID(n+i), blobID(n+i))
			}
		})
		for range 3 {
			group.Go(func() {
				for range n {
					id := blobID(2*rand.IntN(n/2) + 1)
					wantBlob(t, m, id, []byte(id))
				}
			})
		}
		group.Wait()
		if _, err := m.Move(ctx, docs.kept, false, quietly); err != nil { // what a run left because another had it
			t.Error(err)
		}
		left := map[string]string{}
		for _, id := range ids(t, m.To) {
			left[id] = id
		}
		if !maps.Equal(left, docs.rows) || len(ids(t, m.From)) != 0 {
			t.Errorf("%d blobs of %d documents, %d are not moved", len(left), len(docs.rows), len(ids(t, m.From)))
		}
	})
}

// between moves each blob just before From is asked for it.
type between struct {
	blob.Place
	move func()
}

func (b between) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	b.move()
	return b.Place.Open(ctx, id)
}

// TestMovedBetweenTwoLooks opens a blob that is moved after it wasn't found in the
// new place and before it is looked for in the old one.
func TestMovedBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, m blob.Moving) {
		ctx := t.Context()
		if err := m.From.Put(ctx, id, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		docs := &documents{rows: map[string]string{id: "x"}}
		serving := blob.Moving{To: m.To, From: between{m.From, func() {
			if _, err := m.Move(ctx, docs.kept, false, quietly); err != nil {
				t.Error(err)
			}
		}}}
		wantBlob(t, serving, id, []byte("x"))
	})
}

// TestMoveKeepsWhatDiffers finds another blob at the same id.
func TestMoveKeepsWhatDiffers(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, m blob.Moving) {
		ctx := t.Context()
		for place, content := range map[blob.Place]string{m.From: "older", m.To: "newer"} {
			if err := place.Put(ctx, id, strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
		}
		docs := &documents{rows: map[string]string{id: ""}}
		did, err := m.Move(ctx, docs.kept, false, quietly)
		if err != nil || did != (blob.Moved{Differs: 1}) {
			t.Errorf("%+v, %v", did, err)
		}
		wantBlob(t, m.From, id, []byte("older"))
		wantBlob(t, m, id, []byte("newer"))
	})
}

// wantBlob reads a blob.
func wantBlob(t *testing.T, s blob.Store, id string, want []byte) {
	t.Helper()
	r, err := s.Open(t.Context(), id)
	if err != nil {
		t.Errorf("Open %s: %v", id, err)
		return
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, %v; want %d", id, len(got), err, len(want))
	}
}
