package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// maxErased is how many sessions of one customer are erased at once.
const maxErased = 100

// SameCustomer returns a session of the scope and after it the others whose
// customer has the same address and whose data are not erased, newest first, at
// most maxErased in all. Error: session_not_found.
func (s *Service) SameCustomer(ctx context.Context, scope domain.Scope, id domain.SessionID) ([]domain.Session, error) {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if session.CustomerErasedAt != nil {
		return []domain.Session{*session}, nil
	}
	found, err := s.DB.SessionsBefore(ctx, scope, domain.SessionFilter{CustomerEmail: session.CustomerEmail}, nil, maxErased,
		s.Clock.Now())
	if err != nil {
		return nil, err
	}
	out := []domain.Session{*session}
	for _, other := range found {
		if other.ID != id && len(out) < maxErased {
			out = append(out, other)
		}
	}
	return out, nil
}

// Erase erases the data of the sessions in chosen, which must be among
// SameCustomer's of the session of that id. typed is the customer's address,
// typed again by the user. Each session is erased on its own, the one of that id last,
// so that the same call can be made again after a failure. Errors: session_not_found,
// validation_error on sessions and confirm.
func (s *Service) Erase(ctx context.Context, scope domain.Scope, id domain.SessionID, chosen []domain.SessionID, typed string,
	by domain.Actor) error {
	same, err := s.SameCustomer(ctx, scope, id)
	if err != nil {
		return err
	}
	var brokenSessions, brokenEmail form.Rule
	if len(chosen) == 0 {
		brokenSessions = form.Rule{Code: "chosen"}
	}
	if !strings.EqualFold(strings.TrimSpace(typed), same[0].CustomerEmail) {
		brokenEmail = form.Rule{Code: "typed_email"}
	}
	if err := domain.Invalid(form.Error{Field: "sessions", Rule: brokenSessions}, form.Error{Field: "confirm",
		Rule: brokenEmail}); err != nil {
		return err
	}
	for _, one := range chosen {
		if slices.ContainsFunc(same, func(of domain.Session) bool { return of.ID == one }) {
			continue
		}
		erased, err := s.Get(ctx, scope, one) // by a call that failed then, perhaps
		if err != nil {
			return err
		}
		if erased.CustomerErasedAt == nil {
			return domain.ErrSessionNotFound
		}
	}
	ctx = context.WithoutCancel(ctx) // to the end, even if the browser leaves
	order := slices.DeleteFunc(slices.Clone(chosen), func(one domain.SessionID) bool { return one == id })
	if slices.Contains(chosen, id) {
		order = append(order, id)
	}
	for _, one := range order {
		if err := s.eraseSession(ctx, scope, one, by); err != nil {
			return err
		}
	}
	return nil
}

// eraseSession erases a session's customer and keeps a receipt. It cancels an open
// session. A second call changes nothing.
func (s *Service) eraseSession(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) error {
	var documents []domain.DocumentID
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		documents = nil
		session, err := tx.LockSession(ctx, scope, id)
		if err != nil || session.CustomerErasedAt != nil {
			return db.MissingAs(err, domain.ErrSessionNotFound)
		}
		now := s.Clock.Now()
		receipt := &domain.Erasure{
			ID: domain.NewErasureID(), AccountID: session.AccountID, Livemode: session.Livemode, SessionID: id, At: now,
			ByKind: by.Kind, ByName: by.Name, FormerStatus: session.StatusAt(now),
		}
		if receipt.FormerStatus.Open() {
			session.Status, session.CancelledAt = domain.Cancelled, &now
		}
		if err := s.eraseEvents(ctx, tx, id, receipt); err != nil {
			return err
		}
		if err := s.eraseAnswersTo(ctx, tx, session); err != nil {
			return err
		}
		if documents, err = tx.EraseSession(ctx, session, receipt); err != nil {
			return err
		}
		if err := tx.InsertErasure(ctx, receipt); err != nil {
			return err
		}
		e := entryOf(domain.AuditSessionErased, session)
		e.After = map[string]string{"receipt": receipt.ID.String()}
		return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
	})
	for _, document := range documents {
		if err != nil {
			break
		}
		// If this fails, the upkeep job deletes the blob.
		if s.Blobs.Delete(ctx, document.String()) == nil {
			err = s.DB.ForgetBlob(ctx, document)
		}
	}
	return err
}

// eraseEvents takes the customer out of a session's events. They are locked
// first, as a redelivery does.
func (s *Service) eraseEvents(ctx context.Context, tx *db.Tx, id domain.SessionID, receipt *domain.Erasure) error {
	events, err := tx.LockEvents(ctx, id)
	if err != nil {
		return err
	}
	receipt.Events = len(events)
	for i := range events {
		if err := events[i].Erase(receipt.At); err != nil {
			return err
		}
		if err := tx.ReplaceEvent(ctx, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// answerLag is longer than the time between a session's creation and the answer to
// it, which commit together. The times can be of two clocks.
const answerLag = time.Minute

// eraseAnswersTo takes the customer out of the stored answers that are the session: to
// the request that created it, and to those that advanced it in test mode. It deletes
// those that refused to advance it, which can name what the request had, and those that
// are its deliveries, which have its webhook URL: call it before the deliveries go, and
// with the events locked, so that no further one is attempted.
func (s *Service) eraseAnswersTo(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	deliveries, err := tx.Deliveries(ctx, session.ID)
	if err != nil {
		return err
	}
	var attempts []string
	for _, d := range deliveries {
		attempts = append(attempts, "/v1/test/deliveries/"+d.ID.String()+"/attempt")
	}
	if err := tx.DeleteStoredResponsesTo(ctx, session.Scope(), attempts); err != nil {
		return err
	}
	kept, err := tx.StoredResponsesOf(ctx, session, session.CreatedAt.Add(-answerLag), session.CreatedAt.Add(answerLag))
	if err != nil {
		return err
	}
	for _, k := range kept {
		key := db.IdempotencyKey{Scope: session.Scope(), Path: k.Path, Key: k.Key}
		body, err := s.Ring.Open(key.SealOwner(), k.Response)
		switch {
		case err == nil && bytes.Contains(body, []byte(session.ID.String())):
			if body, err = withoutCustomer(body); err == nil {
				err = tx.HideStoredResponse(ctx, key, s.Ring.Seal(key.Hidden().SealOwner(), body))
			}
		case strings.Contains(k.Path, session.ID.String()):
			err = tx.DeleteStoredResponse(ctx, key)
		default:
			err = nil // another session's; an answer that can't be opened can't be read
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutCustomer is a session in JSON without what it says of the customer.
func withoutCustomer(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"customer_email": `"` + domain.ErasedEmail + `"`, "customer_name": "null", "reference_id": "null", "webhook_url": "null",
		"return_url": "null", "metadata": "{}",
	} {
		if _, ok := fields[name]; ok {
			fields[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(fields)
}

// Erasure returns the receipt for a session's erased data. Returns
// session_not_found if there is none.
func (s *Service) Erasure(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Erasure, error) {
	if _, err := s.Get(ctx, scope, id); err != nil {
		return nil, err
	}
	receipt, err := s.DB.Erasure(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, domain.ErrSessionNotFound
	}
	return receipt, err
}
