package db

import (
	"context"
	"net/netip"
	"time"

	"github.com/lib/pq"

	"candor/intake"
)

// apiKeyRow is a key as it is stored.
type apiKeyRow struct {
	ID           intake.KeyID     `db:"id"`
	AccountID    intake.AccountID `db:"account_id"`
	Livemode     bool             `db:"livemode"`
	Name         string           `db:"name"`
	Last4        string           `db:"last4"`
	Permissions  pq.StringArray   `db:"permissions"` // null: full access
	Networks     pq.StringArray   `db:"networks"`    // null: from anywhere
	CreatedBy    string           `db:"created_by"`
	CreatedAt    time.Time        `db:"created_at"`
	ExpiresAt    *time.Time       `db:"expires_at"`
	LastUsedAt   *time.Time       `db:"last_used_at"`
	LastUsedFrom *string          `db:"last_used_from"`
}

const apiKeyColumns = `id, account_id, livemode, name, last4, permissions, networks, created_by, created_at, expires_at, last_used_at, last_used_from` //nolint:gosec // names of columns, no credentials

func (r *apiKeyRow) key() (intake.APIKey, error) {
	networks, err := prefixes(r.Networks)
	return intake.APIKey{
		ID: r.ID, AccountID: r.AccountID, Livemode: r.Livemode, Name: r.Name, Last4: r.Last4, Permissions: permissions(r.Permissions), Networks: networks,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt, LastUsedFrom: r.LastUsedFrom,
	}, err
}

func permissions(stored pq.StringArray) intake.Permissions {
	if stored == nil {
		return nil
	}
	out := intake.Permissions{}
	for _, p := range stored {
		out = append(out, intake.Permission(p))
	}
	return out
}

func prefixes(stored pq.StringArray) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range stored {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, wrap(err, "read an API key's networks")
		}
		out = append(out, p)
	}
	return out, nil
}

// InsertAPIKey stores a new key.
func (tx *Tx) InsertAPIKey(ctx context.Context, k *intake.APIKey) error {
	var granted, networks pq.StringArray // nil is stored as null
	if k.Permissions != nil {
		granted = pq.StringArray{}
	}
	for _, p := range k.Permissions {
		granted = append(granted, string(p))
	}
	for _, n := range k.Networks {
		networks = append(networks, n.String())
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO api_key (id, account_id, livemode, name, hash, last4, permissions, networks, created_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		k.ID, k.AccountID, k.Livemode, k.Name, k.Hash[:], k.Last4, granted, networks, k.CreatedBy, k.CreatedAt, k.ExpiresAt)
	return wrap(err, "insert API key")
}

// APIKeys lists the scope's keys, those that have expired too, newest first.
func (d *DB) APIKeys(ctx context.Context, scope intake.Scope) ([]intake.APIKey, error) {
	var rows []apiKeyRow
	err := d.SelectContext(ctx, &rows, `
		SELECT `+apiKeyColumns+` FROM api_key WHERE account_id = $1 AND livemode = $2 ORDER BY created_at DESC, id DESC`, scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, wrap(err, "list API keys")
	}
	out := make([]intake.APIKey, len(rows))
	for i := range rows {
		if out[i], err = rows[i].key(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// APIKey returns one of the scope's keys, locked for this transaction, or
// ErrNotFound.
func (tx *Tx) APIKey(ctx context.Context, scope intake.Scope, id intake.KeyID) (*intake.APIKey, error) {
	var row apiKeyRow
	err := tx.GetContext(ctx, &row, `
		SELECT `+apiKeyColumns+` FROM api_key WHERE id = $1 AND account_id = $2 AND livemode = $3 FOR UPDATE`, id, scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, wrap(err, "get API key")
	}
	k, err := row.key()
	return &k, err
}

// RenameAPIKey gives a key another name.
func (tx *Tx) RenameAPIKey(ctx context.Context, id intake.KeyID, name string) error {
	result, err := tx.ExecContext(ctx, `UPDATE api_key SET name = $2 WHERE id = $1`, id, name)
	return changedOne(result, err, "rename API key")
}

// ExpireAPIKey has a key end at that time.
func (tx *Tx) ExpireAPIKey(ctx context.Context, id intake.KeyID, at time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE api_key SET expires_at = $2 WHERE id = $1`, id, at)
	return changedOne(result, err, "expire API key")
}

// DeleteAPIKey deletes a key; it stops working at once, in every process.
func (tx *Tx) DeleteAPIKey(ctx context.Context, id intake.KeyID) error {
	result, err := tx.ExecContext(ctx, `DELETE FROM api_key WHERE id = $1`, id)
	return changedOne(result, err, "delete API key")
}

// UseAPIKey notes that a key was used then and from where.
func (d *DB) UseAPIKey(ctx context.Context, id intake.KeyID, at time.Time, from string) error {
	_, err := d.ExecContext(ctx, `
		UPDATE api_key SET last_used_at = $2, last_used_from = $3 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, at, from)
	return wrap(err, "note the use of an API key")
}

// Principal returns who a key with that hash stands for at now, and from which
// networks it may be used, or ErrNotFound. Nothing is cached, so that a deleted
// key stops working at once.
func (d *DB) Principal(ctx context.Context, hash []byte, now time.Time) (p intake.Principal, networks []netip.Prefix, err error) {
	var granted, allowed pq.StringArray
	err = d.QueryRowContext(ctx, `
		SELECT id, name, account_id, livemode, permissions, networks
		FROM api_key
		WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)`,
		hash, now).Scan(&p.KeyID, &p.KeyName, &p.AccountID, &p.Livemode, &granted, &allowed)
	if err != nil {
		return p, nil, wrap(err, "find API key")
	}
	p.Permissions = permissions(granted)
	networks, err = prefixes(allowed)
	return p, networks, err
}
