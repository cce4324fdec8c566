package forms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// A Signature is what a customer signs with.
type Signature struct {
	Declaration statement.Declaration // the caller has validated its section
	Language    domain.Language       // of the page that is signed; "" for English
	Browser     string                // which browser signs, for SignedBy; "" if that isn't known
	// Shown is the State.Digest of the answers that the page showed, "" for a script, which
	// is shown nothing (D76).
	Shown string
	// Asked is true if a page asked about odd answers: each must be confirmed. A
	// script is asked nothing (D47).
	Asked     bool
	Confirmed []string // the keys of the doubts that the customer confirmed
}

// Unconfirmed are the doubts that the customer was asked about and didn't
// confirm.
func (s Signature) Unconfirmed(doubts []statement.Doubt) []statement.Doubt {
	return slices.DeleteFunc(slices.Clone(doubts), func(d statement.Doubt) bool {
		return !s.Asked || slices.Contains(s.Confirmed, d.Key())
	})
}

// confirmations are the odd answers that the customer confirmed.
func (s Signature) confirmations(doubts []statement.Doubt, now time.Time) []statement.Confirmation {
	var out []statement.Confirmation
	for _, d := range doubts {
		if slices.Contains(s.Confirmed, d.Key()) {
			out = append(out, statement.Confirmation{Code: d.Code, Path: d.Path, Text: d.English(), ConfirmedAt: form.At(now)})
		}
	}
	return out
}

// confirmedInput is the only input of the declaration's draft.
const confirmedInput = "confirmed"

// Confirm keeps the keys of the odd answers that are ticked, until the signature.
func (s *Service) Confirm(ctx context.Context, session *domain.Session, confirmed []string) error {
	draft, err := json.Marshal(url.Values{confirmedInput: confirmed})
	if err != nil {
		return err
	}
	return s.change(ctx, session, func(tx *db.Tx, _ *domain.Session, now time.Time) error {
		return s.Vault.SaveDraft(ctx, tx, session.ID, nil, statement.DeclarationSection, draft, nil, now)
	})
}

// Submit signs and submits the form: in one transaction it completes the
// declaration and the session, sends both events and asks for the PDF (D16).
// Errors: validation_error naming the sections that are unfinished, odd
// answers that weren't confirmed, or answers that weren't shown, and those of a session
// that isn't open.
func (s *Service) Submit(ctx context.Context, seen *domain.Session, signature Signature) error {
	return s.change(ctx, seen, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		stored, err := s.Vault.Form(ctx, tx, session.ID)
		if err != nil {
			return err
		}
		answers, err := stored.Statement()
		if err != nil {
			return err
		}
		if err := unfinished(stored.Sections, answers); err != nil {
			return err
		}
		if signature.Shown != "" && signature.Shown != stored.Digest() {
			return domain.Invalid(form.Error{Field: "shown", Rule: form.Rule{Code: "unfinished"}})
		}
		answers.Declaration = signature.Declaration // whose name can be odd, too
		doubts := answers.Doubts(now)
		if len(signature.Unconfirmed(doubts)) > 0 {
			return domain.Invalid(form.Error{Field: "confirmations", Rule: form.Rule{Code: "unfinished"}})
		}
		signed := signature.Declaration
		signed.SignedAt, signed.Confirmations = now, signature.confirmations(doubts, now)
		declaration, err := signed.Stored()
		if err != nil {
			return err
		}
		if _, err := s.Vault.SaveSection(ctx, tx, session, stored, statement.DeclarationSection, declaration, now); err != nil {
			return err
		}
		if err := s.complete(ctx, tx, session, answers, now); err != nil {
			return err
		}
		if err := s.tellCustomer(ctx, tx, session, signature.Language); err != nil || signature.Browser == "" {
			return err
		}
		return s.Idempotency.Mark(ctx, tx, signatureKey(session, signature.Browser))
	})
}

func unfinished(stored []db.Section, answers *statement.Statement) error {
	state := State{Sections: map[string]SectionState{}, Statement: answers}
	for _, section := range stored {
		own := SectionState{Completed: section.CompletedAt != nil}
		if section.Draft != nil {
			own.Draft = url.Values{}
		}
		state.Sections[section.Name] = own
	}
	var fields form.Errors
	for _, name := range state.Unfinished() {
		fields = append(fields, form.Error{Field: name, Rule: form.Rule{Code: "unfinished"}})
	}
	return domain.Invalid(fields...)
}

func (s *Service) complete(ctx context.Context, tx *db.Tx, session *domain.Session, answers *statement.Statement,
	now time.Time) error {
	session.Status, session.CompletedAt, session.SectionsCompleted = domain.Completed, &now, statement.SectionsTotal
	if err := tx.CompleteSession(ctx, session); err != nil {
		return err
	}
	if err := s.sectionCompleted(ctx, tx, session, statement.DeclarationSection, now); err != nil {
		return err
	}
	if err := s.Outbox.SessionEvent(ctx, tx, session, domain.NewCompletedPayload(session, answers.Summary()), now); err != nil {
		return err
	}
	return s.Outbox.PDF(ctx, tx, session.ID)
}

// tellCustomer asks for the email that the statement arrived, if the partner wants it. It
// goes to the address that the partner gave, never to one that was typed into the form,
// and in live mode only, which an operator has opened: so neither who has a link nor who
// signs up for an account can send email to strangers (D83).
func (s *Service) tellCustomer(ctx context.Context, tx *db.Tx, session *domain.Session, language domain.Language) error {
	if !session.Livemode {
		return nil
	}
	account, err := tx.Account(ctx, session.AccountID)
	if err != nil || !account.ReceiptEmail {
		return err
	}
	return s.Outbox.ReceiptToCustomer(ctx, tx, session.ID, cmp.Or(language, domain.English))
}

// signatureKey is the idempotency key under which the signing of a session is stored:
// the signing browser's own secret.
func signatureKey(session *domain.Session, browser string) db.IdempotencyKey {
	sum := sha256.Sum256([]byte(browser))
	return db.IdempotencyKey{
		Scope: session.Scope(), Path: "/f/" + session.ID.String() + "/" + statement.DeclarationSection, Key: hex.EncodeToString(sum[:]),
	}
}

// SignedBy reports whether that browser signed the session after the given time,
// at most a day ago.
func (s *Service) SignedBy(ctx context.Context, session *domain.Session, browser string, since time.Time) (bool, error) {
	return s.Idempotency.Marked(ctx, signatureKey(session, browser), since)
}

// Signed returns what was signed in a session. The caller has checked that this
// visitor may read it.
func (s *Service) Signed(ctx context.Context, id domain.SessionID) (*statement.Statement, error) {
	return s.Vault.Statement(ctx, s.DB, id)
}
