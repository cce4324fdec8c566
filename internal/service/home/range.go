package home

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"candor/internal/domain"
)

// RangeMost is how many days a Range has at most.
const RangeMost = 366

const (
	refusedMost = 20 // rules that a Range names
	membersMost = 50 // of metadata
	readsAtOnce = 3  // of the connections that all requests share
)

// Range are the figures of the sessions that were created in some days, and of those that
// were in as many days before.
type Range struct {
	First, Last       time.Time // dates, both inclusive
	Now, Before       *domain.Usage
	Funnel, Earlier   *domain.Funnel
	By, ByBefore      []domain.FigureCount
	Refused           []domain.RefusedMost
	BeforeFirst, Till time.Time
}

// Range returns the figures of the days of the zone, which is the account's, by the values
// of a name. But for open sessions past their end it reads counters alone, and several at once.
func (s *Service) Range(ctx context.Context, scope domain.Scope, zone *time.Location, first, last time.Time, by string) (
	*Range, error) {
	now := s.Clock.Now()
	days := int(last.Sub(first)/(24*time.Hour)) + 1
	r := &Range{First: first, Last: last, BeforeFirst: first.AddDate(0, 0, -days), Till: first.AddDate(0, 0, -1)}
	reads, ctx := sideBySide(ctx)
	reads.Go(func() (err error) {
		r.Refused, err = s.DB.RefusedMost(ctx, scope, r.BeforeFirst, first, last, refusedMost)
		return err
	})
	reads.Go(func() (err error) { r.Funnel, err = s.DB.FunnelTimes(ctx, scope, first, last); return err })
	reads.Go(func() (err error) {
		r.Earlier, err = s.DB.FunnelProgress(ctx, scope, r.BeforeFirst, r.Till)
		return err
	})
	reads.Go(func() (err error) { r.Now, err = s.DB.Usage(ctx, scope, zone, first, last, now); return err })
	reads.Go(func() (err error) {
		r.Before, err = s.DB.Usage(ctx, scope, zone, r.BeforeFirst, r.Till, now)
		return err
	})
	reads.Go(func() (err error) { r.By, err = s.DB.Figures(ctx, scope, by, first, last); return err })
	reads.Go(func() (err error) { r.ByBefore, err = s.DB.Figures(ctx, scope, by, r.BeforeFirst, r.Till); return err })
	return r, reads.Wait()
}

// reads are side by side.
type reads struct{ *errgroup.Group }

// sideBySide returns reads of which a few run at once. Their context ends with the first error.
func sideBySide(ctx context.Context) (reads, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	return reads{group}, ctx
}

// Go reads. A panic is an error, as it is of a request: it would end the process.
func (g reads) Go(read func() error) {
	g.Group.Go(func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("home: panic: %v\n%s", v, debug.Stack())
			}
		}()
		return read()
	})
}

// FigureMembers returns the names of the members of metadata that a Range can be by.
func (s *Service) FigureMembers(ctx context.Context, scope domain.Scope) ([]string, error) {
	return s.DB.FigureNames(ctx, scope, membersMost)
}
