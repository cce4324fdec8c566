// Package sealing counts the values that each secret key sealed and seals them
// with the newest key, so that an old key can be retired.
package sealing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"candor/db"
	"candor/internal/platform/keyring"
)

// Config is what changing secret keys needs.
type Config struct {
	DB   *db.DB
	Ring *keyring.Keyring
}

// Service counts sealed values and seals them again. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// Count is how many values of a kind one secret key sealed.
type Count struct {
	Kind       string
	Key        string // its name
	Values     int
	Configured bool // so that they can be opened
}

// Counts counts what the keyring sealed, by kind and key.
func (s *Service) Counts(ctx context.Context) ([]Count, error) {
	var out []Count
	for _, column := range db.SealedColumns {
		counts, err := s.DB.CountSealed(ctx, column)
		if err != nil {
			return nil, fmt.Errorf("sealing: %s: %w", column.Kind, err)
		}
		for _, c := range counts {
			out = append(out, Count{Kind: column.Kind, Key: c.Key, Values: c.Values, Configured: s.Ring.Has(c.Key)})
		}
	}
	return out, nil
}

// A Probe is a Count, and whether the first value of it can be opened.
type Probe struct {
	Count
	Opens bool
}

// Probes is Counts, and opens one value of each kind and key. A key can have the right
// name and the wrong bytes.
func (s *Service) Probes(ctx context.Context) ([]Probe, error) {
	counts, err := s.Counts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Probe, 0, len(counts))
	for _, c := range counts {
		probe := Probe{Count: c}
		column := slices.IndexFunc(db.SealedColumns, func(column db.SealedColumn) bool { return column.Kind == c.Kind })
		value, err := s.DB.OneSealed(ctx, db.SealedColumns[column], c.Key)
		switch {
		case errors.Is(err, db.ErrNotFound):
			probe.Opens = c.Configured // the value went since it was counted
		case err != nil:
			return nil, fmt.Errorf("sealing: %s: %w", c.Kind, err)
		default:
			_, unreadable := s.Ring.Open(value.Owner, value.Sealed)
			probe.Opens = unreadable == nil
		}
		out = append(out, probe)
	}
	return out, nil
}

// resealPages is how many pages of a table a batch takes: some 20,000 data keys.
const resealPages = 256

// Resealed is what Reseal did to a kind of sealed values.
type Resealed struct {
	Kind     string
	Resealed int // by the newest key now
	Left     int // that no configured key opens
}

// Reseal seals everything that an older key sealed by the newest one. It works
// in batches and can be run again after an interruption: it takes only what is
// left. A value that changes while it works is left to its change.
func (s *Service) Reseal(ctx context.Context) ([]Resealed, error) {
	var out []Resealed
	for _, column := range db.SealedColumns {
		done := Resealed{Kind: column.Kind}
		pages, err := s.DB.SealedPages(ctx, column)
		for first := 0; first < pages && err == nil; first += resealPages {
			err = s.resealBatch(ctx, column, first, &done)
		}
		if err != nil {
			return out, fmt.Errorf("sealing: reseal %s: %w", column.Kind, err)
		}
		out = append(out, done)
	}
	return out, nil
}

func (s *Service) resealBatch(ctx context.Context, column db.SealedColumn, first int, done *Resealed) error {
	values, err := s.DB.SealedByOthers(ctx, column, s.Ring.Newest(), first, first+resealPages)
	for _, v := range values {
		if err != nil {
			break
		}
		clear, unreadable := s.Ring.Open(v.Owner, v.Sealed)
		if unreadable != nil {
			done.Left++
			continue
		}
		var replaced bool
		if replaced, err = s.DB.ReplaceSealed(ctx, column, v, s.Ring.Seal(v.Owner, clear)); replaced {
			done.Resealed++
		}
	}
	return err
}
