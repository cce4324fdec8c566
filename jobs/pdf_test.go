package jobs_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-fonts/dejavu/dejavusanscondensed"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/signtest"
	"candor/views/pdf"
)

// A session has one PDF and one session.pdf_ready, however often and concurrently
// its job runs.
func TestPDFIsMadeOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	s := h.completed("", hooktest.Now())
	for range 3 {
		h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) })
	}
	if n := h.Count("SELECT count(*) FROM river_job"); n != 1 {
		t.Errorf("%d jobs of one session, want 1", n)
	}
	other := h.completed("", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, other.ID) })
	if n := h.Count("SELECT count(*) FROM river_job"); n != 2 {
		t.Errorf("%d jobs of two sessions, want 2", n)
	}
	_, err := h.DB.Raw().ExecContext(h.Ctx,
		"INSERT INTO river_job (kind, queue, args, max_attempts) SELECT kind, queue, args, max_attempts FROM river_job, generate_series(1, 8)")
	h.OK(err)
	for range 2 {
		h.start(func(c *config) { c.PDFWorkers = 4 })
	}
	testkit.Await(h, "all jobs", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 18
	})
	for _, session := range []*domain.Session{s, other} {
		content, err := h.vault.PDF(h.Ctx, h.DB, session.ID)
		h.OK(err)
		events := h.Events(session, domain.SessionPDFReady)
		if len(events) != 1 || !strings.HasPrefix(string(content), "%PDF-") {
			t.Fatalf("%d events for a PDF of %d bytes", len(events), len(content))
		}
		got := hooktest.Data[domain.PDFReadyPayload](t, events[0].Body)
		want := domain.PDFReadyPayload{SessionID: session.ID, PDFURL: "https://candor.example/v1/sessions/" +
			session.ID.String() + "/pdf",
			FileSizeBytes: int64(len(content)), PageCount: got.PageCount}
		if got != want || got.PageCount < 2 {
			t.Errorf("payload %+v, want %+v", got, want)
		}
	}
	h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) }) // after the job is done, another may be inserted
	testkit.Await(h, "one more job", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 19
	})
	if n := len(h.Events(s, domain.SessionPDFReady)); n != 1 {
		t.Errorf("%d events after a later run", n)
	}
}

// A configured certificate signs the PDF once, in whichever of many runs is first, and
// a new certificate signs new PDFs only. Size, digest and event are of the signed
// bytes. Once the certificate has expired, PDFs wait (D81).
func TestPDFIsSignedOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	files := signtest.New(t, signtest.ECDSA(t))
	first, second := h.completed("", hooktest.Now()), h.completed("", hooktest.Now())
	insert := func(s *domain.Session) { h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) }) }
	insert(first)
	_, err := h.DB.Raw().ExecContext(h.Ctx,
		"INSERT INTO river_job (kind, queue, args, max_attempts) SELECT kind, queue, args, max_attempts FROM river_job, generate_series(1, 5)")
	h.OK(err)
	running := h.startWorker(func(c *config) { c.Signer = files.Signer(h) })
	testkit.Await(h, "all jobs", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 6
	})
	h.OK(running.stop(h.Ctx))
	issued := h.signed(first, files)

	renewed := signtest.New(t, signtest.RSA(t, 2048), func(c *x509.Certificate) { c.Subject.CommonName = "Another year" })
	running = h.startWorker(func(c *config) { c.Signer = renewed.Signer(h) })
	insert(first)
	insert(second)
	testkit.Await(h, "two more jobs", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 8
	})
	h.OK(running.stop(h.Ctx))
	if again := h.signed(first, files); !bytes.Equal(again, issued) {
		t.Error("a PDF changed after it was issued")
	}
	if said := signtest.Verify(t, h.signed(second, renewed), ""); !strings.Contains(said, "Another year") {
		t.Errorf("the new certificate didn't sign:\n%s", said)
	}

	third := h.completed("", hooktest.Now())
	insert(third)
	expiring := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Hour) })
	h.start(func(c *config) { // two hours: two years later the sessions would be erased
		c.Signer, c.Clock = expiring.Signer(h), func() time.Time { return time.Now().Add(2 * time.Hour) }
	})
	testkit.Await(h, "a job that failed", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND errors IS NOT NULL") == 1
	})
	if n := h.Count("SELECT count(*) FROM statement_pdf"); n != 2 || len(h.Events(third, domain.SessionPDFReady)) != 0 {
		t.Errorf("%d PDFs with an expired certificate, want 2", n)
	}
}

// signed returns a session's PDF, which must be signed with the files' certificate and
// be what the session and its event say.
func (h *harness) signed(s *domain.Session, files signtest.Files) []byte {
	h.Helper()
	content, err := h.vault.PDF(h.Ctx, h.DB, s.ID)
	h.OK(err)
	if said := signtest.Verify(h, content, files.Trusting(h)); !strings.Contains(said, "Signature is Valid.") ||
		!strings.Contains(said, "Certificate is Trusted.") {
		h.Errorf("pdfsig says of the PDF:\n%s", said)
	}
	stored, err := h.DB.SessionByID(h.Ctx, s.ID)
	h.OK(err)
	signer, digest := files.Signer(h), sha256.Sum256(content)
	if !bytes.Equal(stored.PDFSHA256, digest[:]) || stored.PDFSigner == nil || *stored.PDFSigner != signer.Subject() ||
		*stored.PDFSignerIssuer != signtest.Issuer {
		h.Errorf("the session has signer %v by %v and digest %x, want %q and %x", stored.PDFSigner, stored.PDFSignerIssuer,
			stored.PDFSHA256, signer.Subject(), digest)
	}
	events := h.Events(s, domain.SessionPDFReady)
	if len(events) != 1 || hooktest.Data[domain.PDFReadyPayload](h, events[0].Body).FileSizeBytes != int64(len(content)) {
		h.Errorf("%d events for a PDF of %d bytes", len(events), len(content))
	}
	return content
}

// A statement with a character that no font has, from before the form refused it, is not
// finished without it. It waits, is counted, and is drawn when the font is there (D80).
func TestPDFWaitsForItsFont(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	fox := statementtest.Full()
	fox.Personal.Occupation = "Fox 🦊"
	s := h.completedWith(fox, "", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) })
	var counts counting
	waits := func() (n int) {
		counts.note(func() { n = counts.undrawn })
		return n
	}
	var log testkit.LogBuffer
	lacking := h.startWorker(func(c *config) {
		c.Observer, c.Logger = &counts, slog.New(slog.NewTextHandler(&log, nil))
	})
	testkit.Await(h, "the alert's count", func() bool { return waits() == 1 })
	testkit.Await(h, "a later try", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'scheduled'") == 1
	})
	h.OK(lacking.stop(h.Ctx))
	if n := len(h.Events(s, domain.SessionPDFReady)); n != 0 {
		t.Errorf("%d events of a PDF that lacks a character", n)
	}
	if text := log.String(); !strings.Contains(text, "CANDOR_PDF_FONT") || !strings.Contains(text, "U+1F98x") ||
		strings.Contains(text, "🦊") || strings.Contains(text, "Fox") {
		t.Errorf("the log says %q", text)
	}

	path := filepath.Join(t.TempDir(), "fox.ttf")
	h.OK(os.WriteFile(path, fontWith('🦊'), 0o600))
	more, err := pdf.LoadFonts(path)
	h.OK(err)
	_, err = h.DB.Raw().ExecContext(h.Ctx,
		"UPDATE river_job SET scheduled_at = now(), state = 'available' WHERE kind = 'statement_pdf'")
	h.OK(err)
	h.start(func(c *config) { c.Fonts = more })
	testkit.Await(h, "the PDF", func() bool { return len(h.Events(s, domain.SessionPDFReady)) == 1 })
	if waits() != 1 {
		t.Error("a PDF that is drawn counts as one that waits")
	}
}

// fontWith is a font that has r: the last of the map's ranges, which is of format 12,
// becomes that rune.
func fontWith(r rune) []byte {
	ttf := bytes.Clone(dejavusanscondensed.TTF)
	read := func(at int) int { return int(binary.BigEndian.Uint32(ttf[at:])) }
	table := read(bytes.Index(ttf, []byte("cmap")) + 8)
	for i := range int(binary.BigEndian.Uint16(ttf[table+2:])) {
		const header, group = 16, 12
		sub := table + read(table+4+8*i+4)
		if binary.BigEndian.Uint16(ttf[sub:]) == 12 {
			last := sub + header + group*(read(sub+12)-1)
			binary.BigEndian.PutUint32(ttf[last:], uint32(r))
			binary.BigEndian.PutUint32(ttf[last+4:], uint32(r))
		}
	}
	return ttf
}
