// Package search finds what a staff user looks for: customers by a part of their name,
// address or reference, with a spelling mistake (D131) or by telephone number (D132), people
// of the team, and everything by its id, of the other mode too. It finds only what the
// user's role opens, in one account. It must not know HTTP and pages.
package search

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/requestlog"
	"candor/internal/service/sessions"
	"candor/internal/vault"
)

// Most is how many sessions a search returns, MostOfPhone by telephone number on a page of
// their own: no list shows these.
const (
	Most        = 8
	MostOfPhone = 100
)

// Config is what searching needs.
type Config struct {
	DB         *db.DB
	Vault      *vault.Vault
	Clock      domain.Clock
	RequestLog *requestlog.Service
	Sessions   *sessions.Service
}

// Service searches. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// Find returns what the text finds in the scope for that staff user. The text is
// without spaces around it. An id finds what has it and nothing else, a telephone number as
// many sessions as ofPhone.
func (s *Service) Find(ctx context.Context, staff *domain.Staff, scope domain.Scope, text string, ofPhone int) (
	*domain.Found, error) {
	if text == "" {
		return &domain.Found{}, nil
	}
	found, err := s.ByID(ctx, staff, scope, text)
	if err != nil || found.ByID {
		return found, err
	}
	if staff.Sees(domain.ManageKeys) {
		if err := s.keys(ctx, scope, text, found); err != nil {
			return nil, err
		}
	}
	if staff.Sees(domain.UseBilling) {
		if err := s.invoice(ctx, scope, text, found); err != nil {
			return nil, err
		}
	}
	if staff.Sees(domain.ManageAccount) {
		if err := s.people(ctx, scope.AccountID, text, found); err != nil {
			return nil, err
		}
	}
	if !staff.Sees(domain.UseSessions) {
		return found, nil
	}
	if err := s.views(ctx, staff, scope, text, found); err != nil {
		return nil, err
	}
	return found, s.customers(ctx, scope, text, ofPhone, found)
}

// customers finds sessions by telephone number, else by words, else by words with mistakes.
func (s *Service) customers(ctx context.Context, scope domain.Scope, text string, ofPhone int, found *domain.Found) error {
	called, err := s.Vault.SessionsOfPhone(ctx, s.DB, scope, text, ofPhone+1, s.Clock.Now())
	if err != nil {
		return err
	}
	if len(called) > 0 {
		found.ByPhone, found.OrMore = true, len(called) > ofPhone
		found.Sessions = called[:min(len(called), ofPhone)]
		found.Total = len(found.Sessions)
		return nil
	}
	filter := domain.SessionFilter{Search: text}
	slice, err := s.Sessions.After(ctx, scope, filter, domain.NewestFirst, nil, Most)
	if err != nil {
		return err
	}
	found.Sessions, found.Total, found.OrMore = slice.Sessions, slice.Total, slice.OrMore
	if found.Total > 0 || found.OrMore {
		return nil
	}
	filter.Misspelt = true
	if slice, err = s.Sessions.After(ctx, scope, filter, domain.NewestFirst, nil, Most); err != nil {
		return err
	}
	found.Sessions, found.Total, found.Misspelt = slice.Sessions, len(slice.Sessions), len(slice.Sessions) > 0
	return nil
}

// people finds those of the team by a part of the name or address.
func (s *Service) people(ctx context.Context, account domain.AccountID, text string, found *domain.Found) error {
	team, err := s.DB.Team(ctx, account)
	if err != nil {
		return err
	}
	for _, one := range team {
		if utf8.RuneCountInString(text) > 1 && contains(one.DisplayName()+" "+one.Email, text) && len(found.People) < Most {
			found.People = append(found.People, one)
		}
	}
	return nil
}

// views finds the user's own views by a part of their names.
func (s *Service) views(ctx context.Context, staff *domain.Staff, scope domain.Scope, text string, found *domain.Found) error {
	views, err := s.Sessions.Views(ctx, staff.ID, scope.Livemode)
	for _, one := range views {
		if utf8.RuneCountInString(text) > 1 && contains(one.Name, text) && len(found.Views) < Most {
			found.Views = append(found.Views, one)
		}
	}
	return err
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// ByID returns what has the text as its id in the scope, or else in the account's other mode.
func (s *Service) ByID(ctx context.Context, staff *domain.Staff, scope domain.Scope, text string) (*domain.Found, error) {
	found := &domain.Found{}
	if err := s.byID(ctx, staff, scope, text, found); err != nil {
		return nil, err
	}
	if !found.Any() {
		other := domain.Scope{AccountID: scope.AccountID, Livemode: !scope.Livemode}
		if err := s.byID(ctx, staff, other, text, found); err != nil {
			return nil, err
		}
		found.OtherMode = found.Any()
	}
	found.ByID = found.Any()
	return found, nil
}

// byID finds what has the text as its id, or as a reference made of its id.
func (s *Service) byID(ctx context.Context, staff *domain.Staff, scope domain.Scope, text string, found *domain.Found) error {
	if staff.Sees(domain.UseSessions) {
		if err := s.session(ctx, scope, text, found); err != nil {
			return err
		}
	}
	if id, err := domain.ParseDeliveryID(text); err == nil && staff.Sees(domain.ManageWebhooks) {
		delivery, err := s.DB.Delivery(ctx, scope, id)
		if err == nil {
			found.Delivery = &delivery.Delivery
		}
		return unlessMissing(err)
	}
	if id, err := domain.ParseEventID(text); err == nil && staff.Sees(domain.ManageWebhooks) {
		event, err := s.DB.FindEvent(ctx, scope, id)
		if err == nil {
			found.Event = event
		}
		return unlessMissing(err)
	}
	if id, err := domain.ParseRequestID(text); err == nil && staff.Sees(domain.ReadRequests) {
		request, err := s.RequestLog.Get(ctx, scope, id)
		if err == nil {
			found.Request = request
		}
		return unlessMissing(err)
	}
	return nil
}

func (s *Service) session(ctx context.Context, scope domain.Scope, text string, found *domain.Found) error {
	id, ok, err := s.Sessions.Find(ctx, scope, text)
	if err != nil {
		return err
	}
	if document, err := domain.ParseDocumentID(text); err == nil {
		id, err = s.DB.SessionOfDocument(ctx, scope, document)
		if err != nil {
			return unlessMissing(err)
		}
		found.Document, ok = &document, true
	}
	if !ok {
		return nil
	}
	session, err := s.Sessions.Get(ctx, scope, id)
	if err == nil {
		found.Sessions, found.Total = []domain.Session{*session}, 1
	}
	return unlessMissing(err)
}

// keys finds API keys by id, last four characters, and a part of the name.
func (s *Service) keys(ctx context.Context, scope domain.Scope, text string, found *domain.Found) error {
	all, err := s.DB.APIKeys(ctx, scope, false)
	if err != nil {
		return err
	}
	for _, key := range all {
		part := utf8.RuneCountInString(text) > 2 && contains(key.Name, text)
		if key.ID.String() == text || key.Last4 == text || part {
			found.Keys = append(found.Keys, key)
		}
		if len(found.Keys) == Most {
			break
		}
	}
	return nil
}

// invoice finds an invoice of the account by its number, as in CAN-000042 or 42.
func (s *Service) invoice(ctx context.Context, scope domain.Scope, text string, found *domain.Found) error {
	digits := text
	if prefix := len(domain.InvoicePrefix); len(text) > prefix && strings.EqualFold(text[:prefix], domain.InvoicePrefix) {
		digits = text[prefix:]
	}
	number, err := strconv.ParseUint(digits, 10, 40)
	if err != nil {
		return nil
	}
	id, err := s.DB.InvoiceByNumber(ctx, int64(number))
	if err == nil {
		found.Invoice, err = s.DB.Invoice(ctx, scope.AccountID, id)
	}
	if err != nil {
		found.Invoice = nil
	}
	return unlessMissing(err)
}

func unlessMissing(err error) error {
	if errors.Is(err, db.ErrNotFound) || errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) ||
		errors.Is(err, domain.ErrSessionNotFound) {
		return nil
	}
	return err
}
