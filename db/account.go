package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"candor/intake"
)

// InsertAccount stores a new account.
func (tx *Tx) InsertAccount(ctx context.Context, a *intake.Account) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO account (id, name, billing_email, created_at)
		VALUES ($1, $2, $3, $4)`,
		a.ID, a.Name, a.BillingEmail, a.CreatedAt)
	return wrap(err, "insert account")
}

// Accounts lists all accounts, oldest first.
func (d *DB) Accounts(ctx context.Context) ([]intake.Account, error) {
	var out []intake.Account
	err := d.SelectContext(ctx, &out, `
		SELECT id, name, billing_email, created_at FROM account ORDER BY created_at, id`)
	return out, wrap(err, "list accounts")
}

// Account returns one account, or ErrNotFound.
func (d *DB) Account(ctx context.Context, id intake.AccountID) (*intake.Account, error) {
	var a intake.Account
	err := d.GetContext(ctx, &a, `
		SELECT id, name, billing_email, created_at FROM account WHERE id = $1`, id)
	return &a, wrap(err, "get account")
}

// InsertAPIKey stores a new key.
func (tx *Tx) InsertAPIKey(ctx context.Context, k *intake.APIKey) error {
	var permissions pq.StringArray // nil is stored as null: full access
	if k.Permissions != nil {
		permissions = pq.StringArray{}
	}
	for _, p := range k.Permissions {
		permissions = append(permissions, string(p))
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO api_key (id, account_id, livemode, name, hash, last4, permissions, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		k.ID, k.AccountID, k.Livemode, k.Name, k.Hash[:], k.Last4, permissions, k.CreatedAt, k.ExpiresAt)
	return wrap(err, "insert API key")
}

// DeleteAPIKey deletes a key of the account; it stops working at once, in
// every process. ErrNotFound where there is none.
func (d *DB) DeleteAPIKey(ctx context.Context, account intake.AccountID, id intake.KeyID) error {
	result, err := d.ExecContext(ctx, `DELETE FROM api_key WHERE id = $1 AND account_id = $2`, id, account)
	return changedOne(result, err, "delete API key")
}

// Principal returns who a key with that hash stands for at now, or
// ErrNotFound. Nothing is cached, so that a deleted key stops working at once.
func (d *DB) Principal(ctx context.Context, hash []byte, now time.Time) (intake.Principal, error) {
	var p intake.Principal
	var permissions pq.StringArray
	err := d.QueryRowContext(ctx, `
		SELECT id, name, account_id, livemode, permissions
		FROM api_key
		WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)`,
		hash, now).Scan(&p.KeyID, &p.KeyName, &p.AccountID, &p.Livemode, &permissions)
	if permissions != nil {
		p.Permissions = intake.Permissions{}
	}
	for _, permission := range permissions {
		p.Permissions = append(p.Permissions, intake.Permission(permission))
	}
	return p, wrap(err, "find API key")
}

// wrap says what failed; a missing row becomes ErrNotFound.
func wrap(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("db: %s: %w", doing, ErrNotFound)
	}
	return fmt.Errorf("db: %s: %w", doing, err)
}

// changedOne makes an update or delete of nothing ErrNotFound.
func changedOne(result sql.Result, err error, doing string) error {
	if err != nil {
		return wrap(err, doing)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return fmt.Errorf("db: %s: %w", doing, ErrNotFound)
	}
	return wrap(err, doing)
}
