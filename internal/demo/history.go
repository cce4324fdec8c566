package demo

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/views/pdf"
)

// history is what happens in one mode. It is played in the order of time and in
// one transaction, so that no worker takes the past for something to do.
type history struct {
	*Services
	office   *office
	clock    *clock
	random   *rand.Rand
	fonts    *pdf.Fonts
	papers   []paper
	scope    domain.Scope
	now      time.Time
	sessions int

	steps      []step
	url        *string                      // where events go by default
	secrets    []string                     // that sign them
	endpoints  map[string]domain.EndpointID // by URL
	deliveries []*sentDelivery
	audit      []domain.AuditEntry
	calls      []domain.APIRequest
	events     int
	drawings   []*drawing
	drawers    chan struct{} // holds who makes a PDF
	reference  int
	finished   []*journey // completed, the oldest first
}

// step is something that happens.
type step struct {
	at time.Time
	do func(ctx context.Context, tx *db.Tx) error
}

func newHistory(o *office, fonts *pdf.Fonts, papers []paper, live bool, sessions int) *history {
	seed := uint64(1)
	if live {
		seed = 2
	}
	h := &history{
		office: o, clock: new(clock), random: rand.New(rand.NewPCG(seed, 4)), fonts: fonts, papers: papers, now: o.now,
		sessions: sessions,
		scope:    domain.Scope{AccountID: o.account, Livemode: live}, endpoints: map[string]domain.EndpointID{}, reference: 24_000,
		drawers: make(chan struct{}, 2),
	}
	h.Services = o.at(h.clock.now)
	return h
}

// play makes all of it happen, but for what log adds.
func (h *history) play(ctx context.Context, tx *db.Tx) error {
	first, err := tx.DefaultEndpoint(ctx, h.scope)
	if err != nil {
		return err
	}
	if h.url = first.URL; h.url != nil {
		h.endpoints[*h.url] = first.ID
	}
	if h.secrets, err = delivery.SigningSecrets(ctx, h.DB, h.Ring, h.scope, nil); err != nil {
		return err
	}
	for _, at := range arrivals(h.random, h.now, h.sessions) {
		h.plan(at)
	}
	if h.scope.Livemode {
		h.planBills()
	}
	slices.SortStableFunc(h.steps, func(a, b step) int { return a.at.Compare(b.at) })
	for _, s := range h.steps {
		if s.at.After(h.now) {
			break
		}
		h.clock.at = s.at
		if err := s.do(ctx, tx); err != nil {
			return err
		}
	}
	for _, d := range h.drawings {
		if err := d.keep(ctx, tx); err != nil {
			return err
		}
	}
	for i := range h.audit {
		if err := tx.InsertAudit(ctx, &h.audit[i]); err != nil {
			return err
		}
	}
	if err := tx.InsertSequence(ctx, h.scope, int64(h.events)); err != nil {
		return err
	}
	return h.deliver(ctx, tx)
}

// event records what happened to a session now, and has it delivered.
func (h *history) event(ctx context.Context, tx *db.Tx, s *domain.Session, p domain.Payload) error {
	return h.record(ctx, tx, &s.ID, p, h.urlOf(s))
}

// urlOf is where a session's events go.
func (h *history) urlOf(s *domain.Session) *string {
	if s.WebhookURL != nil {
		return s.WebhookURL
	}
	return h.url
}

// record stores what happened now, to a session or to the account, and has it
// delivered to the url.
func (h *history) record(ctx context.Context, tx *db.Tx, session *domain.SessionID, p domain.Payload, url *string) error {
	h.events++
	return h.recordAs(ctx, tx, int64(h.events), h.clock.at, session, p, url)
}

// recordAs is record for what happened then, under a number that is taken.
func (h *history) recordAs(ctx context.Context, tx *db.Tx, number int64, at time.Time, session *domain.SessionID,
	p domain.Payload, url *string) error {
	e, err := domain.NewEvent(h.scope, session, number, p, at)
	if err != nil {
		return err
	}
	id, known := h.endpoints[*url]
	if !known {
		if id, err = tx.EndpointFor(ctx, h.scope, domain.Origin(*url), at); err != nil {
			return err
		}
		h.endpoints[*url] = id
	}
	e.URL, e.EndpointID = url, &id
	if err := tx.InsertEvent(ctx, e); err != nil {
		return err
	}
	h.deliveries = append(h.deliveries, h.attempt(domain.NewDelivery(e, id, *url, at), e.Body))
	return nil
}

// note is a line of the audit log about a session.
func (h *history) note(at time.Time, by domain.Actor, action domain.AuditAction, id domain.SessionID) {
	h.audit = append(h.audit, entry(h.scope.AccountID, &h.scope.Livemode, at, by, action, id.String(), id.String()))
}

func entry(account domain.AccountID, live *bool, at time.Time, by domain.Actor, action domain.AuditAction, target,
	name string) domain.AuditEntry {
	return domain.AuditEntry{
		ID: domain.NewAuditID(), AccountID: account, Livemode: live, At: at, ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name,
		Address: by.Address,
		Action:  action, TargetID: target, TargetName: name,
	}
}
