// Package sessions holds what a partner does with sessions: creating, listing,
// cancelling and extending them, reading what customers submitted, and erasing
// it. What the customer does with the form is package forms.
package sessions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/service/audit"
	"candor/internal/service/idempotency"
	"candor/internal/vault"
	"candor/internal/webhook"
)

// Config is what sessions need.
type Config struct {
	DB          *db.DB
	Clock       domain.Clock
	Logger      *slog.Logger
	Ring        *keyring.Keyring
	Vault       *vault.Vault
	Blobs       blob.Store
	Policy      webhook.Policy
	BaseURL     string // without a slash at its end
	Outbox      *outbox.Outbox
	Audit       *audit.Service
	Idempotency *idempotency.Store
}

// Service holds the use cases of sessions. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// URL is the link that opens a session's form (D5), for those who may read answers or
// for those who may not (D92).
func (s *Service) URL(of *domain.Session, mayRead bool) string {
	return domain.Link{Version: of.LinkVersion, OneBrowser: !mayRead}.URL(s.BaseURL, of.ID, s.Ring.Token)
}

// LinkNow is URL; "" if the session's link is none of those who may not read answers any
// more (D51).
func (s *Service) LinkNow(of *domain.Session, mayRead bool) string {
	if of.LinkIsConfidential() && !mayRead {
		return ""
	}
	return s.URL(of, mayRead)
}

// Get returns a session of the scope as it stands now, or
// session_not_found.
func (s *Service) Get(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	session, err := s.DB.Session(ctx, scope, id)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSessionNotFound)
	}
	session.Status = session.StatusAt(s.Clock.Now())
	return session, nil
}

// List returns a page of the scope's sessions and how many match.
func (s *Service) List(ctx context.Context, scope domain.Scope, f domain.SessionFilter, page domain.Page) ([]domain.Session,
	int, error) {
	return s.DB.Sessions(ctx, scope, f, page, s.Clock.Now())
}

// A Slice is one screen of a list of sessions.
type Slice struct {
	Sessions []domain.Session
	Total    int  // of the whole list
	OrMore   bool // than Total: it was counted no further
	More     bool // others follow
}

// Find returns the session whose id, or whose reference made of it, the text is.
func (s *Service) Find(ctx context.Context, scope domain.Scope, text string) (id domain.SessionID, found bool, err error) {
	first, last, ok := domain.SessionsReferred(text)
	if id, err := domain.ParseSessionID(text); err == nil {
		first, last, ok = id, id, true
	}
	if !ok {
		return id, false, nil
	}
	ids, err := s.DB.SessionsBetween(ctx, scope, first, last, 2)
	if err != nil || len(ids) != 1 {
		return id, false, err
	}
	return ids[0], true, nil
}

// After returns at most limit of the scope's sessions that match the filter, in an order
// that sorts it, after the mark (nil: from the first). Error: session_not_found.
func (s *Service) After(ctx context.Context, scope domain.Scope, f domain.SessionFilter, order domain.SessionOrder,
	mark *domain.SessionMark, limit int) (*Slice, error) {
	if mark == nil {
		return s.after(ctx, scope, f, order, nil, limit)
	}
	last, err := s.Get(ctx, scope, mark.ID)
	if err != nil {
		return nil, err
	}
	if !mark.ExpiresAt.IsZero() {
		last.ExpiresAt = mark.ExpiresAt
	}
	return s.after(ctx, scope, f, order, last, limit)
}

// From returns what After returned of the newest when the session with that id was the
// newest, as it is now, and how many of the filter's have come since, at most
// domain.NewMost. Error: session_not_found.
func (s *Service) From(ctx context.Context, scope domain.Scope, f domain.SessionFilter, newest domain.SessionID,
	limit int) (slice *Slice, newer int, err error) {
	first, err := s.Get(ctx, scope, newest)
	if err != nil {
		return nil, 0, err
	}
	since := f
	if just := first.CreatedAt.Add(-time.Microsecond); f.CreatedAfter == nil || f.CreatedAfter.Before(just) {
		since.CreatedAfter = &just // so that a search looks at few
	}
	latest, err := s.after(ctx, scope, since, domain.NewestFirst, nil, domain.NewMost)
	if err != nil {
		return nil, 0, err
	}
	for newer < len(latest.Sessions) && cmp.Or(latest.Sessions[newer].CreatedAt.Compare(first.CreatedAt),
		latest.Sessions[newer].ID.Compare(first.ID)) > 0 {
		newer++
	}
	first.ID = first.ID.Next() // so that it is among those below
	slice, err = s.after(ctx, scope, f, domain.NewestFirst, first, limit)
	return slice, newer, err
}

// after returns the slice after last in the order, nil for the first one.
func (s *Service) after(ctx context.Context, scope domain.Scope, f domain.SessionFilter, order domain.SessionOrder,
	last *domain.Session, limit int) (*Slice, error) {
	now := s.Clock.Now()
	if f.Search != "" {
		found, err := s.DB.SearchSessions(ctx, scope, f, last, limit+1, now)
		if err != nil {
			return nil, err
		}
		return &Slice{
			Sessions: found.Sessions[:min(limit, len(found.Sessions))], Total: found.Total, OrMore: found.OrMore,
			More: len(found.Sessions) > limit,
		}, nil
	}
	sessions, err := s.DB.SortedSessions(ctx, scope, f, order, last, limit+1, now)
	if err != nil {
		return nil, err
	}
	slice := &Slice{Sessions: sessions[:min(limit, len(sessions))], Total: len(sessions), More: len(sessions) > limit}
	if slice.More || last != nil {
		slice.Total, err = s.DB.CountSessions(ctx, scope, f, now, domain.CountMost)
		slice.OrMore = slice.Total == domain.CountMost && !f.Counted() || f.ExpiresBefore != nil && slice.Total == domain.ExpiringMost
	}
	if f.Walks() && !slice.OrMore { // what was looked at is all, if it isn't more than that
		f.Figure, f.Progress, f.Status = nil, nil, ""
		var all int
		if f.Counted() {
			all, err = s.DB.CountSessions(ctx, scope, f, now, domain.CountMost)
		}
		slice.OrMore = all > domain.CountMost
	}
	return slice, err
}

// CountFinished fills in how many sections of the sessions are finished, as Timeline says it. Of
// erased sessions only how many were completed is left.
func (s *Service) CountFinished(ctx context.Context, list []domain.Session) error {
	ids := make([]domain.SessionID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	finished, err := s.DB.FinishedSections(ctx, ids)
	for i := range list {
		one := &list[i]
		one.SectionsFinished = len(finished[one.ID])
		if one.Status == domain.Completed || one.DataErasedAt != nil {
			one.SectionsFinished = one.SectionsCompleted
		}
	}
	return err
}

// exportPage is how many sessions an export reads at once.
const exportPage = 1000

// Chosen returns those of the scope's sessions, newest first. Error: session_not_found if one
// isn't there.
func (s *Service) Chosen(ctx context.Context, scope domain.Scope, ids []domain.SessionID) ([]domain.Session, error) {
	found, err := s.DB.SessionsOf(ctx, scope, ids, s.Clock.Now())
	if err == nil && len(found) < len(ids) {
		err = domain.ErrSessionNotFound
	}
	return found, err
}

// noteExport notes in the audit log that sessions are exported.
func (s *Service) noteExport(ctx context.Context, scope domain.Scope, by domain.Actor) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.Audit.Record(ctx, tx, scope.AccountID, by, audit.Entry{
			Action: domain.AuditSessionsExported, Livemode: &scope.Livemode, TargetID: scope.AccountID.String(), TargetName: "sessions",
		})
	})
}

// ExportChosen calls row for each of the chosen sessions, as Export does.
func (s *Service) ExportChosen(ctx context.Context, scope domain.Scope, chosen []domain.Session, by domain.Actor,
	row func(*domain.Session) error) error {
	if err := s.noteExport(ctx, scope, by); err != nil {
		return err
	}
	return s.exportRows(ctx, chosen, row)
}

// exportRows calls row for each of the sessions, which say what is finished as the list does.
func (s *Service) exportRows(ctx context.Context, page []domain.Session, row func(*domain.Session) error) error {
	err := s.CountFinished(ctx, page)
	for i := range page {
		if err == nil {
			err = row(&page[i])
		}
	}
	return err
}

// Export calls row for each of the scope's sessions that match the filter, newest
// first. Sessions that are created during the export are left out.
func (s *Service) Export(ctx context.Context, scope domain.Scope, f domain.SessionFilter, by domain.Actor,
	row func(*domain.Session) error) error {
	if err := s.noteExport(ctx, scope, by); err != nil {
		return err
	}
	if f.Search != "" {
		return s.DB.EachSessionFound(ctx, scope, f, s.Clock.Now(), func(found []domain.Session) error {
			return s.exportRows(ctx, found, row)
		})
	}
	var last *domain.Session
	for {
		page, err := s.DB.SessionsBefore(ctx, scope, f, last, exportPage, s.Clock.Now())
		if err == nil {
			err = s.exportRows(ctx, page, row)
		}
		if err != nil || len(page) < exportPage {
			return err
		}
		last = &page[len(page)-1]
	}
}

// Cancel cancels an open session and sends no event. If the session isn't open, it
// returns the conflict of D12.
func (s *Service) Cancel(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) (*domain.Session, error) {
	return s.change(ctx, scope, id, by, domain.AuditSessionCancelled, (*db.Tx).CancelSession)
}

// change makes a change that an open session allows, with its audit entry.
func (s *Service) change(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor, action domain.AuditAction,
	how func(*db.Tx, context.Context, domain.Scope, domain.SessionID, time.Time) (*domain.Session, error)) (
	changed *domain.Session, err error) {
	now := s.Clock.Now()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if changed, err = how(tx, ctx, scope, id, now); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, scope.AccountID, by, entryOf(action, changed))
	})
	if !errors.Is(err, db.ErrState) {
		return changed, err
	}
	return nil, s.conflict(ctx, scope, id, now)
}

// conflict is why a session doesn't allow a change.
func (s *Service) conflict(ctx context.Context, scope domain.Scope, id domain.SessionID, now time.Time) error {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return err
	}
	return session.Conflict(now)
}

// Extend moves the end of an open session's link: to that many times 24 hours from now, or
// with more by that many from the present end; at most 90 days from now. Errors:
// validation_error on days, the conflict of a session that isn't open, session_not_found.
func (s *Service) Extend(ctx context.Context, scope domain.Scope, id domain.SessionID, days int, more bool,
	by domain.Actor) (*domain.Session, error) {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	from := now
	if more {
		from = session.ExpiresAt
	}
	extended, err := s.extend(ctx, session, from, days, by)
	if !errors.Is(err, db.ErrState) {
		return extended, err
	}
	if session, err = s.Get(ctx, scope, id); err != nil { // another request closed or extended it first
		return nil, err
	}
	if err := session.Conflict(now); err != nil {
		return nil, err
	}
	return session, nil
}

// ExtendShown extends a link by days if it still ends at the time that a page showed, so
// that a form that is sent again, or by two people, extends once. The errors are Extend's.
func (s *Service) ExtendShown(ctx context.Context, scope domain.Scope, id domain.SessionID, ends time.Time, days int,
	by domain.Actor) (extended bool, err error) {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return false, err
	}
	if err := session.Conflict(s.Clock.Now()); err != nil || !session.ExpiresAt.Equal(ends) {
		return false, err
	}
	_, err = s.extend(ctx, session, ends, days, by)
	if errors.Is(err, db.ErrState) {
		return false, nil
	}
	return err == nil, err
}

// extend has an open session's link end that many days after from. Besides Extend's errors,
// db.ErrState: another request closed or extended it first.
func (s *Service) extend(ctx context.Context, session *domain.Session, from time.Time, days int, by domain.Actor) (
	extended *domain.Session, err error) {
	now, day := s.Clock.Now(), 24*time.Hour
	to := from.Add(time.Duration(days) * day)
	switch {
	case session.Conflict(now) != nil:
		return nil, session.Conflict(now)
	case days < 1 || days > domain.MaxExpiresInDays || to.After(now.Add(domain.MaxExpiresInDays*day)):
		return nil, domain.Breaks(domain.CodeValidation, "days", form.Rule{Code: form.RuleRange,
			Min: min(session.LeastExtension(from), domain.MaxExpiresInDays), Max: domain.MaxExpiresInDays})
	case !to.After(session.ExpiresAt):
		return nil, domain.Breaks(domain.CodeValidation, "days", form.Rule{Code: "longer_link"})
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if extended, err = tx.ExtendSession(ctx, session.Scope(), session.ID, to, now); err != nil {
			return err
		}
		e := entryOf(domain.AuditSessionExtended, extended)
		e.Before, e.After = map[string]time.Time{"expires_at": session.ExpiresAt}, map[string]time.Time{"expires_at": to}
		return s.Audit.Record(ctx, tx, session.AccountID, by, e)
	})
	return extended, err
}

// RenewLink gives an open session a new link. The one before stops at once, in browsers
// that opened it, too; what was entered stays. If the session isn't open, it returns the
// conflict of D12.
func (s *Service) RenewLink(ctx context.Context, scope domain.Scope, id domain.SessionID,
	by domain.Actor) (*domain.Session, error) {
	return s.change(ctx, scope, id, by, domain.AuditLinkRenewed, (*db.Tx).RenewLink)
}

// entryOf is the audit entry of an action on a session. It names the session by
// its id, so that the audit log holds no customer.
func entryOf(action domain.AuditAction, session *domain.Session) audit.Entry {
	return audit.Entry{Action: action, Livemode: &session.Livemode, TargetID: session.ID.String(), TargetName: session.ID.String()}
}
