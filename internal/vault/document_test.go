package vault_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// packageBytes is the size of a full sealed package: 64 KiB, 16 bytes before
// and 16 after.
const packageBytes = 1<<16 + 32

// upload stores a document of the content with the session.
func (h *harness) upload(session domain.SessionID, content []byte) *domain.Document {
	h.Helper()
	d := &domain.Document{
		ID: domain.NewDocumentID(), SessionID: session, Category: "other", FileName: "Jo’s payslip.pdf", ContentType: "application/pdf",
		SizeBytes: int64(len(content)), SHA256: []byte{1}, UploadedAt: start,
	}
	h.ok(h.PutDocument(h.ctx, h.db, d, bytes.NewReader(content)))
	h.tx(func(tx *db.Tx) error { return h.InsertDocument(h.ctx, tx, d) })
	return d
}

// read returns a document's name and bytes.
func (h *harness) read(d *domain.Document) (name string, content []byte, err error) {
	row, file, err := h.Document(h.ctx, h.db, d.SessionID, d.ID)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	content, err = io.ReadAll(file)
	return row.FileName, content, err
}

// stored returns a document's bytes as the blob store has them.
func (h *harness) stored(d *domain.Document) []byte {
	h.Helper()
	file, err := h.blobs.Open(h.ctx, d.ID.String())
	h.ok(err)
	defer file.Close()
	content, err := io.ReadAll(file)
	h.ok(err)
	return content
}

func (h *harness) put(d *domain.Document, stored []byte) {
	h.Helper()
	h.ok(h.blobs.Put(h.ctx, d.ID.String(), bytes.NewReader(stored)))
}

func someBytes(n int) []byte {
	content := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(content) // never fails
	copy(content, "%PDF-1.7 marker")
	return content
}

func TestDocumentsComeBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.session().ID
	for _, n := range []int{1, 15, 1<<16 - 1, 1 << 16, 1<<16 + 1, 3 << 16, 1_000_000} {
		content := someBytes(n)
		d := h.upload(id, content)
		name, got, err := h.read(d)
		if err != nil || name != d.FileName || !bytes.Equal(got, content) {
			t.Errorf("%d bytes came back as %q, %d bytes, %v", n, name, len(got), err)
		}
		if n >= 15 && bytes.Contains(h.stored(d), []byte("marker")) {
			t.Errorf("%d bytes are stored in clear", n)
		}
	}
	all, err := h.Documents(h.ctx, h.db, id)
	h.ok(err)
	for _, d := range all {
		if d.FileName != "Jo’s payslip.pdf" {
			t.Errorf("name is %q", d.FileName)
		}
	}
	if n := h.count(`SELECT count(*) FROM document WHERE position('payslip'::bytea IN file_name) > 0`); n != 0 {
		t.Errorf("%d names are stored in clear", n)
	}
}

func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	session := h.session().ID
	d, other := h.upload(session, someBytes(3<<16+100)), h.upload(session, someBytes(3<<16+100))
	sealed := h.stored(d)
	part := func(i int) []byte { return sealed[i*packageBytes : min((i+1)*packageBytes, len(sealed))] }
	damaged := map[string][]byte{
		"nothing":                  {},
		"of another document":      h.stored(other),
		"two packages changed":     slices.Concat(part(1), part(0), part(2), part(3)),
		"a package twice":          slices.Concat(part(0), part(0), part(1), part(2), part(3)),
		"a package left out":       slices.Concat(part(0), part(2), part(3)),
		"something after the end":  slices.Concat(sealed, part(0)),
		"one byte after the end":   slices.Concat(sealed, []byte{0}),
		"in clear":                 someBytes(3<<16 + 100),
		"the end of another":       slices.Concat(part(0), part(1), part(2), h.stored(other)[3*packageBytes:]),
		"the last package instead": part(3),
	}
	for i := range 4 {
		damaged[fmt.Sprintf("cut after package %d", i)] = sealed[:i*packageBytes]
		damaged[fmt.Sprintf("cut in package %d", i)] = sealed[:i*packageBytes+60]
		for _, at := range []int{0, 1, 2, 4, 10, 16, 50} {
			flipped := bytes.Clone(sealed)
			flipped[i*packageBytes+at] ^= 0x80
			damaged[fmt.Sprintf("byte %d of package %d changed", at, i)] = flipped
		}
	}
	for name, stored := range damaged {
		h.put(d, stored)
		if _, content, err := h.read(d); err == nil {
			t.Errorf("%s: read %d bytes without an error", name, len(content))
		}
	}
	h.put(d, sealed)
	if _, _, err := h.read(d); err != nil {
		t.Errorf("as it was: %v", err)
	}
	h.exec(`DELETE FROM session_key`)
	if _, _, err := h.read(d); !errors.Is(err, keyring.ErrSealed) {
		t.Errorf("without its key: %v, want ErrSealed", err)
	}
}
