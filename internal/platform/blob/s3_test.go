package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"candor/internal/platform/blob"
	"candor/internal/testkit/s3test"
)

// large is more than what a relay and the buffers of a connection hold.
var large = bytes.Repeat([]byte("0123456789abcdef"), 500_000)

// TestS3RefusesWrongSum changes a byte on the way: the service refuses the blob.
func TestS3RefusesWrongSum(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	relay := s3test.Relay(t, server.Addr, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("right"), []byte("wrong"))
	}, nil)
	place := server.At(relay)
	ctx := t.Context()
	if err := place.Put(ctx, id, strings.NewReader("this is right")); err == nil {
		t.Error("a wrong sum is accepted")
	}
	if _, err := server.Place().Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("what was refused is stored: %v", err)
	}
	if err := place.Put(ctx, id, strings.NewReader("this is good")); err != nil {
		t.Error(err)
	}
}

// TestS3GoneDuringUpload ends the connection in the middle of a blob, once and for
// good: once is repeated by itself; for good is an error, nothing is stored, and the
// upload can be repeated.
func TestS3GoneDuringUpload(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	var sent, cuts atomic.Int64
	relay := s3test.Relay(t, server.Addr, func(b []byte) []byte {
		if cuts.Load() > 0 && sent.Add(int64(len(b))) > 1_000_000 {
			sent.Store(0)
			cuts.Add(-1)
			return nil
		}
		return b
	}, nil)
	place, direct := server.At(relay), server.Place()
	ctx := t.Context()
	cuts.Store(1)
	if err := place.Put(ctx, id, bytes.NewReader(large)); err != nil || cuts.Load() != 0 {
		t.Errorf("the library doesn't repeat it: %v", err)
	}
	if err := direct.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	cuts.Store(1 << 40)
	err := place.Put(ctx, id, bytes.NewReader(large))
	if err == nil || !strings.Contains(err.Error(), "store blob in S3") || strings.Contains(err.Error(), server.Config.SecretKey) {
		t.Errorf("an upload that never arrives: %v", err)
	}
	if _, err := direct.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("half a blob is stored: %v", err)
	}
	cuts.Store(0)
	if err := place.Put(ctx, id, bytes.NewReader(large)); err != nil {
		t.Error(err)
	}
	wantBlob(t, direct, id, large)
}

// TestS3GoneDuringDownload ends the connection in the middle of a blob: the reader
// returns an error, not the end.
func TestS3GoneDuringDownload(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	var cut atomic.Bool
	var came atomic.Int64
	relay := s3test.Relay(t, server.Addr, nil, func(b []byte) []byte {
		if came.Add(int64(len(b))) > 1_000_000 && cut.Load() {
			return nil
		}
		return b
	})
	place := server.At(relay)
	ctx := t.Context()
	if err := place.Put(ctx, id, bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	r, err := place.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	if err == nil || n >= int64(len(large)) || !strings.Contains(err.Error(), "read blob from S3") {
		t.Errorf("%d bytes, %v; want an error", n, err)
	}
	cut.Store(false)
	wantBlob(t, place, id, large)
}

// TestS3ThatIsDown stops the service: each call is an error that isn't ErrNotFound.
func TestS3ThatIsDown(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	place := server.Place()
	ctx := t.Context()
	if err := place.Put(ctx, id, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	_, opening := place.Open(ctx, id)
	for what, err := range map[string]error{"Put": place.Put(ctx, id, strings.NewReader("x")), "Open": opening,
		"Delete": place.Delete(ctx, id), "Check": place.Check(ctx)} {
		if err == nil || errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	server.Restart()
	wantBlob(t, place, id, []byte("x"))
}

func TestS3Check(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	if err := server.Place().Check(t.Context()); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*blob.S3Config){
		"bucket": func(c *blob.S3Config) { c.Bucket = "no-such-bucket" },
		"key":    func(c *blob.S3Config) { c.AccessKey = "unknown" },
		"secret": func(c *blob.S3Config) { c.SecretKey = "hidden" },
	} {
		config := server.Config
		change(&config)
		place, err := blob.NewS3(config, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := place.Check(t.Context()); !errors.Is(err, blob.ErrRefused) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("wrong %s: %v", what, err)
		}
	}
}

// TestS3Ends reads with a request that ends.
func TestS3Ends(t *testing.T) {
	t.Parallel()
	place := s3test.Start(t).Place()
	if err := place.Put(t.Context(), id, bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := place.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
