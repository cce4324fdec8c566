package db_test

import (
	"errors"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
)

// TestErasedSessionsGetNothing: whatever is inserted of a session after its erasure, on
// request or by retention, isn't. Who opened the link is noted until the customer is erased.
func TestErasedSessionsGetNothing(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]func(s *store, tx *db.Tx, session *domain.Session) error{
		"on request": func(s *store, tx *db.Tx, session *domain.Session) error {
			_, err := tx.EraseSession(s.ctx, session, &domain.Erasure{At: start})
			return err
		},
		"by retention": func(s *store, tx *db.Tx, session *domain.Session) error {
			_, err := tx.RetireData(s.ctx, domain.UnsubmittedRetention, start.AddDate(1, 0, 0), 10)
			return err
		},
	} {
		s := newStore(t)
		scope := s.scope
		session := s.session(scope, start)
		s.tx(func(tx *db.Tx) error {
			if _, err := tx.CancelSession(s.ctx, scope, session.ID, start); err != nil {
				return err
			}
			return erase(s, tx, session)
		})
		s.tx(func(tx *db.Tx) error {
			_, err := tx.SaveSection(s.ctx, session.ID, statement.IncomeSection, []byte("{}"), "", start)
			s.missing("answers", err)
			s.missing("a draft", tx.SaveDraft(s.ctx, session.ID, statement.IncomeSection, []byte("{}"), nil, start))
			s.missing("a document", tx.InsertDocument(s.ctx, &domain.Document{ID: domain.NewDocumentID(), SessionID: session.ID,
				UploadedAt: start, SHA256: []byte{1}}))
			if first, err := tx.InsertCustomerReceipt(s.ctx, session.ID, start); first || err != nil {
				t.Errorf("%s: a receipt: %v, %v", name, first, err)
			}
			return errors.Join(tx.InsertLinkDelivery(s.ctx, &domain.LinkDelivery{SessionID: session.ID}, start),
				tx.InsertSessionKey(s.ctx, session.ID, []byte("key")), tx.ReachSection(s.ctx, session.ID, statement.IncomeSection, start),
				tx.NoteLinkUse(s.ctx, session.ID, domain.LinkUse{Kind: domain.LinkOpened, Address: "192.0.2.7",
					LastAt: start.Add(time.Hour)}))
		})
		uses := 1
		if name == "on request" {
			uses = 0
		}
		for table, want := range map[string]int{"section": 0, "document": 0, "session_key": 0, "customer_receipt": 0,
			"link_delivery": 0, "link_email": 0, "link_use": uses} {
			var n int
			if err := s.Raw().GetContext(s.ctx, &n, "SELECT count(*) FROM "+table); err != nil || n != want {
				t.Errorf("%s: %d rows of %s, want %d; %v", name, n, table, want, err)
			}
		}
	}
}
