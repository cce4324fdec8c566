package forms_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/testkit/servicetest"
)

func (b *fixture) upload(id domain.SessionID, category, name, content string) error {
	return b.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, forms.Upload{Category: category, FileName: name,
		Content: strings.NewReader(content)})
}

func picture(t *testing.T, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var buffer bytes.Buffer
	if err := encode(&buffer, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func TestUploads(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Opened().ID
	gif := picture(t, png.Encode)
	tests := []struct{ name, category, file, content, contentType, stored string }{
		{"PDF", "bank_statement", "May.pdf", "%PDF-1.7 …", "application/pdf", "May.pdf"},
		{"JPEG named otherwise", "identification", `C:\photos\me.png`, picture(t, func(w io.Writer, m image.Image) error {
			return jpeg.Encode(w, m, nil)
		}), "image/jpeg", "me.png.jpg"},
		{"PNG", "other", "../../etc/passwd", gif, "image/png", "passwd.png"},
		{"HEIC", "other", "a\nb", "\x00\x00\x00\x18ftypheic\x00\x00", "image/heic", "document.heic"},
		{"largest", "other", "", "%PDF-" + strings.Repeat("x", statement.MaxDocumentBytes-5), "application/pdf", "document.pdf"},
	}
	for _, tt := range tests {
		if err := b.upload(id, tt.category, tt.file, tt.content); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	docs, err := b.Vault.Documents(b.Ctx, b.DB, id)
	b.OK(err)
	for i, tt := range tests {
		d := docs[i]
		if d.Category != tt.category || d.FileName != tt.stored || d.ContentType != tt.contentType ||
			d.SizeBytes != int64(len(tt.content)) || !d.UploadedAt.Equal(servicetest.Start) || len(d.SHA256) != 32 {
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
		{"bomb", "other", servicetest.Bomb(t), "file"},
	}
	for _, tt := range refused {
		err := b.upload(id, tt.category, "a.pdf", tt.content)
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != domain.CodeValidation || e.Fields[0].Field != tt.field {
			t.Errorf("%s: %v, want validation_error on %s", tt.name, err, tt.field)
		}
	}
	if n := b.Count("SELECT (SELECT count(*) FROM document) * 1000 + (SELECT count(*) FROM blob_garbage)"); n != len(tests)*1000 {
		t.Errorf("documents and garbage: %d", n)
	}
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, docs[0].ID))
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, docs[0].ID))
	b.OK(b.Forms.RemoveDocument(b.Ctx, b.Opened(), docs[1].ID)) // another session's stays
	if left, err := b.DB.Documents(b.Ctx, id); err != nil || len(left) != len(tests)-1 {
		t.Errorf("%d documents after a removal, %v", len(left), err)
	}
}

// Uploads to several processes side by side never exceed 20.
func TestTwentyDocuments(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Opened().ID
	for i := range 15 {
		b.OK(b.upload(id, "other", "a.pdf", fmt.Sprintf("%%PDF-%02d", i)))
	}
	var wg sync.WaitGroup
	var taken, refused atomic.Int32
	for i := range 15 {
		process := servicetest.New(b.Config)
		wg.Go(func() {
			err := process.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, forms.Upload{Category: "other",
				Content: strings.NewReader(fmt.Sprintf("%%PDF-%02d", 20+i))})
			switch {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, &domain.Error{Code: domain.CodeValidation}):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	docs, err := b.DB.Documents(b.Ctx, id)
	if err != nil || len(docs) != 20 || taken.Load() != 5 || refused.Load() != 10 {
		t.Errorf("%d documents, %d taken, %d refused, %v; want 20, 5, 10", len(docs), taken.Load(), refused.Load(), err)
	}
	if n := b.Count("SELECT count(*) FROM blob_garbage"); n != 0 {
		t.Errorf("%d blobs of refused uploads are left", n)
	}
	if n := b.Count("SELECT uploaded_bytes FROM session WHERE id = $1", id); n < 20*7 || n > 30*7 {
		t.Errorf("%d bytes are counted for 20 documents of 7 bytes and up to 10 refused ones", n)
	}
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, docs[0].ID))
	b.OK(b.upload(id, "other", "a.pdf", "%PDF-"))
}

// TestTheSameBytesAreOneDocument sends one file by several processes at once, and again
// later (D84). What an earlier release stored twice stays.
func TestTheSameBytesAreOneDocument(t *testing.T) {
	t.Parallel()
	store := &watchedStore{}
	b := newFixture(t, func(c *servicetest.Config) { store.Store, c.Blobs = c.Blobs, store })
	id := b.Opened().ID
	var wg sync.WaitGroup
	var stored, again atomic.Int32
	for range 6 {
		process := servicetest.New(b.Config)
		wg.Go(func() {
			err := process.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, forms.Upload{FileName: "payslip.pdf",
				Content: strings.NewReader("%PDF-same")})
			switch {
			case err == nil:
				stored.Add(1)
			case errors.As(err, new(*forms.AlreadyAdded)):
				again.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if stored.Load() != 1 || again.Load() != 5 || store.count() != 1 {
		t.Fatalf("stored %d times, said %d times, %d blobs; want 1, 5, 1", stored.Load(), again.Load(), store.count())
	}
	send := func(category, name string) *forms.AlreadyAdded {
		t.Helper()
		var already *forms.AlreadyAdded
		if err := b.upload(id, category, name, "%PDF-same"); !errors.As(err, &already) {
			t.Fatalf("the same bytes again: %v", err)
		}
		return already
	}
	if said := send("bank_statement", "copy.pdf"); said.Category != "" {
		t.Errorf("a document without a category took one and kept %q", said.Category)
	}
	if said := send("tax_return", "copy.pdf"); said.Category != "bank_statement" {
		t.Errorf("the category that is kept is %q, want bank_statement", said.Category)
	}
	documents, err := b.Vault.Documents(b.Ctx, b.DB, id)
	b.OK(err)
	if len(documents) != 1 || documents[0].FileName != "payslip.pdf" || documents[0].Category != "bank_statement" {
		t.Errorf("documents = %+v, want the first with its name and the first category", documents)
	}
	if n := b.Count("SELECT uploaded_bytes FROM session WHERE id = $1", id); n != len("%PDF-same") {
		t.Errorf("%d bytes are counted, want those of one file", n)
	}
	if n := b.Count("SELECT count(*) FROM blob_garbage"); n != 0 || store.count() != 1 {
		t.Errorf("%d notes of garbage, %d blobs; want 0 and 1", n, store.count())
	}
	_, err = b.DB.Raw().ExecContext(b.Ctx,
		`INSERT INTO document SELECT gen_random_uuid(), session_id, category, file_name, content_type, size_bytes, sha256, uploaded_at FROM document`)
	b.OK(err)
	send("", "third.pdf")
	b.OK(b.upload(b.Opened().ID, "other", "payslip.pdf", "%PDF-same")) // another session's
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, documents[0].ID))
}

// watchedStore counts what is stored and not deleted.
type watchedStore struct {
	blob.Store
	stored atomic.Int32
	left   sync.Map
	keeps  atomic.Bool // fails to delete
}

func (s *watchedStore) Put(ctx context.Context, id string, r io.Reader) error {
	s.stored.Add(1)
	s.left.Store(id, true)
	return s.Store.Put(ctx, id, r)
}

func (s *watchedStore) Delete(ctx context.Context, id string) error {
	if s.keeps.Load() {
		return errors.New("killed")
	}
	s.left.Delete(id)
	return s.Store.Delete(ctx, id)
}

func (s *watchedStore) count() (n int) {
	s.left.Range(func(any, any) bool { n++; return true })
	return n
}

func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	store := &watchedStore{}
	b := newFixture(t, func(c *servicetest.Config) { store.Store, c.Blobs = c.Blobs, store })
	id := b.Opened().ID
	gone := errors.New("the customer is gone")
	pdf := func(n int) io.Reader { return strings.NewReader("%PDF-" + strings.Repeat("x", n-5)) }
	category := func(c string, err error) func() (string, error) { return func() (string, error) { return c, err } }
	tests := []struct {
		name    string
		upload  forms.Upload
		stored  int32 // that reached the store
		counted int
	}{
		{"wrong type", forms.Upload{Category: "other", Content: strings.NewReader("MZ")}, 0, 0},
		{"too large", forms.Upload{Category: "other", Content: pdf(statement.MaxDocumentBytes + 1)}, 1, statement.MaxDocumentBytes},
		{"gone half-way", forms.Upload{Category: "other", Content: io.MultiReader(pdf(70_000), iotest.ErrReader(gone))}, 1, 70_000},
		{"wrong category after it", forms.Upload{Content: pdf(1000), Rest: category("selfie", nil)}, 1, 1000},
		{"gone after it", forms.Upload{Content: pdf(1000), Rest: category("", gone)}, 1, 1000},
		{"bomb", forms.Upload{Category: "other", Content: strings.NewReader(servicetest.Bomb(t))}, 1, len(servicetest.Bomb(t))},
		{"late bomb", forms.Upload{Category: "other", Content: strings.NewReader(latePhoto(t, 0xffff))}, 1, -1},
	}
	for _, tt := range tests {
		before, total := store.stored.Load(), b.Count("SELECT uploaded_bytes FROM session WHERE id = $1", id)
		if err := b.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, tt.upload); err == nil {
			t.Errorf("%s is taken", tt.name)
		}
		if got := store.stored.Load() - before; got != tt.stored {
			t.Errorf("%s: stored %d times, want %d", tt.name, got, tt.stored)
		}
		if got := b.Count("SELECT uploaded_bytes FROM session WHERE id = $1", id) - total; got != tt.counted && tt.counted >= 0 {
			t.Errorf("%s: %d bytes are counted, want %d", tt.name, got, tt.counted)
		}
		if left := b.Count("SELECT (SELECT count(*) FROM blob_garbage) + (SELECT count(*) FROM document)"); left != 0 ||
			store.count() != 0 {
			t.Fatalf("%s: %d rows and %d blobs are left", tt.name, left, store.count())
		}
	}
	b.OK(b.upload(id, "other", "a.jpg", latePhoto(t, 3000)))
	b.OK(b.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, forms.Upload{Content: pdf(1000), Rest: category("other", nil)}))
	if store.count() != 2 {
		t.Errorf("%d blobs of 2 documents", store.count())
	}
}

// latePhoto is a JPEG that says that it is so wide and high after 2 MB of
// metadata, as phones write them.
func latePhoto(t *testing.T, side uint16) string {
	t.Helper()
	photo := picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })
	size := strings.Index(photo, "\xff\xc0") + 5
	sides := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, side), side)
	metadata := "\xff\xe1\xff\xff" + strings.Repeat("m", 0xffff-2)
	return photo[:2] + strings.Repeat(metadata, 32) + photo[2:size] + string(sides) + photo[size+4:]
}

// One session uploads one file at a time, and others aren't kept waiting. An upload
// beyond its account's places waits for one.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	begin := func(id domain.SessionID) (finish func()) {
		r, w := io.Pipe()
		stored := make(chan error)
		go func() {
			stored <- b.Forms.AddDocument(b.Ctx, &domain.Session{ID: id}, forms.Upload{Category: "other", Content: r})
		}()
		_, err := w.Write([]byte("%PDF-1.7 that has begun"))
		b.OK(err)
		return func() {
			b.OK(w.Close())
			b.OK(<-stored)
		}
	}
	first, second, third := b.Opened().ID, b.Opened().ID, b.Opened().ID
	finishFirst := begin(first)
	var refusal *domain.Error
	if err := b.upload(first, "other", "a.pdf", "%PDF-"); !errors.As(err, &refusal) || refusal.Message != statement.UploadRunning {
		t.Errorf("a second upload of the session: %v, want %q", err, statement.UploadRunning)
	}
	b.OK(b.upload(second, "other", "a.pdf", "%PDF-"))
	finishSecond := begin(second)
	waited := make(chan error)
	go func() { waited <- b.upload(third, "other", "a.pdf", "%PDF-") }()
	b.OK(b.Forms.AddDocument(b.Ctx, &domain.Session{ID: b.Opened().ID, AccountID: domain.NewAccountID()},
		forms.Upload{Category: "other", Content: strings.NewReader("%PDF-")}))
	if n := b.Count("SELECT uploaded_bytes FROM session WHERE id = $1", third); n != 0 {
		t.Errorf("an upload beyond its account's places has reserved %d bytes", n)
	}
	finishSecond()
	b.OK(<-waited)
	finishFirst()
	b.OK(b.upload(first, "other", "a.pdf", "%PDF-2"))
}

// A session's uploads are bounded for its life, removed and refused ones
// included.
func TestUploadBudget(t *testing.T) {
	t.Parallel()
	store := &watchedStore{}
	b := newFixture(t, func(c *servicetest.Config) { store.Store, c.Blobs = c.Blobs, store })
	id := b.Opened().ID
	used := func(n int) {
		b.Helper()
		_, err := b.DB.Raw().ExecContext(b.Ctx, "UPDATE session SET uploaded_bytes = $2 WHERE id = $1", id, n)
		b.OK(err)
	}
	used(statement.MaxUploadedBytes - statement.MaxDocumentBytes)
	b.OK(b.upload(id, "other", "a.pdf", "%PDF-"))
	var refusal *domain.Error
	if err := b.upload(id, "other", "b.pdf", "%PDF-2"); !errors.As(err, &refusal) || refusal.Message != statement.TooMuchUploaded {
		t.Errorf("an upload beyond the budget: %v, want %q", err, statement.TooMuchUploaded)
	}
	if got := b.Count("SELECT uploaded_bytes FROM session WHERE id = $1",
		id); got != statement.MaxUploadedBytes-statement.MaxDocumentBytes+5 {
		t.Errorf("%d bytes are counted", got)
	}
	if store.stored.Load() != 1 {
		t.Errorf("%d uploads were stored, want 1", store.stored.Load())
	}
	b.OK(b.upload(b.Opened().ID, "other", "a.pdf", "%PDF-"))
}

// removable adds documents to an open session whose rows say that they have 9 MB.
func (b *fixture) removable(id domain.SessionID, n int) []domain.Document {
	b.Helper()
	for i := range n {
		b.OK(b.upload(id, "other", "a.pdf", fmt.Sprintf("%%PDF-%d", i)))
	}
	_, err := b.DB.Raw().ExecContext(b.Ctx, "UPDATE document SET size_bytes = 9 * 1024 * 1024 WHERE session_id = $1", id)
	b.OK(err)
	documents, err := b.DB.Documents(b.Ctx, id)
	b.OK(err)
	return documents
}

// TestRemovalsOfTwoTabsLeaveLittle (D87): two tabs remove the same documents by two
// processes. Five of 9 MB wait, and each blob that is left has its note.
func TestRemovalsOfTwoTabsLeaveLittle(t *testing.T) {
	t.Parallel()
	store := &watchedStore{}
	b := newFixture(t, func(c *servicetest.Config) { store.Store, c.Blobs = c.Blobs, store })
	id, other := b.Opened().ID, b.Opened().ID
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: other}, b.removable(other, 1)[0].ID))
	documents := b.removable(id, 14)
	var wg sync.WaitGroup
	for range 2 {
		process := servicetest.New(b.Config)
		wg.Go(func() {
			for _, d := range documents {
				if err := process.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, d.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := b.Count("SELECT count(*) FROM blob_garbage WHERE session_id = $1", id); n != 5 || store.count() != 5+1 {
		t.Errorf("%d removed documents wait, and %d blobs with the other session's; want 5 and 6", n, store.count())
	}
	store.left.Range(func(blob, _ any) bool {
		left, err := domain.ParseDocumentID(blob.(string))
		b.OK(err)
		if b.Count("SELECT count(*) FROM blob_garbage WHERE document_id = $1", left) != 1 {
			t.Errorf("%s is left without a note", left)
		}
		return true
	})
}

// TestRemovalsThatAreKilledAreMadeUpFor: a process that ends between row and file leaves
// what the next removal deletes, and the upkeep job knows.
func TestRemovalsThatAreKilledAreMadeUpFor(t *testing.T) {
	t.Parallel()
	store := &watchedStore{}
	b := newFixture(t, func(c *servicetest.Config) { store.Store, c.Blobs = c.Blobs, store })
	id := b.Opened().ID
	documents := b.removable(id, 9)
	store.keeps.Store(true)
	for _, d := range documents[:8] {
		b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, d.ID))
	}
	if garbage, err := b.DB.BlobGarbage(b.Ctx, b.Clock.Now(), 100); err != nil || len(garbage) != 8 || store.count() != 9 {
		t.Errorf("the upkeep job knows %d of 8, %v; %d blobs", len(garbage), err, store.count())
	}
	store.keeps.Store(false)
	b.OK(b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, documents[8].ID))
	if n := b.Count("SELECT count(*) FROM blob_garbage"); n != 5 || store.count() != 5 {
		t.Errorf("%d notes and %d blobs are left, want 5", n, store.count())
	}
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

func (s dyingStore) Delete(context.Context, string) error { return errors.New("killed") }

// slowBucket reports that it is unavailable and stores the blob after Delete, as a
// bucket whose answer was lost.
type slowBucket struct {
	blob.Store
	late func() error
}

func (s *slowBucket) Put(ctx context.Context, id string, r io.Reader) error {
	content, err := io.ReadAll(r)
	s.late = func() error { return s.Store.Put(context.WithoutCancel(ctx), id, bytes.NewReader(content)) }
	return errors.Join(blob.ErrUnavailable, err)
}

func (s *slowBucket) Delete(ctx context.Context, id string) error {
	return errors.Join(s.Store.Delete(ctx, id), s.late())
}

func TestUnconfirmedUploadIsKnownGarbage(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(c *servicetest.Config) { c.Blobs = &slowBucket{Store: c.Blobs} })
	if err := b.upload(b.Opened().ID, "other", "a.pdf", "%PDF-"); !errors.Is(err, blob.ErrUnavailable) {
		t.Fatal(err)
	}
	garbage, err := b.DB.BlobGarbage(b.Ctx, b.Clock.Now().Add(time.Hour), 10)
	if err != nil || len(garbage) != 1 {
		t.Fatalf("garbage %v, %v; want the blob that arrived late", garbage, err)
	}
	r, err := b.Files.Open(b.Ctx, garbage[0].String())
	b.OK(err)
	b.OK(r.Close())
}

func TestCrashLeavesGarbageThatIsKnown(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(c *servicetest.Config) { c.Blobs = dyingStore{c.Blobs} })
	id := b.Opened().ID
	if err := b.upload(id, "other", "a.pdf", "%PDF-"); err == nil {
		t.Fatal("the upload went well")
	}
	garbage, err := b.DB.BlobGarbage(b.Ctx, b.Clock.Now().Add(time.Hour), 10)
	if err != nil || len(garbage) != 1 {
		t.Fatalf("garbage %v, %v; want the blob", garbage, err)
	}
	r, err := b.Files.Open(b.Ctx, garbage[0].String())
	b.OK(err)
	b.OK(r.Close())
	if docs, err := b.DB.Documents(b.Ctx, id); err != nil || len(docs) != 0 {
		t.Errorf("documents %v, %v", docs, err)
	}
}

// TestUploadWhoseCommitIsNotAnsweredKeepsItsBytes: PostgreSQL is lost during the commit,
// so that the document may be stored. Its bytes once were deleted then, and the stored
// document had none.
func TestUploadWhoseCommitIsNotAnsweredKeepsItsBytes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Opened().ID
	_, err := b.DB.Raw().ExecContext(b.Ctx, `
		CREATE FUNCTION lose_connection() RETURNS trigger LANGUAGE plpgsql
			AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER lose_connection AFTER INSERT ON document DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION lose_connection()`)
	b.OK(err)
	if err := b.upload(id, "other", "a.pdf", "%PDF-"); err == nil {
		t.Fatal("the upload went well")
	}
	garbage, err := b.DB.BlobGarbage(b.Ctx, b.Clock.Now().Add(time.Hour), 10)
	if err != nil || len(garbage) != 1 {
		t.Fatalf("garbage %v, %v; want the blob, for the upkeep job", garbage, err)
	}
	r, err := b.Files.Open(b.Ctx, garbage[0].String())
	b.OK(err)
	b.OK(r.Close())
}
