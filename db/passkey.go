package db

import (
	"context"
	"errors"
	"time"

	"candor/internal/domain"
)

const passkeyColumns = `id, staff_id, credential_id, name, credential, created_at, used_at` //nolint:gosec // names of columns, no credential

// ErrPasskeyTaken says that the passkey is registered already.
var ErrPasskeyTaken = errors.New("this passkey exists already")

// InsertPasskey stores a staff user's new passkey, or returns ErrPasskeyTaken.
func (tx *Tx) InsertPasskey(ctx context.Context, p *domain.Passkey) error {
	_, err := tx.exec(ctx, `
		INSERT INTO staff_passkey (`+passkeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.ID, p.StaffID, p.CredentialID, p.Name, string(p.Credential), p.CreatedAt, p.UsedAt)
	if ConstraintViolated(err, "staff_passkey_credential_key") {
		return ErrPasskeyTaken
	}
	return wrap(err, "insert passkey")
}

// Passkeys lists a staff user's passkeys, the latest first.
func (q *Queries) Passkeys(ctx context.Context, staff domain.StaffID) ([]domain.Passkey, error) {
	var out []domain.Passkey
	err := q.all(ctx, &out, `
		SELECT `+passkeyColumns+` FROM staff_passkey WHERE staff_id = $1 ORDER BY created_at DESC, id DESC`, staff)
	return out, wrap(err, "list passkeys")
}

// UsePasskey notes that a passkey has signed in, and its new counter, and
// returns its id; ErrNotFound if it was removed.
func (tx *Tx) UsePasskey(ctx context.Context, staff domain.StaffID, credentialID, credential []byte,
	now time.Time) (id domain.PasskeyID, err error) {
	err = tx.get(ctx, &id, `
		UPDATE staff_passkey SET credential = $3, used_at = $4 WHERE credential_id = $2 AND staff_id = $1 RETURNING id`,
		staff, credentialID, string(credential), now)
	return id, wrap(err, "use passkey")
}

// DeletePasskey deletes one of a staff user's passkeys, and with it the sessions
// that were made by it, and returns its name; ErrNotFound if there is none.
func (tx *Tx) DeletePasskey(ctx context.Context, staff domain.StaffID, id domain.PasskeyID) (name string, err error) {
	err = tx.get(ctx, &name, `DELETE FROM staff_passkey WHERE id = $1 AND staff_id = $2 RETURNING name`, id, staff)
	return name, wrap(err, "delete passkey")
}

// InsertPasskeyChallenge stores what a passkey is asked to sign: for making one
// by a staff user, or for signing in with a nil staff.
func (q *Queries) InsertPasskeyChallenge(ctx context.Context, tokenHash []byte, staff *domain.StaffID, data []byte,
	expires time.Time) error {
	_, err := q.exec(ctx, `
		INSERT INTO passkey_challenge (token_hash, staff_id, data, expires_at) VALUES ($1, $2, $3, $4)`,
		tokenHash, staff, string(data), expires)
	return wrap(err, "insert passkey challenge")
}

// TakePasskeyChallenge returns what was asked, once; ErrNotFound where it
// wasn't, or not of this user, or too long ago.
func (q *Queries) TakePasskeyChallenge(ctx context.Context, tokenHash []byte, staff *domain.StaffID, now time.Time) (data []byte,
	err error) {
	err = q.get(ctx, &data, `
		DELETE FROM passkey_challenge WHERE token_hash = $1 AND staff_id IS NOT DISTINCT FROM $2::uuid AND expires_at > $3
		RETURNING data`, tokenHash, staff, now)
	return data, wrap(err, "take passkey challenge")
}

// DeletePasskeyChallenges deletes up to limit challenges that have expired at
// now, and returns how many.
func (q *Queries) DeletePasskeyChallenges(ctx context.Context, now time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "passkey_challenge", "token_hash", "expires_at", now, limit, "delete passkey challenges")
}
