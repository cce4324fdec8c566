package service

import (
	"context"
	"slices"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// ReachSection notes that the customer of an open form sees the named section,
// where it is the first time. Names that aren't sections are passed over.
func (s *Service) ReachSection(ctx context.Context, state *FormState, name string) error {
	if state.reached[name] || statement.SectionNumber(name) == 0 {
		return nil
	}
	state.reached[name] = true
	return s.DB.ReachSection(ctx, state.Session.ID, name, s.Clock.Now())
}

// RefuseSection counts what the form refused in a section of which nothing is
// kept as a draft.
func (s *Service) RefuseSection(ctx context.Context, id domain.SessionID, name string, refused form.Errors) error {
	if len(refused) == 0 {
		return nil
	}
	return s.DB.NoteProblems(ctx, id, name, counted(refused))
}

// counted takes from errors what may be counted: each rule once, however many
// items of a list it is about.
func counted(refused form.Errors) []domain.FailedRule {
	var out []domain.FailedRule
	for _, e := range refused {
		general := e.General()
		p := domain.FailedRule{Field: general.Field, Message: general.Message}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
