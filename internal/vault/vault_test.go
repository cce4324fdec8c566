package vault_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/s3test"
	"candor/internal/vault"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A harness is a vault over a test's own database and blob folder.
type harness struct {
	testing.TB
	*vault.Vault
	ctx   context.Context
	db    *db.DB
	blobs blob.Place
	scope domain.Scope
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{TB: t, ctx: t.Context(), db: dbtest.Open(t, dbtest.DSN(t))}
	h.blobs = s3test.Place(t)
	h.Vault = h.with(keyring.Generate("test"))
	account := &domain.Account{ID: domain.NewAccountID(), Name: "Lender", BillingEmail: "bills@lender.example", CreatedAt: start}
	h.scope = domain.Scope{AccountID: account.ID}
	h.tx(func(tx *db.Tx) error { return tx.InsertAccount(h.ctx, account) })
	return h
}

// with returns a vault over the same stores that has other keys.
func (h *harness) with(keys ...string) *vault.Vault {
	h.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	h.ok(err)
	return vault.New(ring, h.blobs)
}

func (h *harness) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) tx(work func(tx *db.Tx) error) {
	h.Helper()
	h.ok(h.db.InTx(h.ctx, work))
}

func (h *harness) exec(query string, args ...any) {
	h.Helper()
	_, err := h.db.Raw().ExecContext(h.ctx, query, args...)
	h.ok(err)
}

func (h *harness) count(query string) (n int) {
	h.Helper()
	h.ok(h.db.Raw().GetContext(h.ctx, &n, query))
	return n
}

func (h *harness) session() *domain.Session {
	h.Helper()
	session, err := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example"}.Session(h.scope,
		start, func(string) error {
			return nil
		}, nil)
	h.ok(err)
	session.Status, session.CompletedAt = domain.Completed, &start
	h.tx(func(tx *db.Tx) error { return tx.InsertSession(h.ctx, session) })
	h.exec(`UPDATE session SET status = 'completed', completed_at = $2 WHERE id = $1`, session.ID, start)
	return session
}

// answersOf returns the answers of a section that is filled in.
func (h *harness) answersOf(section string) []byte {
	h.Helper()
	answers, err := statementtest.Full().Section(section, start).MarshalJSON()
	h.ok(err)
	return answers
}

func (h *harness) save(id domain.SessionID, section string) {
	h.Helper()
	h.tx(func(tx *db.Tx) error {
		_, err := h.SaveSection(h.ctx, tx, &domain.Session{ID: id}, nil, section, h.answersOf(section), start)
		return err
	})
}

func (h *harness) sealed(what string, err error) {
	h.Helper()
	if !errors.Is(err, keyring.ErrSealed) {
		h.Errorf("%s: %v, want ErrSealed", what, err)
	}
}

// TestKeyIsReadOnce saves after the form was read, when the key is gone: a second
// look would make another.
func TestKeyIsReadOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.session().ID
	h.save(id, statement.IncomeSection)
	h.tx(func(tx *db.Tx) error {
		read, err := h.Form(h.ctx, tx, id)
		h.ok(err)
		h.ok(tx.DestroySessionKey(h.ctx, id))
		h.ok(h.SaveDraft(h.ctx, tx, id, read, statement.AssetsSection, []byte("{}"), nil, start))
		_, err = h.SaveSection(h.ctx, tx, &domain.Session{ID: id}, read, statement.AssetsSection,
			h.answersOf(statement.AssetsSection), start)
		return err
	})
	if n := h.count("SELECT count(*) FROM session_key"); n != 0 {
		t.Error("the key is read again")
	}
}

func TestFormComesBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.session().ID
	if n := h.count("SELECT count(*) FROM session_key"); n != 0 {
		t.Errorf("%d data keys before anything is stored, want none", n)
	}
	typed := []byte(`{"full_name":["Ada"]}`)
	h.tx(func(tx *db.Tx) error {
		return h.SaveDraft(h.ctx, tx, id, nil, statement.PersonalDetailsSection, typed, nil, start)
	})
	h.save(id, statement.IncomeSection)
	h.save(id, statement.IncomeSection)
	h.tx(func(tx *db.Tx) error {
		for _, want := range []bool{true, false} {
			if first, err := h.InsertPDF(h.ctx, tx, id, domain.PDF{Content: []byte("%PDF-1.7 all of it"), Pages: 1}, start); err != nil ||
				first != want {
				t.Errorf("PDF is the first: %v, %v; want %v", first, err, want)
			}
		}
		return nil
	})
	stored, err := h.Form(h.ctx, h.db, id)
	h.ok(err)
	for _, s := range stored.Sections {
		if s.Name == statement.IncomeSection && (!bytes.Equal(s.Answers, h.answersOf(s.Name)) || s.Draft != nil) ||
			s.Name == statement.PersonalDetailsSection && (s.Answers != nil || !bytes.Equal(s.Draft, typed)) {
			t.Errorf("%s came back as %s, %s", s.Name, s.Answers, s.Draft)
		}
	}
	if content, err := h.PDF(h.ctx, h.db, id); err != nil || string(content) != "%PDF-1.7 all of it" {
		t.Errorf("PDF came back as %q, %v", content, err)
	}
	if n := h.count("SELECT size_bytes FROM statement_pdf"); n != 18 {
		t.Errorf("PDF of %d bytes, want 18", n)
	}
	if n := h.count("SELECT count(*) FROM session_key"); n != 1 {
		t.Errorf("%d data keys, want 1", n)
	}
}

// Each value opens in its own place alone.
func TestMovedValues(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, move := range map[string]string{
		"another section":        `UPDATE section SET name = 'assets' WHERE session_id = $1 AND name = 'income' AND $2::uuid IS NOT NULL`,
		"another kind":           `UPDATE section SET draft = answers, answers = NULL WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"another session":        `UPDATE section SET session_id = $2 WHERE session_id = $1`,
		"another session's key":  `UPDATE session_key SET sealed = (SELECT sealed FROM session_key WHERE session_id = $2) WHERE session_id = $1`,
		"no key":                 `DELETE FROM session_key WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"a changed byte":         `UPDATE section SET answers = set_byte(answers, 40, 1 + get_byte(answers, 40) % 255) WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"a value that is cut":    `UPDATE section SET answers = substring(answers FROM 1 FOR 20) WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"a value in clear":       `UPDATE section SET answers = '{}' WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"nothing":                `UPDATE section SET answers = '' WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"nothing but a version":  `UPDATE section SET answers = '\x01' WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
		"a key that was changed": `UPDATE session_key SET sealed = set_byte(sealed, 20, 1 + get_byte(sealed, 20) % 255) WHERE session_id = $1 AND $2::uuid IS NOT NULL`,
	} {
		from, to := h.session().ID, h.session().ID
		h.save(from, statement.IncomeSection)
		h.save(to, statement.ExpensesSection)
		_, err := h.Statement(h.ctx, h.db, from)
		h.ok(err)
		h.exec(move, from, to)
		_, fromErr := h.Statement(h.ctx, h.db, from)
		_, toErr := h.Statement(h.ctx, h.db, to)
		h.sealed(name, errors.Join(fromErr, toErr))
	}
}

func TestAnotherKeyring(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := keyring.Generate("old")
	h.Vault = h.with(old)
	id := h.session().ID
	h.save(id, statement.IncomeSection)
	if _, err := h.with(keyring.Generate("new"), old).Statement(h.ctx, h.db, id); err != nil {
		t.Errorf("after a new key was added: %v", err)
	}
	_, err := h.with(keyring.Generate("new")).Statement(h.ctx, h.db, id)
	h.sealed("after the old key was removed", err)
	if err == nil || !strings.Contains(err.Error(), `"old"`) {
		t.Errorf("%v doesn't name the key", err)
	}
}

func TestErasedSessionGetsNoKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.session().ID
	h.save(id, statement.IncomeSection)
	h.exec(`UPDATE session SET data_erased_at = $2 WHERE id = $1`, id, start)
	h.tx(func(tx *db.Tx) error { return tx.DestroySessionKey(h.ctx, id) })
	if _, err := h.Statement(h.ctx, h.db, id); !errors.Is(err, keyring.ErrSealed) {
		t.Errorf("answers without their key: %v, want ErrSealed", err)
	}
	h.tx(func(tx *db.Tx) error {
		if first, err := h.InsertPDF(h.ctx, tx, id, domain.PDF{Content: []byte("%PDF"), Pages: 1}, start); err != nil || first {
			t.Errorf("a PDF was stored after the erasure: %v, %v", first, err)
		}
		return nil
	})
	if n := h.count("SELECT count(*) FROM session_key"); n != 0 {
		t.Errorf("%d data keys, want none", n)
	}
}
