package db

import (
	"context"
	"errors"
	"time"

	"candor/internal/domain"
)

const staffColumns = `id, account_id, email, name, role, may_download, created_at, must_change_password`

// ErrEmailTaken says that a staff user with that address exists.
var ErrEmailTaken = errors.New("a staff user with this email address exists already")

// InsertStaff stores a new staff user with the Argon2id hash of the password,
// "" for none yet, or returns ErrEmailTaken.
func (tx *Tx) InsertStaff(ctx context.Context, s *domain.Staff, passwordHash string) error {
	_, err := tx.exec(ctx, `
		INSERT INTO staff_user (`+staffColumns+`, password_hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9, ''))`,
		s.ID, s.AccountID, s.Email, s.Name, s.Role, s.MayDownload, s.CreatedAt, s.MustChangePassword, passwordHash)
	if ConstraintViolated(err, "staff_user_email_key") {
		return ErrEmailTaken
	}
	return wrap(err, "insert staff user")
}

// StaffPassword is a staff user with the hash of the password.
type StaffPassword struct {
	domain.Staff
	Hash    string `db:"password_hash"` // Argon2id, PHC string; "" for none yet
	TwoStep bool   `db:"two_step"`      // a code is asked for after the password
	// NoPassword says that the account lets the user in only by its company (D142).
	NoPassword bool `db:"no_password"`
	// Joined says that the company's provider knows the user.
	Joined bool `db:"joined"`
}

// OnlyByCompany reports whether the user can have no password or passkey: the account signs in
// only with its company, or the company's provider brought the user, who never had a password.
func (s *StaffPassword) OnlyByCompany() bool { return s.NoPassword || s.Joined && s.Hash == "" }

const staffPasswordQuery = `
	SELECT ` + staffColumns + `, coalesce(password_hash, '') AS password_hash, totp_secret IS NOT NULL AS two_step,
		NOT (break_glass AND totp_secret IS NOT NULL)
			AND EXISTS (SELECT FROM sso_connection c WHERE c.account_id = staff_user.account_id AND c.only_sso) AS no_password,
		EXISTS (SELECT FROM sso_identity i WHERE i.staff_id = staff_user.id) AS joined
	FROM staff_user`

// StaffByEmail returns the staff user of that address, in any case, or
// ErrNotFound.
func (q *Queries) StaffByEmail(ctx context.Context, email string) (*StaffPassword, error) {
	var s StaffPassword
	err := q.get(ctx, &s, staffPasswordQuery+` WHERE lower(email) = lower($1)`, email)
	return &s, wrap(err, "find staff user by email address")
}

// StaffPassword returns a staff user with the hash of the password, or
// ErrNotFound.
func (q *Queries) StaffPassword(ctx context.Context, id domain.StaffID) (*StaffPassword, error) {
	var s StaffPassword
	err := q.get(ctx, &s, staffPasswordQuery+` WHERE id = $1`, id)
	return &s, wrap(err, "get staff user")
}

// HoldStaffPassword is StaffPassword that stays so until the transaction ends.
func (tx *Tx) HoldStaffPassword(ctx context.Context, id domain.StaffID) (*StaffPassword, error) {
	var s StaffPassword
	err := tx.get(ctx, &s, staffPasswordQuery+` WHERE id = $1 FOR SHARE`, id)
	return &s, wrap(err, "hold staff user")
}

// SetPasswordHash stores the password that a staff user chose.
func (tx *Tx) SetPasswordHash(ctx context.Context, id domain.StaffID, hash string) error {
	result, err := tx.exec(ctx, `UPDATE staff_user SET password_hash = $2, must_change_password = false WHERE id = $1`, id, hash)
	return changedOne(result, err, "set staff password")
}

// NoteKnownBrowser notes that a browser of the user is known from now on, and
// reports whether it is the first one.
func (tx *Tx) NoteKnownBrowser(ctx context.Context, id domain.StaffID, now time.Time) (first bool, err error) {
	result, err := tx.exec(ctx, `UPDATE staff_user SET known_browser_since = $2 WHERE id = $1 AND known_browser_since IS NULL`,
		id, now)
	n, err := affected(result, err, "note known browser")
	return n > 0, err
}

// SetStaffName stores how a staff user is called.
func (tx *Tx) SetStaffName(ctx context.Context, id domain.StaffID, name string) error {
	result, err := tx.exec(ctx, `UPDATE staff_user SET name = $2 WHERE id = $1`, id, name)
	return changedOne(result, err, "set staff name")
}

// DropSecondFactors removes a staff user's authenticator, recovery codes and
// passkeys, and signs them out everywhere.
func (tx *Tx) DropSecondFactors(ctx context.Context, id domain.StaffID) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_user SET totp_secret = NULL, totp_pending = NULL, totp_since = NULL, totp_step = 0 WHERE id = $1`, id)
	if err := changedOne(result, err, "drop authenticator"); err != nil {
		return err
	}
	// A statement of its own, to see who signed in while this one waited.
	_, err = tx.exec(ctx, `
		WITH codes AS (DELETE FROM staff_recovery_code WHERE staff_id = $1),
			passkeys AS (DELETE FROM staff_passkey WHERE staff_id = $1)
		DELETE FROM staff_session WHERE staff_id = $1`, id)
	return wrap(err, "drop second factors")
}

// Team lists an account's staff users, by name.
func (q *Queries) Team(ctx context.Context, account domain.AccountID) ([]domain.TeamMember, error) {
	var out []domain.TeamMember
	err := q.all(ctx, &out, `
		SELECT `+staffColumns+`, totp_secret IS NOT NULL AS two_step,
			EXISTS (SELECT FROM staff_passkey WHERE staff_id = staff_user.id) AS has_passkey,
			greatest(seen_at,
				(SELECT max(s.seen_at) FROM staff_session s WHERE s.staff_id = staff_user.id AND s.stage = 'full')) AS seen_at
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

// SetRole stores what a staff user may do. An owner who keeps the password where only the company
// signs in (D142) keeps it no more with another role, and the sessions that it opened end.
func (tx *Tx) SetRole(ctx context.Context, id domain.StaffID, role domain.Role, mayDownload bool) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_user SET role = $2, may_download = $3, break_glass = break_glass AND $4 WHERE id = $1`,
		id, role, mayDownload, role == domain.RoleOwner)
	if err := changedOne(result, err, "set role"); err != nil || role == domain.RoleOwner {
		return err
	}
	_, err = tx.exec(ctx, `
		DELETE FROM staff_session s USING sso_connection c, staff_user u
		WHERE u.id = $1 AND s.staff_id = u.id AND s.sso_account_id IS NULL AND c.account_id = u.account_id AND c.only_sso`, id)
	return wrap(err, "end sessions of who kept the password")
}

// DeleteStaff deletes a staff user with all sessions: they are out at once.
func (tx *Tx) DeleteStaff(ctx context.Context, id domain.StaffID) error {
	result, err := tx.exec(ctx, `DELETE FROM staff_user WHERE id = $1`, id)
	return changedOne(result, err, "delete staff user")
}

// StaffViews lists a staff user's views of a mode, by name.
func (q *Queries) StaffViews(ctx context.Context, staff domain.StaffID, livemode bool) ([]domain.StaffView, error) {
	var out []domain.StaffView
	err := q.all(ctx, &out, `SELECT name, query FROM staff_view WHERE staff_id = $1 AND livemode = $2 ORDER BY folded`,
		staff, livemode)
	return out, wrap(err, "list views")
}

// SaveStaffView stores a staff user's view in place of one of that name, and returns how
// many the user has then in the mode. Others who save for the user wait for the transaction.
func (tx *Tx) SaveStaffView(ctx context.Context, staff domain.StaffID, livemode bool, v domain.StaffView) (n int, err error) {
	if _, err := tx.exec(ctx, `SELECT FROM staff_user WHERE id = $1 FOR NO KEY UPDATE`, staff); err != nil {
		return 0, wrap(err, "lock staff user")
	}
	_, err = tx.exec(ctx, `
		INSERT INTO staff_view (staff_id, livemode, name, query) VALUES ($1, $2, $3, $4)
		ON CONFLICT (staff_id, livemode, folded) DO UPDATE SET name = excluded.name, query = excluded.query`,
		staff, livemode, v.Name, v.Query)
	if err == nil {
		err = tx.get(ctx, &n, `SELECT count(*) FROM staff_view WHERE staff_id = $1 AND livemode = $2`, staff, livemode)
	}
	return n, wrap(err, "save view")
}

// DeleteStaffView deletes a staff user's view of that name, if it is there.
func (q *Queries) DeleteStaffView(ctx context.Context, staff domain.StaffID, livemode bool, name string) error {
	_, err := q.exec(ctx, `DELETE FROM staff_view WHERE staff_id = $1 AND livemode = $2 AND folded = lower($3)`,
		staff, livemode, name)
	return wrap(err, "delete view")
}
