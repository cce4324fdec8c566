package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const invitationQuery = `
	SELECT i.id, i.account_id, a.name AS account_name, i.email, i.role, i.may_download, i.invited_by, i.sender_id, i.created_at,
		i.expires_at, EXISTS (SELECT FROM sso_connection c WHERE c.account_id = i.account_id AND c.only_sso) AS only_sso
	FROM invitation i JOIN account a ON a.id = i.account_id`

// PutInvitation stores an invitation. One to the same address of the account
// is replaced, its link with it.
func (tx *Tx) PutInvitation(ctx context.Context, i *domain.Invitation) error {
	_, err := tx.exec(ctx, `
		DELETE FROM invitation WHERE account_id = $1 AND lower(email) = lower($2)`, i.AccountID, i.Email)
	if err != nil {
		return wrap(err, "replace invitation")
	}
	_, err = tx.exec(ctx, `
		INSERT INTO invitation (id, account_id, email, role, may_download, invited_by, sender_id, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		i.ID, i.AccountID, i.Email, i.Role, i.MayDownload, i.InvitedBy, i.SenderID, i.CreatedAt, i.ExpiresAt)
	return wrap(err, "insert invitation")
}

// Invitations lists the account's invitations that weren't accepted, those
// that have expired lately too, the latest first.
func (q *Queries) Invitations(ctx context.Context, account domain.AccountID) ([]domain.Invitation, error) {
	var out []domain.Invitation
	err := q.all(ctx, &out, invitationQuery+` WHERE i.account_id = $1 ORDER BY i.created_at DESC, i.id DESC`, account)
	return out, wrap(err, "list invitations")
}

// Invitation returns an invitation, or ErrNotFound.
func (q *Queries) Invitation(ctx context.Context, id domain.InvitationID) (*domain.Invitation, error) {
	var i domain.Invitation
	err := q.get(ctx, &i, invitationQuery+` WHERE i.id = $1`, id)
	return &i, wrap(err, "get invitation")
}

// InvitationByToken returns the invitation whose email had the token of that
// SHA-256 and that hasn't expired at now, or ErrNotFound.
func (q *Queries) InvitationByToken(ctx context.Context, tokenHash []byte, now time.Time) (*domain.Invitation, error) {
	var i domain.Invitation
	err := q.get(ctx, &i, invitationQuery+` WHERE i.token_hash = $1 AND i.expires_at > $2`, tokenHash, now)
	return &i, wrap(err, "find invitation")
}

// SetInvitationToken makes the invitation be found by its email's token.
func (q *Queries) SetInvitationToken(ctx context.Context, id domain.InvitationID, tokenHash []byte) error {
	result, err := q.exec(ctx, `UPDATE invitation SET token_hash = $2 WHERE id = $1`, id, tokenHash)
	return changedOne(result, err, "set invitation's token")
}

// DeleteInvitation deletes an invitation of the account, accepted or revoked,
// and returns it; ErrNotFound where there is none.
func (tx *Tx) DeleteInvitation(ctx context.Context, account domain.AccountID, id domain.InvitationID) (*domain.Invitation,
	error) {
	var i domain.Invitation
	err := tx.get(ctx, &i, `
		DELETE FROM invitation i USING account a WHERE i.id = $1 AND i.account_id = $2 AND a.id = i.account_id
		RETURNING i.id, i.account_id, a.name AS account_name, i.email, i.role, i.may_download, i.invited_by, i.sender_id, i.created_at,
			i.expires_at`, id, account)
	return &i, wrap(err, "delete invitation")
}

// TakeInvitation deletes the account's invitation to the address, and returns it, expired or not;
// ErrNotFound where there is none.
func (tx *Tx) TakeInvitation(ctx context.Context, account domain.AccountID, email string) (*domain.Invitation, error) {
	var i domain.Invitation
	err := tx.get(ctx, &i, `
		DELETE FROM invitation WHERE account_id = $1 AND lower(email) = lower($2)
		RETURNING id, account_id, email, role, may_download, invited_by, sender_id, created_at, expires_at`, account, email)
	return &i, wrap(err, "take invitation")
}

// DeleteInvitationsBy deletes the invitations that the staff user sent and that
// haven't expired at now, and returns them.
func (tx *Tx) DeleteInvitationsBy(ctx context.Context, sender domain.StaffID, now time.Time) ([]domain.Invitation, error) {
	var out []domain.Invitation
	err := tx.all(ctx, &out, `
		DELETE FROM invitation WHERE sender_id = $1 AND expires_at > $2
		RETURNING id, account_id, email, role, may_download, invited_by, sender_id, created_at, expires_at`, sender, now)
	return out, wrap(err, "delete a sender's invitations")
}
