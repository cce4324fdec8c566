package db

import (
	"context"

	"candor/internal/domain"
)

// Team lists an account's staff users, by name.
func (q *Queries) Team(ctx context.Context, account domain.AccountID) ([]domain.TeamMember, error) {
	var out []domain.TeamMember
	err := q.all(ctx, &out, `
		SELECT `+staffColumns+`, totp_secret IS NOT NULL AS two_step,
			EXISTS (SELECT FROM staff_passkey WHERE staff_id = staff_user.id) AS has_passkey,
			greatest(seen_at, (SELECT max(s.seen_at) FROM staff_session s WHERE s.staff_id = staff_user.id AND s.stage = 'full')) AS seen_at
		FROM staff_user WHERE account_id = $1 ORDER BY lower(name), lower(email)`, account)
	return out, wrap(err, "list team")
}

// LockTeam lets one transaction at a time change an account's team, so that
// two can't each take out the last owner but one.
func (tx *Tx) LockTeam(ctx context.Context, account domain.AccountID) error {
	var id domain.AccountID
	err := tx.get(ctx, &id, `SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE`, account)
	return wrap(err, "lock team")
}

// TeamMember returns one of an account's staff users, or ErrNotFound.
func (tx *Tx) TeamMember(ctx context.Context, account domain.AccountID, id domain.StaffID) (*domain.Staff, error) {
	var s domain.Staff
	err := tx.get(ctx, &s, `SELECT `+staffColumns+` FROM staff_user WHERE id = $1 AND account_id = $2`, id, account)
	return &s, wrap(err, "get team member")
}

// OtherOwners returns how many owners the account has beside that user.
func (tx *Tx) OtherOwners(ctx context.Context, account domain.AccountID, but domain.StaffID) (int, error) {
	var n int
	err := tx.get(ctx, &n, `SELECT count(*) FROM staff_user WHERE account_id = $1 AND role = 'owner' AND id <> $2`, account, but)
	return n, wrap(err, "count owners")
}

// SetRole stores what a staff user may do.
func (tx *Tx) SetRole(ctx context.Context, id domain.StaffID, role domain.Role, mayDownload bool) error {
	result, err := tx.exec(ctx, `UPDATE staff_user SET role = $2, may_download = $3 WHERE id = $1`, id, role, mayDownload)
	return changedOne(result, err, "set role")
}

// DeleteStaff deletes a staff user with all sessions: they are out at once.
func (tx *Tx) DeleteStaff(ctx context.Context, id domain.StaffID) error {
	result, err := tx.exec(ctx, `DELETE FROM staff_user WHERE id = $1`, id)
	return changedOne(result, err, "delete staff user")
}
