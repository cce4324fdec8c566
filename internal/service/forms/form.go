// Package forms holds what a customer does with the form of a session: opening
// it, saving sections and documents, and submitting it.
package forms

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/service/idempotency"
	"candor/internal/statement"
	"candor/internal/vault"
)

// Config is what the customer's form needs.
type Config struct {
	DB          *db.DB
	Clock       domain.Clock
	Logger      *slog.Logger
	Ring        *keyring.Keyring
	Vault       *vault.Vault
	Blobs       blob.Store
	Outbox      *outbox.Outbox
	Idempotency *idempotency.Store
}

// Service holds the use cases of the form. It is safe for concurrent use.
type Service struct {
	Config
	uploads *uploads
	tx      *db.Tx // nil: each use case has a transaction of its own
}

// New returns a Service.
func New(c Config) *Service { return &Service{Config: c, uploads: newUploads()} }

// In returns the use cases in the caller's transaction: what they change commits
// with it. Uploads are not among them.
func (s *Service) In(tx *db.Tx) *Service { return &Service{Config: s.Config, tx: tx} }

func (s *Service) inTx(ctx context.Context, work func(*db.Tx) error) error {
	if s.tx != nil {
		return work(s.tx)
	}
	return s.DB.InTx(ctx, work)
}

// queries reads and writes without a lock.
func (s *Service) queries() *db.Queries {
	if s.tx != nil {
		return &s.tx.Queries
	}
	return &s.DB.Queries
}

// CheckLink reports whether token is that of a link of the session (D5), and of which;
// a session that doesn't exist has none. It reads nothing that is stored.
func (s *Service) CheckLink(session, token string) (id domain.SessionID, link domain.Link, ok bool) {
	id, err := domain.ParseSessionID(session)
	if err != nil {
		return domain.SessionID{}, link, false
	}
	link, token = domain.ParseLink(token)
	return id, link, s.Ring.CheckToken(link.Subject(id), token)
}

// NoteLinkUse notes what was done with a link of the session. Of wrong links only the
// number is kept.
func (s *Service) NoteLinkUse(ctx context.Context, id domain.SessionID, kind domain.LinkUseKind, by domain.Visitor) error {
	use := domain.LinkUse{Kind: kind, LastAt: s.Clock.Now()}
	if kind == domain.LinkOpened || kind == domain.LinkElsewhere {
		use.UserAgent, use.Address = by.UserAgent, by.IPAddress
	}
	return s.DB.NoteLinkUse(ctx, id, use)
}

// A State is one customer's form as it stands.
type State struct {
	Session   *domain.Session // its status as it is now
	Account   *domain.Account
	Statement *statement.Statement    // valid answers and documents
	Sections  map[string]SectionState // those with answers or a draft
	Asks      map[string]string       // what the partner asks for, by section (D102)
	reached   map[string]bool         // sections that the customer has seen
	stored    *vault.Form             // that they come from
	// Confirmed are the keys of the odd answers that are ticked before the
	// signature.
	Confirmed []string
	now       time.Time
}

// Digest is the answers' and documents' vault.Form.Digest, of an open session.
func (f *State) Digest() string { return f.stored.Digest() }

// SectionState is how far a section has come.
type SectionState struct {
	Completed bool
	Draft     url.Values // typed since and not valid yet, nil for none
	answers   []byte     // the last valid ones as stored, nil before
}

// Get returns the form of a session whose link the caller holds, or
// session_not_found.
func (s *Service) Get(ctx context.Context, id domain.SessionID) (*State, error) {
	state, err := s.Find(ctx, id)
	if err != nil || !state.Session.Status.Open() {
		return state, err
	}
	return state, s.read(ctx, s.queries(), state)
}

// Find is Get without what is stored of the sections, which Edit reads.
func (s *Service) Find(ctx context.Context, id domain.SessionID) (*State, error) {
	now := s.Clock.Now()
	session, err := s.queries().SessionByID(ctx, id)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSessionNotFound)
	}
	session.Status = session.StatusAt(now)
	state := &State{Session: session, now: now}
	state.Account, err = s.queries().Account(ctx, session.AccountID)
	return state, err
}

// read fills in what is stored of the form.
func (s *Service) read(ctx context.Context, q vault.Store, state *State) error {
	stored, err := s.Vault.Form(ctx, q, state.Session.ID)
	if err != nil {
		return err
	}
	state.stored = stored
	if state.Statement, err = stored.Statement(); err != nil {
		return err
	}
	state.Sections, state.reached, state.Asks = map[string]SectionState{}, map[string]bool{}, map[string]string{}
	for _, section := range stored.Sections {
		if section.Ask != nil {
			state.Asks[section.Name] = string(section.Ask)
		}
		state.reached[section.Name] = section.ReachedAt != nil
		if section.Answers == nil && section.Draft == nil {
			continue
		}
		own := SectionState{Completed: section.CompletedAt != nil, answers: section.Answers}
		if section.Draft != nil {
			if err := json.Unmarshal(section.Draft, &own.Draft); err != nil {
				return err
			}
		}
		if section.Name == statement.DeclarationSection {
			state.Confirmed = own.Draft[confirmedInput]
			continue
		}
		state.Sections[section.Name] = own
	}
	return nil
}

// Open records that the customer opened the form: the first time makes
// the session in_progress and sends session.accessed. The caller leaves out
// HEAD requests and prefetches (D14). The state is updated in place.
func (s *Service) Open(ctx context.Context, state *State, v domain.Visitor) error {
	now, seen := s.Clock.Now(), state.Session
	if seen.Holder.Link.OneBrowser && seen.SavedBy == nil && seen.SectionsCompleted > 0 && !seen.Livemode {
		// The simulator saved, in no browser: this one is the one (D92).
		if err := s.change(ctx, seen, func(*db.Tx, *domain.Session, time.Time) error { return nil }); err != nil {
			return err
		}
	}
	if seen.Status != domain.Pending {
		if last := seen.LastActivityAt; last != nil && !last.Before(now.Add(-db.ActivityStep)) {
			return nil
		}
		return s.queries().TouchSession(ctx, seen.ID, now)
	}
	return s.inTx(ctx, func(tx *db.Tx) error {
		opened, err := tx.OpenSession(ctx, state.Session.ID, now)
		late := errors.Is(err, db.ErrState) // another request was first, or it was cancelled
		if late {
			opened, err = tx.SessionByID(ctx, state.Session.ID)
		}
		if err == nil {
			err = sameLink(state.Session, opened)
		}
		if err != nil {
			return err
		}
		opened.Holder = state.Session.Holder
		opened.Status = opened.StatusAt(now)
		state.Session = opened
		if late {
			return nil
		}
		return s.Outbox.SessionEvent(ctx, tx, opened, domain.AccessedPayload{
			SessionID: opened.ID, AccessedAt: form.At(now), UserAgent: v.UserAgent, IPAddress: v.IPAddress,
		}, now)
	})
}

// Section describes the named section bound to the answers as the customer
// last left them: the draft, else the saved answers, else what is known
// already, so that nothing is typed twice. What the partner gave of an answer
// (D58) and those of a former session (D101) go before what follows from others. It
// returns nil for documents and unknown names.
func (f *State) Section(name string) *form.Section {
	own, begun := f.Sections[name]
	if !begun {
		f.suggest(name)
		own = f.offered(name)
	}
	section := f.Statement.Section(name, f.now)
	switch {
	case section == nil:
	case own.Draft != nil:
		section.Read(own.Draft)
	case own.answers != nil:
		_ = section.UnmarshalJSON(own.answers) // Get has read them before; here they tell a typed 0 from nothing
		section.TickNone()
		if f.Statement.Outdated(section) {
			section.Outdate()
		}
	default:
		section.Prefill(f.Statement.Prefill[name])
	}
	if section != nil && own.Draft == nil {
		section.SetVersions()
	}
	if name == statement.ExpensesSection && !begun && f.Sections[statement.LiabilitiesSection].Completed {
		values := section.Inputs()
		if section.Followed, _ = f.follow(values, f.Statement.FormerRepayments()); section.Followed { // not of debts that are gone
			section.Read(values)
		}
	}
	return section
}

// offered is what a former session left of a section that isn't begun here, as if it was
// begun. It is in no list of Sections, so nothing takes it for the customer's answer.
func (f *State) offered(name string) SectionState {
	offer := f.Statement.Offers[name]
	draft := maps.Clone(offer.Draft)
	draft.Del(form.CheckedInput) // what was checked then
	return SectionState{Draft: draft, answers: offer.Answers}
}

func (f *State) suggest(name string) {
	switch name {
	case statement.PersonalDetailsSection:
		if f.Session.CustomerName != nil {
			f.Statement.Personal.FullName = *f.Session.CustomerName
		}
		f.Statement.Personal.Email = f.Session.CustomerEmail
	case statement.LiabilitiesSection:
		f.Statement.Liabilities = statement.SuggestLiabilities(&f.Statement.Assets)
	case statement.ExpensesSection:
		f.Statement.Expenses = f.Statement.SuggestExpenses()
	}
}

// Empty returns the named section without answers, to decode a POST into.
func (f *State) Empty(name string) *form.Section {
	blank := new(statement.Statement)
	if name != statement.AssetsSection {
		blank.Assets = f.Statement.Assets // for what the section offers
	}
	if name != statement.PersonalDetailsSection { // for what the section asks and says
		blank.Personal = f.Statement.Personal
	}
	if name == statement.ExpensesSection {
		blank.Liabilities = f.Statement.Liabilities
	}
	section := blank.Section(name, f.now)
	if section != nil {
		section.Suggestions = f.Statement.Suggestions(name)
	}
	return section
}

// Gaps lists what keeps a section that was begun from being complete.
func (f *State) Gaps(name string) []form.Gap {
	section, own := f.Empty(name), f.Sections[name]
	switch {
	case section == nil:
		return nil
	case own.Draft != nil:
		section.Read(own.Draft)
	case f.outdated(name):
		section.Read(f.Section(name).Inputs())
	default:
		return nil
	}
	return section.Gaps()
}

// outdated reports whether a section was completed before answers changed on which its
// questions depend (D78).
func (f *State) outdated(name string) bool {
	return name == statement.ExpensesSection && f.Statement.ExpensesOutdated
}

// Finished reports whether a section can be signed for: it was completed, its
// answers are still valid and fit the other sections, and every document has a category.
func (f *State) Finished(name string) bool {
	own := f.Sections[name]
	return own.Completed && own.Draft == nil && !f.outdated(name) && (name != statement.DocumentsSection ||
		f.Statement.DocumentsDescribed())
}

// Unfinished lists the sections before the declaration that can't be signed
// for yet.
func (f *State) Unfinished() []string {
	var out []string
	for _, name := range statement.SectionNames {
		if name != statement.DeclarationSection && !f.Finished(name) {
			out = append(out, name)
		}
	}
	return out
}

// Next is the section to which a completed one leads: the next unfinished one after it,
// else the first, else the declaration. Of those before it, what was left as a draft waits: the
// declaration's page lists it, and two of them would lead to each other for ever.
func (f *State) Next(done string) string {
	left := f.Unfinished()
	after := slices.IndexFunc(left, func(name string) bool { return statement.SectionNumber(name) > statement.SectionNumber(done) })
	if after < 0 {
		after = slices.IndexFunc(left, func(name string) bool { return name != done && f.Sections[name].Draft == nil })
	}
	if after < 0 {
		return statement.DeclarationSection
	}
	return left[after]
}

// closed is why a session can't be worked on any more.
func (s *Service) closed(ctx context.Context, tx *db.Tx, id domain.SessionID, now time.Time) error {
	session, err := tx.SessionByID(ctx, id)
	if err != nil {
		return db.MissingAs(err, domain.ErrSessionNotFound)
	}
	if conflict := session.Conflict(now); conflict != nil {
		return conflict
	}
	return domain.Errorf(domain.CodeInvalidRequest, "Open the form before you save it.")
}

// change runs work on a locked open session. seen is the session as the caller's link
// opened it: an upload that began before the link was renewed can end minutes later.
// Errors: session_completed, session_cancelled, session_expired, those of sameLink.
func (s *Service) change(ctx context.Context, seen *domain.Session, work func(tx *db.Tx, session *domain.Session,
	now time.Time) error) error {
	now := s.Clock.Now()
	return s.inTx(ctx, func(tx *db.Tx) error {
		session, err := tx.LockOpenSession(ctx, seen.ID, now)
		if errors.Is(err, db.ErrState) {
			return s.closed(ctx, tx, seen.ID, now)
		}
		if err == nil {
			err = sameLink(seen, session)
		}
		if err == nil {
			err = savedBy(ctx, tx, session, seen.Holder)
		}
		if err != nil {
			return err
		}
		return work(tx, session, now)
	})
}

// sameLink returns session_not_found, as for a wrong link, if the session's link was
// renewed since it was seen, and ErrElsewhere.
func sameLink(seen, session *domain.Session) error {
	if seen.LinkVersion != session.LinkVersion {
		return domain.ErrSessionNotFound
	}
	if seen.Holder.Link.OneBrowser && !session.OpensFor(seen.Holder) {
		return ErrElsewhere
	}
	return nil
}

// ErrElsewhere says that a link for one browser was opened in another one (D92).
var ErrElsewhere = domain.Errorf(domain.CodeNotFound, "This link opens the form in the browser in which it was filled in.")

// savedBy notes which browser saves.
func savedBy(ctx context.Context, tx *db.Tx, session *domain.Session, by domain.LinkHolder) error {
	session.Holder = by
	mark := by.Mark()
	if mark == "" || session.SavedBy != nil && *session.SavedBy == mark {
		return nil
	}
	session.SavedBy = &mark
	return tx.SetSavedBy(ctx, session.ID, mark)
}
