package keys

import (
	"context"
	"slices"

	"candor/internal/domain"
)

// A Use is a key and what it was used for.
type Use struct {
	Key      domain.APIKey
	Keys     []domain.APIKey // of the scope, deleted ones included
	Networks []domain.KeyNetwork
	Uses     []domain.KeyUse // within domain.RequestRetention
}

// Use returns one of the scope's keys, a deleted one too as long as the request
// log names it, and what it was used for. Error: not_found.
func (s *Service) Use(ctx context.Context, scope domain.Scope, id domain.KeyID) (*Use, error) {
	all, err := s.DB.APIKeys(ctx, scope, true)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(k domain.APIKey) bool { return k.ID == id })
	if at < 0 {
		return nil, errKeyNotFound
	}
	use := &Use{Key: all[at], Keys: all}
	if use.Networks, err = s.DB.KeyNetworks(ctx, scope, id, MaxNetworks); err != nil {
		return nil, err
	}
	use.Uses, err = s.DB.KeyUses(ctx, scope, id, s.Clock.Now().Add(-domain.RequestRetention))
	return use, err
}

// MaxNetworks is how many networks of a key are shown.
const MaxNetworks = 100

// maxNewNetworks is how many new networks the list of keys shows.
const maxNewNetworks = 10

// NewNetworks returns the networks from which the scope's keys were first used
// lately, though they were used from others before; the latest first.
func (s *Service) NewNetworks(ctx context.Context, scope domain.Scope) ([]domain.KeyNetwork, error) {
	return s.DB.NewKeyNetworks(ctx, scope, s.Clock.Now().Add(-domain.NewNetworkShown), maxNewNetworks)
}
