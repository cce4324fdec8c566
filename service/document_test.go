package service_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/blob"
	"candor/intake"
	"candor/service"
	"candor/statement"
)

func (b *bench) upload(id intake.SessionID, category, name, content string) error {
	return b.AddDocument(b.ctx, id, service.Upload{Category: category, FileName: name, Content: strings.NewReader(content)})
}

func picture(t *testing.T, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var buffer bytes.Buffer
	if err := encode(&buffer, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// bomb is a PNG of a few bytes that claims to be 60,000 pixels square.
func bomb(t *testing.T) string {
	t.Helper()
	raw := []byte(picture(t, png.Encode))
	binary.BigEndian.PutUint32(raw[16:], 60_000)
	binary.BigEndian.PutUint32(raw[20:], 60_000)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	return string(raw)
}

func TestUploads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.opened().ID
	gif := picture(t, png.Encode)
	tests := []struct{ name, category, file, content, contentType, stored string }{
		{"PDF", "bank_statement", "May.pdf", "%PDF-1.7 …", "application/pdf", "May.pdf"},
		{"JPEG named otherwise", "identification", `C:\photos\me.png`, picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }), "image/jpeg", "me.png"},
		{"PNG", "other", "../../etc/passwd", gif, "image/png", "passwd"},
		{"HEIC", "other", "a\nb", "\x00\x00\x00\x18ftypheic\x00\x00", "image/heic", "document.heic"},
		{"largest", "other", "", "%PDF-" + strings.Repeat("x", statement.MaxDocumentBytes-5), "application/pdf", "document.pdf"},
	}
	for _, tt := range tests {
		if err := b.upload(id, tt.category, tt.file, tt.content); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	docs, err := b.DB.Documents(b.ctx, id)
	b.ok(err)
	for i, tt := range tests {
		d := docs[i]
		if d.Category != tt.category || d.FileName != tt.stored || d.ContentType != tt.contentType || d.SizeBytes != int64(len(tt.content)) || !d.UploadedAt.Equal(start) || len(d.SHA256) != 32 {
			t.Errorf("%s is kept as %+v", tt.name, d)
		}
	}
	refused := []struct{ name, category, content, field string }{
		{"unknown category", "selfie", "%PDF-", "category"},
		{"empty", "other", "", "file"},
		{"too big", "other", "%PDF-" + strings.Repeat("x", statement.MaxDocumentBytes-4), "file"},
		{"GIF", "other", "GIF89a", "file"},
		{"HTML", "other", "<html>%PDF-", "file"},
		{"SVG", "other", "<svg/>", "file"},
		{"MP4", "other", "\x00\x00\x00\x18ftypisom\x00\x00", "file"},
		{"damaged PNG", "other", gif[:20], "file"},
		{"damaged JPEG", "other", "\xff\xd8\xff", "file"},
		{"bomb", "other", bomb(t), "file"},
	}
	for _, tt := range refused {
		err := b.upload(id, tt.category, "a.pdf", tt.content)
		var e *intake.Error
		if !errors.As(err, &e) || e.Code != intake.CodeValidation || e.Fields[0].Field != tt.field {
			t.Errorf("%s: %v, want validation_error on %s", tt.name, err, tt.field)
		}
	}
	if n := b.count("SELECT (SELECT count(*) FROM document) * 1000 + (SELECT count(*) FROM blob_garbage)"); n != len(tests)*1000 {
		t.Errorf("documents and garbage: %d", n)
	}
	b.ok(b.RemoveDocument(b.ctx, id, docs[0].ID))
	b.ok(b.RemoveDocument(b.ctx, id, docs[0].ID))
	b.ok(b.RemoveDocument(b.ctx, b.opened().ID, docs[1].ID)) // another session's stays
	if left, err := b.DB.Documents(b.ctx, id); err != nil || len(left) != len(tests)-1 {
		t.Errorf("%d documents after a removal, %v", len(left), err)
	}
}

// Uploads side by side never exceed 20.
func TestTwentyDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.opened().ID
	var wg sync.WaitGroup
	var taken, refused atomic.Int32
	for range 30 {
		wg.Go(func() {
			err := b.upload(id, "other", "a.pdf", "%PDF-")
			switch {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, &intake.Error{Code: intake.CodeValidation}):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	docs, err := b.DB.Documents(b.ctx, id)
	if err != nil || len(docs) != 20 || taken.Load() != 20 || refused.Load() != 10 {
		t.Errorf("%d documents, %d taken, %d refused, %v; want 20, 20, 10", len(docs), taken.Load(), refused.Load(), err)
	}
	garbage, err := b.DB.BlobGarbage(b.ctx, start, 100)
	if err != nil || len(garbage) != 10 {
		t.Errorf("%d blobs of refused uploads are known as garbage, %v; want 10", len(garbage), err)
	}
	b.ok(b.RemoveDocument(b.ctx, id, docs[0].ID))
	b.ok(b.upload(id, "other", "a.pdf", "%PDF-"))
}

// dyingStore writes the blob and then fails, as a process that is killed
// between writing it and its document row.
type dyingStore struct{ blob.Store }

func (s dyingStore) Put(ctx context.Context, id string, r io.Reader) error {
	if err := s.Store.Put(ctx, id, r); err != nil {
		return err
	}
	return errors.New("killed")
}

func TestCrashLeavesGarbageThatIsKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *service.Config) { c.Blobs = dyingStore{c.Blobs} })
	id := b.opened().ID
	if err := b.upload(id, "other", "a.pdf", "%PDF-"); err == nil {
		t.Fatal("the upload went well")
	}
	garbage, err := b.DB.BlobGarbage(b.ctx, b.Clock.Now().Add(time.Hour), 10)
	if err != nil || len(garbage) != 1 {
		t.Fatalf("garbage %v, %v; want the blob", garbage, err)
	}
	r, err := b.blobs.Open(b.ctx, garbage[0].String())
	b.ok(err)
	b.ok(r.Close())
	if docs, err := b.DB.Documents(b.ctx, id); err != nil || len(docs) != 0 {
		t.Errorf("documents %v, %v", docs, err)
	}
}
