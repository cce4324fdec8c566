package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// FormState is one customer's form as it stands.
type FormState struct {
	Session   *domain.Session // its status as it is now
	Account   *domain.Account
	Statement *statement.Statement    // valid answers and documents
	Sections  map[string]SectionState // those with answers or a draft
	reached   map[string]bool         // sections that the customer has seen
	now       time.Time
}

// SectionState is how far a section has come.
type SectionState struct {
	Completed bool
	Draft     url.Values // typed since and not valid yet, nil for none
	SavedAt   time.Time
	answers   []byte // the last valid ones as stored, nil before
}

// CheckLink reports whether token is that of the session's link (D5); a
// session that doesn't exist has none.
func (s *Service) CheckLink(session, token string) (domain.SessionID, bool) {
	id, err := domain.ParseSessionID(session)
	if err != nil {
		return domain.SessionID{}, false
	}
	return id, s.Ring.CheckToken(id.String(), token)
}

// Form returns the form of a session whose link the caller holds, or
// session_not_found.
func (s *Service) Form(ctx context.Context, id domain.SessionID) (*FormState, error) {
	now := s.Clock.Now()
	session, err := s.DB.SessionByID(ctx, id)
	if err != nil {
		return nil, orCode(err, errSessionNotFound)
	}
	session.Status = session.StatusAt(now)
	state := &FormState{Session: session, Sections: map[string]SectionState{}, reached: map[string]bool{}, now: now}
	if state.Account, err = s.DB.Account(ctx, session.AccountID); err != nil || !session.Status.Open() {
		return state, err
	}
	stored, err := s.Vault.Form(ctx, s.DB, id)
	if err != nil {
		return nil, err
	}
	if state.Statement, err = stored.Statement(); err != nil {
		return nil, err
	}
	for _, section := range stored.Sections {
		state.reached[section.Name] = section.ReachedAt != nil
		if section.Answers == nil && section.Draft == nil {
			continue
		}
		own := SectionState{Completed: section.CompletedAt != nil, SavedAt: section.UpdatedAt, answers: section.Answers}
		if section.Draft != nil {
			if err := json.Unmarshal(section.Draft, &own.Draft); err != nil {
				return nil, err
			}
		}
		state.Sections[section.Name] = own
	}
	return state, nil
}

// Visitor is the browser that a request came from.
type Visitor struct {
	UserAgent, IPAddress string
	StaffToken           string // of the browser's staff session, which a sign-in ends; "" for none
	Device               string // the cookie of KeepDevice; "" for none
}

// OpenForm records that the customer opened the form: the first time makes
// the session in_progress and sends session.accessed. The caller leaves out
// HEAD requests and prefetches (D14). The state is updated in place.
func (s *Service) OpenForm(ctx context.Context, state *FormState, v Visitor) error {
	now := s.Clock.Now()
	if state.Session.Status != domain.Pending {
		if last := state.Session.LastActivityAt; last != nil && !last.Before(now.Add(-db.ActivityStep)) {
			return nil
		}
		return s.DB.TouchSession(ctx, state.Session.ID, now)
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		opened, err := tx.OpenSession(ctx, state.Session.ID, now)
		if errors.Is(err, db.ErrState) { // another request was first, or it was cancelled
			opened, err = tx.SessionByID(ctx, state.Session.ID)
			if err == nil {
				opened.Status = opened.StatusAt(now)
				state.Session = opened
			}
			return err
		}
		if err != nil {
			return err
		}
		state.Session = opened
		return s.Outbox.SessionEvent(ctx, tx, opened, domain.AccessedPayload{
			SessionID: opened.ID, AccessedAt: form.At(now), UserAgent: v.UserAgent, IPAddress: v.IPAddress,
		}, now)
	})
}

// Section describes the named section bound to the answers as the customer
// last left them: the draft, else the saved answers, else what is known
// already, so that nothing is typed twice. It returns nil for documents and
// unknown names.
func (f *FormState) Section(name string) *form.Section {
	own := f.Sections[name]
	if !own.Completed && own.Draft == nil {
		f.suggest(name)
	}
	section := f.Statement.Section(name, f.now)
	switch {
	case section == nil:
	case own.Draft != nil:
		section.Read(own.Draft)
	case own.answers != nil:
		_ = section.UnmarshalJSON(own.answers) // Form has read them before; here they tell a typed 0 from nothing
	}
	return section
}

func (f *FormState) suggest(name string) {
	switch name {
	case statement.PersonalDetailsSection:
		if f.Session.CustomerName != nil {
			f.Statement.Personal.FullName = *f.Session.CustomerName
		}
		f.Statement.Personal.Email = f.Session.CustomerEmail
	case statement.LiabilitiesSection:
		f.Statement.Liabilities = statement.Suggest(&f.Statement.Assets)
	}
}

// Empty returns the named section without answers, to decode a POST into.
func (f *FormState) Empty(name string) *form.Section {
	return new(statement.Statement).Section(name, f.now)
}

// Unfinished lists the sections before the declaration that can't be signed
// for yet: not completed, or changed since with answers that aren't valid.
func (f *FormState) Unfinished() []string {
	var out []string
	for _, name := range statement.SectionNames {
		own := f.Sections[name]
		if name != statement.DeclarationSection && (!own.Completed || own.Draft != nil) {
			out = append(out, name)
		}
	}
	return out
}

// closed is why a session can't be worked on any more.
func (s *Service) closed(ctx context.Context, tx *db.Tx, id domain.SessionID, now time.Time) error {
	session, err := tx.SessionByID(ctx, id)
	if err != nil {
		return orCode(err, errSessionNotFound)
	}
	if conflict := session.Conflict(now); conflict != nil {
		return conflict
	}
	return domain.Errorf(domain.CodeInvalidRequest, "Open the form before you save it.")
}

// change runs work on a locked open session. Errors: session_completed,
// session_cancelled, session_expired.
func (s *Service) change(ctx context.Context, id domain.SessionID, work func(tx *db.Tx, session *domain.Session, now time.Time) error) error {
	now := s.Clock.Now()
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		session, err := tx.LockOpenSession(ctx, id, now)
		if errors.Is(err, db.ErrState) {
			return s.closed(ctx, tx, id, now)
		}
		if err != nil {
			return err
		}
		return work(tx, session, now)
	})
}

// SaveDraft keeps what the customer typed into a section though it isn't
// valid, so that nothing is lost. What the form refused of it is counted; nil
// where nothing was checked.
func (s *Service) SaveDraft(ctx context.Context, id domain.SessionID, section *form.Section, refused form.Errors) error {
	draft, err := json.Marshal(section.Inputs())
	if err != nil {
		return err
	}
	return s.change(ctx, id, func(tx *db.Tx, _ *domain.Session, now time.Time) error {
		return s.Vault.SaveDraft(ctx, tx, id, section.Name, draft, counted(refused), now)
	})
}

// SaveSection stores a section's answers, which the caller has validated.
// The first time completes the section and sends session.section_completed
// (D15).
func (s *Service) SaveSection(ctx context.Context, id domain.SessionID, section *form.Section) error {
	if section.Name == statement.DeclarationSection {
		return errors.New("service: the declaration is saved by submitting")
	}
	answers, err := section.MarshalJSON()
	if err != nil {
		return err
	}
	return s.completeSection(ctx, id, section.Name, answers)
}

// CompleteDocuments completes the documents section, with any number of
// files (D23).
func (s *Service) CompleteDocuments(ctx context.Context, id domain.SessionID) error {
	return s.completeSection(ctx, id, statement.DocumentsSection, []byte("{}"))
}

func (s *Service) completeSection(ctx context.Context, id domain.SessionID, name string, answers []byte) error {
	return s.change(ctx, id, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		first, err := s.Vault.SaveSection(ctx, tx, id, name, answers, now)
		if err != nil || !first {
			return err
		}
		session.SectionsCompleted++
		if err := tx.SetSectionsCompleted(ctx, id, session.SectionsCompleted); err != nil {
			return err
		}
		return s.sectionCompleted(ctx, tx, session, name, now)
	})
}

func (s *Service) sectionCompleted(ctx context.Context, tx *db.Tx, session *domain.Session, name string, now time.Time) error {
	return s.Outbox.SessionEvent(ctx, tx, session, domain.SectionCompletedPayload{
		SessionID: session.ID, Section: name, SectionNumber: statement.SectionNumber(name),
		SectionsTotal: statement.SectionsTotal, SectionsCompleted: session.SectionsCompleted,
		ProgressPercentage: statement.Percentage(session.SectionsCompleted),
	}, now)
}

// Submit signs and submits the form: in one transaction it completes the
// declaration and the session, sends both events and asks for the PDF (D16).
// The declaration's section is validated by the caller. Errors:
// validation_error naming the sections that are unfinished, and those of a
// session that isn't open. It keeps which browser signed, for SignedBy; "" if
// that isn't known.
func (s *Service) Submit(ctx context.Context, id domain.SessionID, signed statement.Declaration, browser string) error {
	return s.change(ctx, id, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		stored, err := tx.Sections(ctx, id)
		if err != nil {
			return err
		}
		if err := unfinished(stored); err != nil {
			return err
		}
		signed.SignedAt = now
		declaration := (&statement.Statement{Declaration: signed}).Section(statement.DeclarationSection, now)
		answers, err := declaration.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := s.Vault.SaveSection(ctx, tx, id, statement.DeclarationSection, answers, now); err != nil {
			return err
		}
		if err := s.complete(ctx, tx, session, now); err != nil || browser == "" {
			return err
		}
		return s.remember(ctx, tx, signature(session, browser), Answer{})
	})
}

// signature is the signing of a session by one browser, kept as a request with
// an Idempotency-Key is: the browser's own secret is the key.
func signature(session *domain.Session, browser string) IdempotentRequest {
	sum := sha256.Sum256([]byte(browser))
	return IdempotentRequest{
		Scope: session.Scope(), Path: "/f/" + session.ID.String() + "/" + statement.DeclarationSection, Key: hex.EncodeToString(sum[:]),
	}
}

// SignedBy reports whether that browser signed the session after the given time,
// at most a day ago.
func (s *Service) SignedBy(ctx context.Context, session *domain.Session, browser string, since time.Time) (bool, error) {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.StoredResponse(ctx, signature(session, browser).storageKey(), since)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CustomerPDF returns a completed session's PDF for the customer who holds its
// form; the errors are those of PDF.
func (s *Service) CustomerPDF(ctx context.Context, session *domain.Session) ([]byte, error) {
	if session.Status != domain.Completed {
		return nil, errSessionNotCompleted
	}
	return s.pdfOf(ctx, session)
}

func unfinished(stored []db.Section) error {
	state := FormState{Sections: map[string]SectionState{}}
	for _, section := range stored {
		own := SectionState{Completed: section.CompletedAt != nil}
		if section.Draft != nil {
			own.Draft = url.Values{}
		}
		state.Sections[section.Name] = own
	}
	var fields form.Errors
	for _, name := range state.Unfinished() {
		fields = append(fields, form.Error{Field: name, Message: "Complete " + statement.Title(name)})
	}
	if fields == nil {
		return nil
	}
	return &domain.Error{Code: domain.CodeValidation, Message: "Complete every section before you sign.", Fields: fields}
}

func (s *Service) complete(ctx context.Context, tx *db.Tx, session *domain.Session, now time.Time) error {
	session.Status, session.CompletedAt, session.SectionsCompleted = domain.Completed, &now, statement.SectionsTotal
	if err := tx.CompleteSession(ctx, session); err != nil {
		return err
	}
	if err := s.sectionCompleted(ctx, tx, session, statement.DeclarationSection, now); err != nil {
		return err
	}
	answers, err := s.Vault.Statement(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	if err := s.Outbox.SessionEvent(ctx, tx, session, domain.NewCompletedPayload(session, answers.Summary()), now); err != nil {
		return err
	}
	return s.Outbox.PDF(ctx, tx, session.ID)
}
