package db_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func TestPDF(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	done, open := s.completed(s.scope, start, start, start), s.session(s.scope, start)
	if missing, err := s.SessionsWithoutPDF(s.ctx, start, 5); err != nil || len(missing) != 1 || missing[0] != done.ID {
		t.Errorf("without PDF: %v, %v", missing, err)
	}
	if missing, err := s.SessionsWithoutPDF(s.ctx, start.Add(-1*time.Millisecond), 5); err != nil || len(missing) != 0 {
		t.Errorf("without PDF for long: %v, %v", missing, err)
	}
	_, err := s.PDF(s.ctx, done.ID)
	s.missing("PDF before it is made", err)
	for i, want := range []bool{true, false} {
		s.tx(func(tx *db.Tx) error {
			first, err := tx.InsertPDF(s.ctx, done.ID, domain.PDF{Content: []byte{'%', 0, 255, byte(i)}, Pages: 3}, nil, 4, start)
			if err != nil || first != want {
				t.Errorf("PDF %d is the first: %v, %v; want %v", i, first, err, want)
			}
			if first, err := tx.InsertPDF(s.ctx, open.ID, domain.PDF{Content: []byte("%"), Pages: 1}, nil, 1, start); err != nil || first {
				t.Errorf("PDF of an open session: %v, %v", first, err)
			}
			return nil
		})
	}
	if content, err := s.PDF(s.ctx, done.ID); err != nil || string(content) != "%\x00\xff\x00" {
		t.Errorf("PDF is %q, %v", content, err)
	}
	if got, err := s.SessionByID(s.ctx, done.ID); err != nil || !got.PDFReadyAt.Equal(start) {
		t.Errorf("ready at %v, %v", got.PDFReadyAt, err)
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := s.session(s.scope, start).ID
	// Whatever is special to a text form of bytes comes back as it went.
	tricky := "\x01\x00{\"full_name\":\"a \\x41 \\ \n ü ' 😀\xff\"}"
	draft := `{"full_name":["\u0000 \\000 \" \\x"]}`
	load := func() db.Section {
		t.Helper()
		all, err := s.Sections(s.ctx, id)
		s.ok(err)
		if len(all) != 1 {
			t.Fatalf("%d sections, want 1", len(all))
		}
		return all[0]
	}
	s.tx(func(tx *db.Tx) error { return tx.SaveDraft(s.ctx, id, "income", []byte(draft), nil, start) })
	if got := load(); string(got.Draft) != draft || got.Answers != nil || got.CompletedAt != nil || !got.UpdatedAt.Equal(start) {
		t.Errorf("draft is %+v", got)
	}
	for i, want := range []bool{true, false} {
		now := start.Add(time.Duration(1+i) * time.Hour)
		s.tx(func(tx *db.Tx) error {
			first, err := tx.SaveSection(s.ctx, id, "income", []byte(tricky), "", now)
			if err != nil || first != want {
				t.Errorf("save %d is the first: %v, %v", i, first, err)
			}
			return nil
		})
		got := load()
		if string(got.Answers) != tricky || got.Draft != nil || !got.CompletedAt.Equal(start.Add(time.Hour)) ||
			!got.UpdatedAt.Equal(now) {
			t.Errorf("saved section is %s, %+v", got.Answers, got)
		}
	}
	s.tx(func(tx *db.Tx) error { return tx.SaveDraft(s.ctx, id, "income", []byte(`{}`), nil, start) })
	if got := load(); string(got.Draft) != "{}" || string(got.Answers) != tricky || got.CompletedAt == nil {
		t.Errorf("draft over answers is %+v", got)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id, other := s.session(s.scope, start).ID, s.session(s.scope, start).ID
	var docs []*domain.Document
	for i := range 3 {
		doc := &domain.Document{ID: domain.NewDocumentID(), SessionID: id, Category: "other", FileName: fmt.Sprint(i),
			ContentType: "image/png", SizeBytes: 10 << 20, SHA256: []byte{0, 255}, UploadedAt: start}
		docs = append(docs, doc)
		s.ok(s.ReserveBlob(s.ctx, doc.ID, start))
	}
	garbage := func(want int) {
		t.Helper()
		if ids, err := s.BlobGarbage(s.ctx, start, 10); err != nil || len(ids) != want {
			t.Errorf("garbage %v, %v; want %d", ids, err, want)
		}
	}
	garbage(3)
	if ids, err := s.BlobGarbage(s.ctx, start.Add(-1*time.Millisecond), 10); err != nil || len(ids) != 0 {
		t.Errorf("garbage before it was reserved: %v, %v", ids, err)
	}
	for _, doc := range docs[:2] {
		s.tx(func(tx *db.Tx) error { return tx.InsertDocument(s.ctx, doc) })
	}
	garbage(1)
	all, err := s.Documents(s.ctx, id)
	if err != nil || len(all) != 2 || !reflect.DeepEqual(&all[0], docs[0]) || all[1].ID != docs[1].ID {
		t.Errorf("documents %+v, %v", all, err)
	}
	_, err = s.Document(s.ctx, other, docs[0].ID)
	s.missing("document of another session", err)
	s.tx(func(tx *db.Tx) error {
		s.missing("deleting it there", tx.DeleteDocument(s.ctx, other, docs[0].ID, start))
		s.ok(tx.DeleteDocument(s.ctx, id, docs[0].ID, start))
		s.missing("deleting it again", tx.DeleteDocument(s.ctx, id, docs[0].ID, start))
		return nil
	})
	garbage(2)
	s.ok(s.ForgetBlob(s.ctx, docs[0].ID))
	garbage(1)
	if left, err := s.Documents(s.ctx, id); err != nil || len(left) != 1 || left[0].ID != docs[1].ID {
		t.Errorf("documents that are left: %+v, %v", left, err)
	}
}
