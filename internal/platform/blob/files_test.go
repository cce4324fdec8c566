package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"

	"candor/internal/platform/blob"
	"candor/internal/testkit/s3test"
)

const id = "doc_01h455vb4pex5vsknk084sn02q"

// backends are the places that the tests of every Store run on.
var backends = []struct {
	name string
	open func(t *testing.T) blob.Place
}{
	{"folder", func(t *testing.T) blob.Place { s, _ := store(t); return s }},
	{"bucket", func(t *testing.T) blob.Place { return s3test.Start(t).Place() }},
}

// onEach calls f with each place.
func onEach(t *testing.T, f func(t *testing.T, s blob.Place)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f(t, b.open(t))
		})
	}
}

// ids lists a place.
func ids(t *testing.T, s blob.Place) (out []string) {
	t.Helper()
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.ID)
	}
	return out
}

func store(t *testing.T) (*blob.Files, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "documents")
	s, err := blob.NewFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPutOpenDelete(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		ctx := t.Context()
		content := bytes.Repeat([]byte("0123456789"), 100_000)
		for _, content := range [][]byte{nil, []byte("clear"), content} { // a later one replaces it
			if err := s.Put(ctx, id, bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			wantBlob(t, s, id, content)
		}
		for info, err := range s.List(ctx) {
			if err != nil || info.ID != id || info.Size != int64(len(content)) {
				t.Errorf("List: %+v, %v", info, err)
			}
		}
		if found := ids(t, s); len(found) != 1 {
			t.Errorf("blobs %v, want one", found)
		}
		for range 2 { // the second time there is nothing to delete
			if err := s.Delete(ctx, id); err != nil {
				t.Errorf("Delete: %v", err)
			}
		}
		if _, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) || len(ids(t, s)) != 0 {
			t.Errorf("after Delete: %v, blobs %v", err, ids(t, s))
		}
		if err := s.Delete(ctx, "doc_never_seen_zz"); err != nil {
			t.Errorf("Delete of what never was: %v", err)
		}
	})
}

func TestReplacedBlobIsStillRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		ctx := t.Context()
		before, after := bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 100_000)
		if err := s.Put(ctx, id, bytes.NewReader(before)); err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := s.Put(ctx, id, bytes.NewReader(after)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, before) {
			t.Errorf("%d bytes, %v; want the former blob", len(got), err)
		}
		wantBlob(t, s, id, after)
	})
}

func TestAdd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		ctx := t.Context()
		var wg sync.WaitGroup
		var added atomic.Int32
		for range 8 {
			wg.Go(func() {
				switch err := s.Add(ctx, id, strings.NewReader("first")); {
				case err == nil:
					added.Add(1)
				case !errors.Is(err, blob.ErrExists):
					t.Errorf("Add: %v", err)
				}
			})
		}
		wg.Wait()
		if err := s.Add(ctx, id, strings.NewReader("second")); !errors.Is(err, blob.ErrExists) || added.Load() != 1 {
			t.Errorf("%v, added %d times; want ErrExists and once", err, added.Load())
		}
		wantBlob(t, s, id, []byte("first"))
	})
}

// TestFilesAreClosed checks that a blob is one file that others can't read.
func TestFilesAreClosed(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	if err := errors.Join(s.Put(t.Context(), id, strings.NewReader("x")), s.Add(t.Context(), "doc_another_one",
		strings.NewReader("x"))); err != nil {
		t.Fatal(err)
	}
	found := files(t, dir)
	for _, path := range found {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v; want nothing for others", path, info.Mode(), err)
		}
	}
	if len(found) != 2 {
		t.Errorf("files %v, want two", found)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		ctx := t.Context()
		broken := errors.New("broken")
		for name, put := range map[string]func(context.Context, string, io.Reader) error{"Put": s.Put, "Add": s.Add} {
			err := put(ctx, id, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)))
			if !errors.Is(err, broken) {
				t.Errorf("%s = %v, want the reader's error", name, err)
			}
			if _, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) || len(ids(t, s)) != 0 {
				t.Errorf("after a failed %s: %v, blobs %v", name, err, ids(t, s))
			}
		}
	})
}

// A full disk is told from other failures: it may have room again soon.
func TestFullDiskIsUnavailable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		for cause, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
			failing := iotest.ErrReader(&fs.PathError{Op: "write", Path: "x", Err: cause})
			if err := s.Put(t.Context(), id, failing); errors.Is(err, blob.ErrUnavailable) != want || !errors.Is(err, cause) {
				t.Errorf("%v: %v, want unavailable: %t", cause, err, want)
			}
		}
	})
}

// A process that dies while it writes leaves a file that isn't the blob and
// that Delete removes.
func TestDeleteRemovesUnfinished(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	ctx := context.Background()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Put(ctx, id, r) }()
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	left := files(t, dir)
	if _, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) || len(left) != 1 {
		t.Fatalf("while writing: %v, files %v", err, left)
	}
	if err := w.CloseWithError(errors.New("killed")); err != nil {
		t.Fatal(err)
	}
	<-done
	for _, name := range []string{left[0], strings.TrimSuffix(left[0], ".part") + ".move.part"} { // as a kill would have left them
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(ctx, id); err != nil || len(files(t, dir)) != 0 {
		t.Errorf("Delete = %v, files %v", err, files(t, dir))
	}
}

func TestMalformedIDs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		ctx := t.Context()
		for _, bad := range []string{"", "short", "../../../etc/passwd", "doc_01h455vb4pex5vsknk084sn/..", "doc_01h455vb4pex5\x00",
			"DOC_01H455VB4PEX5VSKNK",
			"doc_01h455vb4pex5vsknk084sn02q\n", strings.Repeat("a", 65), "doc_01h455vb.part"} {
			if s.Put(ctx, bad, strings.NewReader("x")) == nil || s.Add(ctx, bad, strings.NewReader("x")) == nil {
				t.Errorf("Put or Add took %q", bad)
			}
			if _, err := s.Open(ctx, bad); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Open(%q) = %v, want ErrNotFound", bad, err)
			}
			if err := s.Delete(ctx, bad); err == nil {
				t.Errorf("Delete took %q", bad)
			}
		}
		if found := ids(t, s); len(found) != 0 {
			t.Errorf("blobs %v", found)
		}
	})
}

func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blob.Place) {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				own := id[:20] + string(rune('a'+i%26)) + string(rune('a'+i/26))
				if err := s.Put(t.Context(), own, strings.NewReader(own)); err != nil {
					t.Errorf("Put %s: %v", own, err)
				}
				wantBlob(t, s, own, []byte(own))
			})
		}
		wg.Wait()
		if n := len(ids(t, s)); n != 40 {
			t.Errorf("%d blobs, want 40", n)
		}
	})
}
