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
	"testing"
	"testing/iotest"

	"candor/internal/platform/blob"
)

const id = "doc_01h455vb4pex5vsknk084sn02q"

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
	s, dir := store(t)
	ctx := context.Background()
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := s.Put(ctx, id, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if closing := r.Close(); err != nil || closing != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes, %v, %v; want %d", len(got), err, closing, len(content))
	}
	if found := files(t, dir); len(found) != 1 {
		t.Errorf("files %v, want one", found)
	}
	for _, path := range files(t, dir) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v; want nothing for others", path, info.Mode(), err)
		}
	}
	for range 2 { // the second time there is nothing to delete
		if err := s.Delete(ctx, id); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	if _, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) || len(files(t, dir)) != 0 {
		t.Errorf("after Delete: %v, files %v", err, files(t, dir))
	}
	if err := s.Delete(ctx, "doc_never_seen_zz"); err != nil {
		t.Errorf("Delete of what never was: %v", err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	ctx := context.Background()
	broken := errors.New("broken")
	err := s.Put(ctx, id, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("Put = %v, want the reader's error", err)
	}
	if _, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) || len(files(t, dir)) != 0 {
		t.Errorf("after a failed Put: %v, files %v", err, files(t, dir))
	}
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
	if err := os.WriteFile(left[0], []byte("half"), 0o600); err != nil { // as a kill would have left it
		t.Fatal(err)
	}
	if err := s.Delete(ctx, id); err != nil || len(files(t, dir)) != 0 {
		t.Errorf("Delete = %v, files %v", err, files(t, dir))
	}
}

func TestMalformedIDs(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	ctx := context.Background()
	for _, bad := range []string{"", "short", "../../../etc/passwd", "doc_01h455vb4pex5vsknk084sn/..", "doc_01h455vb4pex5\x00", "DOC_01H455VB4PEX5VSKNK",
		"doc_01h455vb4pex5vsknk084sn02q\n", strings.Repeat("a", 65), "doc_01h455vb.part"} {
		if err := s.Put(ctx, bad, strings.NewReader("x")); err == nil {
			t.Errorf("Put took %q", bad)
		}
		if _, err := s.Open(ctx, bad); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Open(%q) = %v, want ErrNotFound", bad, err)
		}
		if err := s.Delete(ctx, bad); err == nil {
			t.Errorf("Delete took %q", bad)
		}
	}
	if found := files(t, filepath.Dir(dir)); len(found) != 0 {
		t.Errorf("files %v", found)
	}
}

func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			own := id[:20] + string(rune('a'+i%26)) + string(rune('a'+i/26))
			if err := s.Put(ctx, own, strings.NewReader(own)); err != nil {
				t.Errorf("Put %s: %v", own, err)
			}
			r, err := s.Open(ctx, own)
			if err != nil {
				t.Errorf("Open %s: %v", own, err)
				return
			}
			defer r.Close()
			if got, err := io.ReadAll(r); err != nil || string(got) != own {
				t.Errorf("%s holds %s, %v", own, got, err)
			}
		})
	}
	wg.Wait()
	if n := len(files(t, dir)); n != 40 {
		t.Errorf("%d files, want 40", n)
	}
}
