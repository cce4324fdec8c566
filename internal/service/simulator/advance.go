package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
)

// A run is one advance under way, in a transaction that has locked its session:
// of two at once the second finds what the first did.
type run struct {
	*Service
	forms *forms.Service // in the transaction
	tx    *db.Tx
	scope domain.Scope
	to    Goal
	given statement.Prefill // answers of data
	now   time.Time
}

func (s *Service) advance(ctx context.Context, tx *db.Tx, scope domain.Scope, id domain.SessionID,
	a Advance) (*domain.Session, error) {
	session, err := tx.LockSession(ctx, scope, id)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSessionNotFound)
	}
	r := &run{Service: s, forms: s.Forms.In(tx), tx: tx, scope: scope, to: a.To, now: s.Clock.Now()}
	if a.Data != nil {
		if err := r.read(a.Data); err != nil {
			return nil, err
		}
	}
	session.Status = session.StatusAt(r.now)
	if err := r.reachable(session); err != nil {
		return nil, err
	}
	if err := r.take(ctx, session); err != nil {
		return nil, err
	}
	reached, err := tx.Session(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	reached.Status = reached.StatusAt(r.now)
	if reached.Emailed {
		reached.Delivery, err = tx.LinkDelivery(ctx, id)
	}
	return reached, db.MissingAs(err, nil) // erased just now
}

// reachable returns why the session can't come to the goal, and what it can do.
func (r *run) reachable(session *domain.Session) error {
	refuse := func(code domain.Code, why string) error {
		return domain.Errorf(code, "%s Create a new session to get to %s.", why, r.to)
	}
	switch session.Status {
	case domain.Cancelled:
		return refuse(domain.CodeSessionCancelled, "This session is cancelled, so it can’t be advanced.")
	case domain.Expired:
		if r.to != Expired {
			return refuse(domain.CodeSessionExpired, "This session has expired, so it can’t be advanced.")
		}
	case domain.Completed:
		switch {
		case r.to.sections() < statement.SectionsTotal:
			return refuse(domain.CodeSessionCompleted, "This session is completed, so it can be advanced to pdf_expired only.")
		case len(r.given) > 0:
			return refuse(domain.CodeSessionCompleted, "This session is completed, so its answers can’t be changed: leave out data.")
		}
	}
	return nil
}

// take brings the session to the goal.
func (r *run) take(ctx context.Context, session *domain.Session) error {
	switch {
	case r.to == Expired:
		return r.expire(ctx, session)
	case r.to == Reminder:
		return r.remind(ctx, session)
	case session.Status != domain.Completed:
		if err := r.fillIn(ctx, session); err != nil {
			return err
		}
	}
	if r.to == PDFExpired {
		return r.tx.RetireSession(ctx, session.ID, r.now)
	}
	return nil
}

// expire ends the session's link now, and expires the session as the sweep does.
func (r *run) expire(ctx context.Context, session *domain.Session) error {
	if session.Status == domain.Expired {
		return nil // the sweep, which may be yet to come, sends the event
	}
	if err := r.tx.EndLink(ctx, session.ID, r.now); err != nil {
		return err
	}
	if err := r.tx.ExpireSession(ctx, session.ID); err != nil {
		return err
	}
	session.ExpiresAt = r.now
	return r.Outbox.Expired(ctx, r.tx, session, r.now)
}

// remind sets the session's times back, so that its next reminder is due (D116).
func (r *run) remind(ctx context.Context, session *domain.Session) error {
	delivery, err := r.tx.LinkDelivery(ctx, session.ID)
	if errors.Is(err, db.ErrNotFound) {
		delivery, err = &domain.LinkDelivery{}, nil
	}
	if err != nil {
		return err
	}
	kind, at := delivery.Next(session, r.now)
	if kind == "" || kind == domain.LinkItself || !at.Before(session.ExpiresAt) {
		return domain.Breaks(domain.CodeValidation, "to", form.Rule{Code: "no_reminder"})
	}
	e := delivery.Email(kind) // queued: the mail server didn't take it, so it is tried again now
	if delivery.Sending() != nil || !at.After(r.now) && (e == nil || e.State != domain.LinkQueued) {
		return domain.Breaks(domain.CodeValidation, "to", form.Rule{Code: "reminder_sent"})
	}
	if err := r.tx.SetSessionBack(ctx, session.ID, max(0, at.Sub(r.now)), r.now); err != nil {
		return err
	}
	return r.Outbox.LinkEmail(ctx, r.tx, session.ID)
}

// fillIn opens the form, completes sections in their order up to the goal, and
// signs.
func (r *run) fillIn(ctx context.Context, session *domain.Session) error {
	if err := r.tx.HoldFormCounts(ctx, r.scope, session.CreatedAt, statement.SectionNames[:r.to.sections()]); err != nil {
		return err
	}
	state, err := r.forms.Find(ctx, session.ID)
	if err != nil {
		return err
	}
	customer := newCustomer(session, r.now)
	if err := r.forms.Open(ctx, state, customer.visitor); err != nil {
		return err
	}
	for _, name := range statement.SectionNames[:r.to.sections()] {
		if state, err = r.forms.Get(ctx, session.ID); err != nil {
			return err
		}
		_, given := r.given[name]
		if state.Finished(name) && !given {
			continue
		}
		if err := r.forms.Reach(ctx, state, name); err != nil {
			return err
		}
		if err := r.complete(ctx, state, customer, name); err != nil {
			return err
		}
	}
	return nil
}

// complete completes one section.
func (r *run) complete(ctx context.Context, state *forms.State, customer *customer, name string) error {
	switch name {
	case statement.DocumentsSection:
		return r.forms.CompleteDocuments(ctx, state.Session)
	case statement.DeclarationSection:
		if err := r.room(ctx, r.tx, r.scope, r.now); err != nil {
			return err
		}
		signed := forms.Signature{Declaration: statement.Declaration{Accepted: true, FullName: state.Statement.Personal.FullName}}
		state.Statement.Declaration = signed.Declaration
		for _, doubt := range state.Statement.Doubts(r.now) { // the page would ask about each
			signed.Confirmed = append(signed.Confirmed, doubt.Key())
		}
		return r.forms.Submit(ctx, state.Session, signed)
	}
	typed := customer.answer(state, name, r.given[name])
	done, err := r.forms.Edit(ctx, state, name, forms.Change{Edit: form.Edit{Ours: typed}, Action: forms.Complete})
	if err == nil && len(done.Refused) > 0 {
		return inData(name+".", done.Refused)
	}
	return err
}

// inData is the error of answers that the form refuses. prefix is before the names
// of their inputs.
func inData(prefix string, refused form.Errors) error {
	named := slices.Clone(refused)
	for i := range named {
		named[i].Field = "data." + prefix + named[i].Field
		named[i].Message = fmt.Sprintf("%s: %s.", named[i].Field, named[i].Message)
	}
	return &domain.Error{Code: domain.CodeValidation, Fields: named}
}
