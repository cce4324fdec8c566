package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/staff/attempts"
)

var errLinkGone = domain.Errorf(domain.CodeNotFound, "This link has been used or has expired. Ask for a new one.")

// addressSubject is an email address as requests are found by it.
func addressSubject(email string) []byte { return attempts.Subject("address", strings.ToLower(email)) }

// request stores what the visitor asks for and has the email with the link sent.
// It does the same work whether the address is known or not; the email's worker
// checks that.
func (s *Service) request(ctx context.Context, kind domain.StaffRequestKind, details domain.RequestDetails) error {
	now := s.Clock.Now()
	life := domain.ResetLife
	if kind == domain.RequestSignUp {
		life = domain.SignUpLife
	}
	r := &domain.StaffRequest{
		ID: domain.NewStaffRequestID(), Kind: kind, Subject: addressSubject(details.Email), CreatedAt: now, ExpiresAt: now.Add(life),
	}
	plain, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("auth: staff request: %w", err)
	}
	r.Sealed = s.Ring.Seal(r.SealOwner(), plain)
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.InsertStaffRequest(ctx, r); err != nil {
			return err
		}
		return s.Outbox.RequestEmail(ctx, tx, r.ID)
	})
}

// requested returns the live request of a link's token, or not_found.
func (s *Service) requested(ctx context.Context, kind domain.StaffRequestKind, token string) (*domain.StaffRequest,
	domain.RequestDetails, error) {
	var details domain.RequestDetails
	r, err := s.DB.StaffRequestByToken(ctx, kind, domain.HashToken(token), s.Clock.Now())
	if err != nil {
		return nil, details, db.MissingAs(err, errLinkGone)
	}
	plain, err := s.Ring.Open(r.SealOwner(), r.Sealed)
	if err != nil {
		s.Logger.ErrorContext(ctx, "a staff request can't be opened", "request_id", r.ID, "error", err)
		return nil, details, errLinkGone
	}
	if err := json.Unmarshal(plain, &details); err != nil {
		return nil, details, fmt.Errorf("auth: staff request: %w", err)
	}
	return r, details, nil
}
