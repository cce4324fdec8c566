package home

import (
	"context"
	"slices"

	"candor/internal/domain"
)

// newestLooked is how many of the newest sessions FirstSteps looks at. Who has more has
// tried it all.
const newestLooked = 25

// FirstSteps returns what was tried in the scope. It reads the newest rows alone.
func (s *Service) FirstSteps(ctx context.Context, scope domain.Scope) (*domain.FirstSteps, error) {
	out := &domain.FirstSteps{}
	var err error
	if out.HasKey, err = s.DB.AnyAPIKey(ctx, scope); err != nil {
		return nil, err
	}
	sessions, err := s.DB.SessionsBefore(ctx, scope, domain.SessionFilter{}, nil, newestLooked, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	out.Created = len(sessions) == newestLooked
	for i := range sessions {
		if kind := sessions[i].CreatedByKind; kind != nil && *kind == domain.ActorKey {
			out.Created = true
		}
		if out.Link == nil && sessions[i].Status.Open() {
			out.Link = &sessions[i]
		}
	}
	if out.Opened, err = s.DB.AnySessionOpened(ctx, scope); err != nil {
		return nil, err
	}
	endpoints, err := s.DB.Endpoints(ctx, scope, nil)
	if err != nil {
		return nil, err
	}
	out.Received = slices.ContainsFunc(endpoints, func(e domain.Endpoint) bool { return e.LastSuccessAt != nil })
	routes, err := s.DB.CalledRoutes(ctx, scope)
	out.Received = out.Received || slices.Contains(routes, "GET /v1/events")
	out.Fetched = slices.Contains(routes, "GET /v1/sessions/:id/data")
	return out, err
}
