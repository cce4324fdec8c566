package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// SecondFactor returns a staff user's second factor, or ErrNotFound.
func (q *Queries) SecondFactor(ctx context.Context, id domain.StaffID) (*domain.SecondFactor, error) {
	var f domain.SecondFactor
	err := q.get(ctx, &f, `
		SELECT totp_pending, totp_secret, totp_since, totp_step,
			(SELECT count(*) FROM staff_recovery_code WHERE staff_id = id) AS recovery_codes
		FROM staff_user WHERE id = $1`, id)
	return &f, wrap(err, "get second factor")
}

// SetPendingFactor stores a new sealed secret that the user has not proven yet.
// Returns ErrState if a second factor is on.
func (q *Queries) SetPendingFactor(ctx context.Context, id domain.StaffID, sealed []byte) error {
	result, err := q.exec(ctx, `
		UPDATE staff_user SET totp_pending = $2 WHERE id = $1 AND totp_secret IS NULL`, id, sealed)
	return changedState(result, err, "set pending second factor")
}

// TurnOnFactor makes the pending secret the second factor. step is that of the
// code that proved it. Returns ErrState if a second factor is on or another
// secret is pending.
func (tx *Tx) TurnOnFactor(ctx context.Context, id domain.StaffID, pending []byte, step int64, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_user SET totp_secret = totp_pending, totp_pending = NULL, totp_since = $4, totp_step = $3
		WHERE id = $1 AND totp_secret IS NULL AND totp_pending = $2`, id, pending, step, now)
	return changedState(result, err, "turn on second factor")
}

// TurnOffFactor deletes the secret and the recovery codes. Returns ErrState if
// no second factor is on.
func (tx *Tx) TurnOffFactor(ctx context.Context, id domain.StaffID) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_user SET totp_secret = NULL, totp_pending = NULL, totp_since = NULL
		WHERE id = $1 AND totp_secret IS NOT NULL`, id)
	if err := changedState(result, err, "turn off second factor"); err != nil {
		return err
	}
	return tx.PutRecoveryCodes(ctx, id, nil)
}

// LockStaff lets one transaction at a time remove second factors of a staff user,
// so that two can't each remove the last but one.
func (tx *Tx) LockStaff(ctx context.Context, id domain.StaffID) error {
	var locked domain.StaffID
	err := tx.get(ctx, &locked, `SELECT id FROM staff_user WHERE id = $1 FOR NO KEY UPDATE`, id)
	return wrap(err, "lock staff user")
}

// LacksFactor reports whether the account requires a second factor of its staff
// and this user has none, or keeps the password (D141) without a code.
func (tx *Tx) LacksFactor(ctx context.Context, id domain.StaffID) (bool, error) {
	var lacks bool
	err := tx.get(ctx, &lacks, `
		SELECT a.two_step_required AND u.totp_secret IS NULL AND NOT EXISTS (SELECT FROM staff_passkey p WHERE p.staff_id = u.id)
			OR u.break_glass AND u.totp_secret IS NULL
		FROM staff_user u JOIN account a ON a.id = u.account_id WHERE u.id = $1`, id)
	return lacks, wrap(err, "check second factors")
}

// UseStep stores that the code of a step was used. Returns ErrState if this code
// or a later one was used before.
func (tx *Tx) UseStep(ctx context.Context, id domain.StaffID, step int64) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_user SET totp_step = $2 WHERE id = $1 AND totp_step < $2 AND totp_secret IS NOT NULL`, id, step)
	return changedState(result, err, "use code")
}

// PutRecoveryCodes replaces a staff user's recovery codes by those of the
// given SHA-256.
func (tx *Tx) PutRecoveryCodes(ctx context.Context, id domain.StaffID, hashes [][]byte) error {
	if _, err := tx.exec(ctx, `DELETE FROM staff_recovery_code WHERE staff_id = $1`, id); err != nil {
		return wrap(err, "delete recovery codes")
	}
	for _, hash := range hashes {
		if _, err := tx.exec(ctx, `INSERT INTO staff_recovery_code (staff_id, hash) VALUES ($1, $2)`, id, hash); err != nil {
			return wrap(err, "insert recovery code")
		}
	}
	return nil
}

// UseRecoveryCode deletes the recovery code, so that it works once. Returns
// ErrNotFound if the user has no such code.
func (tx *Tx) UseRecoveryCode(ctx context.Context, id domain.StaffID, hash []byte) error {
	result, err := tx.exec(ctx, `DELETE FROM staff_recovery_code WHERE staff_id = $1 AND hash = $2`, id, hash)
	return changedOne(result, err, "use recovery code")
}
