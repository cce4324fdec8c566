package vault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// A Form is what is stored of a session's form, in clear.
type Form struct {
	Sections  []db.Section // in no order
	Documents []domain.Document
	key       *dataKey // nil if the session had none
}

// Form returns what is stored of a session's form. keyring.ErrSealed if it
// can't be opened.
func (v *Vault) Form(ctx context.Context, q Store, session domain.SessionID) (*Form, error) {
	sections, err := q.Sections(ctx, session)
	if err != nil {
		return nil, err
	}
	documents, err := q.Documents(ctx, session)
	if err != nil {
		return nil, err
	}
	// The key is read last: a first save elsewhere stores it with the answers.
	key, err := v.existing(ctx, q, session)
	if err != nil {
		return nil, err
	}
	for i := range sections {
		s := &sections[i]
		answered, answersErr := key.open(answers, s.Name, s.Answers)
		typed, draftErr := key.open(draft, s.Name, s.Draft)
		given, givenErr := key.open(prefill, s.Name, s.Prefill)
		former, formerErr := key.open(offered, s.Name, s.Offered)
		asked, askErr := key.open(ask, s.Name, s.Ask)
		if err := errors.Join(answersErr, draftErr, givenErr, formerErr, askErr); err != nil {
			return nil, err
		}
		s.Answers, s.Draft, s.Prefill, s.Offered, s.Ask = answered, typed, given, former, asked
	}
	return &Form{sections, documents, key}, key.openNames(documents)
}

// Asks returns what the partner asks for, by section (D102). keyring.ErrSealed if it can't be
// opened.
func (v *Vault) Asks(ctx context.Context, q Store, session domain.SessionID) (map[string]string, error) {
	sections, err := q.Sections(ctx, session)
	if err != nil || !slices.ContainsFunc(sections, func(s db.Section) bool { return s.Ask != nil }) {
		return nil, err
	}
	key, err := v.existing(ctx, q, session)
	if err != nil {
		return nil, err
	}
	asks := map[string]string{}
	for _, s := range sections {
		note, err := key.open(ask, s.Name, s.Ask)
		if err != nil {
			return nil, err
		}
		if note != nil {
			asks[s.Name] = string(note)
		}
	}
	return asks, nil
}

// Statement returns the valid answers and documents of a form. Sections
// without answers are empty.
func (f *Form) Statement() (*statement.Statement, error) {
	var out statement.Statement
	inOrder := slices.SortedFunc(slices.Values(f.Sections), func(a, b db.Section) int {
		return statement.SectionNumber(a.Name) - statement.SectionNumber(b.Name)
	})
	for _, s := range inOrder {
		if s.Name == statement.DocumentsSection {
			out.DocumentsAsked = len(s.Ask) > 0
		}
		if s.Prefill != nil {
			if err := out.SetPrefill(s.Name, s.Prefill); err != nil {
				return nil, fmt.Errorf("vault: read prefill of section %s: %w", s.Name, err)
			}
		}
		if s.Offered != nil {
			if err := out.SetOffer(s.Name, s.Offered); err != nil {
				return nil, fmt.Errorf("vault: read offer of section %s: %w", s.Name, err)
			}
		}
		if s.Answers == nil {
			continue
		}
		if err := out.Read(s.Name, s.Answers); err != nil {
			return nil, fmt.Errorf("vault: read section %s: %w", s.Name, err)
		}
	}
	for _, d := range f.Documents {
		out.Documents = append(out.Documents, statement.Document{
			ID: d.ID.String(), Category: statement.DocumentCategory(d.Category), FileName: d.FileName, ContentType: d.ContentType,
			SizeBytes: d.SizeBytes, SHA256: hex.EncodeToString(d.SHA256), UploadedAt: form.At(d.UploadedAt),
		})
	}
	return &out, nil
}

// Digest tells states of the form apart: what a customer is shown from what is signed.
// The declaration isn't part of it.
func (f *Form) Digest() string {
	var parts []string
	for _, s := range f.Sections {
		if s.Name != statement.DeclarationSection && s.Answers != nil {
			parts = append(parts, fmt.Sprintf("%q", []string{s.Name, string(s.Answers)}))
		}
	}
	for _, d := range f.Documents {
		parts = append(parts, fmt.Sprintf("%q", []string{d.ID.String(), d.Category}))
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:16])
}

// Statement returns a session's valid answers and documents. keyring.ErrSealed
// if they can't be opened.
func (v *Vault) Statement(ctx context.Context, q Store, session domain.SessionID) (*statement.Statement, error) {
	stored, err := v.Form(ctx, q, session)
	if err != nil {
		return nil, err
	}
	return stored.Statement()
}

// Offers are what the form of an ended session offers to the session that continues it, by
// section (D101): the customer's answers and what was typed since; of a section without
// either, what it was offered itself. The documents are always among them.
func (f *Form) Offers(from domain.SessionID) (map[string]statement.Offer, error) {
	out := map[string]statement.Offer{}
	for _, s := range f.Sections {
		offer := statement.Offer{Answers: s.Answers}
		var err error
		switch {
		case s.Draft != nil:
			err = json.Unmarshal(s.Draft, &offer.Draft)
		case s.Answers == nil && s.Offered != nil:
			err = json.Unmarshal(s.Offered, &offer)
		}
		if err != nil {
			return nil, fmt.Errorf("vault: read section %s: %w", s.Name, err)
		}
		if offer.Filled() || len(offer.Documents) > 0 {
			out[s.Name] = offer
		}
	}
	delete(out, statement.DeclarationSection)
	documents := statement.Offer{Documents: out[statement.DocumentsSection].Documents}
	if len(f.Documents) > 0 {
		documents.Documents = nil
	}
	for _, d := range f.Documents {
		documents.Documents = append(documents.Documents, statement.FormerFile{Name: d.FileName, SHA256: hex.EncodeToString(d.SHA256)})
	}
	out[statement.DocumentsSection] = documents
	for name, offer := range out {
		offer.From = from.String()
		out[name] = offer
	}
	return out, nil
}

// InsertGiven seals and stores what a new session's customer is shown: prefill (D58), the
// former answers (D101) and what the partner asks for (D102).
func (v *Vault) InsertGiven(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	var rows []db.Section
	for _, name := range statement.BeforeDeclaration {
		row := db.Section{Name: name, Ask: []byte(session.Asks[name])}
		given, isGiven := session.Prefill[name]
		former, isOffered := session.Offers[name]
		var err, otherErr error
		if isGiven {
			row.Prefill, err = json.Marshal(given)
		}
		if isOffered {
			row.Offered, otherErr = json.Marshal(former)
		}
		if err := errors.Join(err, otherErr); err != nil {
			return err
		}
		if isGiven || isOffered || len(row.Ask) > 0 {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	key, err := v.key(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		for of, value := range map[kind]*[]byte{prefill: &row.Prefill, offered: &row.Offered, ask: &row.Ask} {
			if len(*value) > 0 {
				*value = key.seal(of, row.Name, *value)
			}
		}
	}
	return tx.InsertSections(ctx, session.ID, rows, session.CreatedAt)
}

// SaveDraft seals and stores what a customer typed into a section and isn't
// valid yet, and what the form refused of it, nil if it wasn't checked. The session must be locked. read is
// its form, if that was read since.
func (v *Vault) SaveDraft(ctx context.Context, tx *db.Tx, session domain.SessionID, read *Form, section string, typed []byte,
	refused []domain.FailedRule, now time.Time) error {
	key, err := v.keyOf(ctx, tx, session, read)
	if err != nil {
		return err
	}
	return tx.SaveDraft(ctx, session, section, key.seal(draft, section, typed), refused, now)
}

// SaveSection seals and stores a section's valid answers, and reports whether
// this completed it for the first time. The session must be locked. read is its
// form, if that was read since. The customer's telephone number can be found (D132).
func (v *Vault) SaveSection(ctx context.Context, tx *db.Tx, session *domain.Session, read *Form, section string, valid []byte,
	now time.Time) (first bool, err error) {
	key, err := v.keyOf(ctx, tx, session.ID, read)
	if err != nil {
		return false, err
	}
	var personal struct {
		Phone string `json:"phone"`
	}
	hash := ""
	if section == statement.PersonalDetailsSection {
		if err := json.Unmarshal(valid, &personal); err != nil {
			return false, fmt.Errorf("read the telephone number: %w", err)
		}
		if number := form.PhoneNumber(personal.Phone); number != "" {
			hash = v.ring.Token(phoneSubject(session.Scope(), number))
		}
	}
	return tx.SaveSection(ctx, session.ID, section, key.seal(answers, section, valid), hash, now)
}

// SessionsOfPhone returns up to limit of the scope's sessions whose customer gave that
// telephone number, newest first: none if the text isn't a number.
func (v *Vault) SessionsOfPhone(ctx context.Context, d *db.DB, scope domain.Scope, text string, limit int, now time.Time) (
	[]domain.Session, error) {
	number := form.PhoneNumber(text)
	if number == "" {
		return nil, nil
	}
	return d.SessionsOfPhone(ctx, scope, v.ring.Tokens(phoneSubject(scope, number)), limit, now)
}

// phoneSubject is what is hashed of a number. The account is in it, so that no one can see
// in the database that two accounts have the same customer.
func phoneSubject(scope domain.Scope, number string) string {
	return fmt.Sprintf("phone %s %t %s", scope.AccountID, scope.Livemode, number)
}

// keyOf is key without a second query if the form was read.
func (v *Vault) keyOf(ctx context.Context, tx *db.Tx, session domain.SessionID, read *Form) (*dataKey, error) {
	if read != nil && read.key != nil {
		return read.key, nil
	}
	return v.key(ctx, tx, session)
}
