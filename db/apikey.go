package db

import (
	"context"
	"net/netip"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// apiKeyRow is a key as it is stored.
type apiKeyRow struct {
	ID           domain.KeyID     `db:"id"`
	AccountID    domain.AccountID `db:"account_id"`
	Livemode     bool             `db:"livemode"`
	Name         string           `db:"name"`
	Last4        string           `db:"last4"`
	Permissions  pq.StringArray   `db:"permissions"` // null: full access
	Networks     pq.StringArray   `db:"networks"`    // null: from anywhere
	CreatedBy    string           `db:"created_by"`
	CreatedAt    time.Time        `db:"created_at"`
	ExpiresAt    *time.Time       `db:"expires_at"`
	ReplacedAt   *time.Time       `db:"replaced_at"`
	MeantExpiry  *time.Time       `db:"meant_expires_at"` // of one that was replaced
	LastUsedAt   *time.Time       `db:"last_used_at"`
	LastUsedFrom *string          `db:"last_used_from"`
	DeletedAt    *time.Time       `db:"deleted_at"`
}

const apiKeyColumns = `id, account_id, livemode, name, last4, permissions, networks, created_by, created_at, expires_at, replaced_at, meant_expires_at, last_used_at, last_used_from, deleted_at` //nolint:gosec // names of columns, no credentials

func (r *apiKeyRow) key() (domain.APIKey, error) {
	networks, err := prefixes(r.Networks)
	meant := r.ExpiresAt
	if r.ReplacedAt != nil {
		meant = r.MeantExpiry
	}
	return domain.APIKey{
		ID: r.ID, AccountID: r.AccountID, Livemode: r.Livemode, Name: r.Name, Last4: r.Last4, Permissions: permissions(r.Permissions),
		Networks:  networks,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, ReplacedAt: r.ReplacedAt, MeantExpiry: meant,
		LastUsedAt: r.LastUsedAt, LastUsedFrom: r.LastUsedFrom,
		DeletedAt: r.DeletedAt,
	}, err
}

func permissions(stored pq.StringArray) domain.Permissions {
	if stored == nil {
		return nil
	}
	out := domain.Permissions{}
	for _, p := range stored {
		out = append(out, domain.Permission(p))
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
func (tx *Tx) InsertAPIKey(ctx context.Context, k *domain.APIKey) error {
	granted, networks := grantedColumns(k)
	_, err := tx.exec(ctx, `
		INSERT INTO api_key (id, account_id, livemode, name, hash, last4, permissions, networks, created_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		k.ID, k.AccountID, k.Livemode, k.Name, k.Hash[:], k.Last4, granted, networks, k.CreatedBy, k.CreatedAt, k.ExpiresAt)
	return wrap(err, "insert API key")
}

// grantedColumns are a key's permissions and networks as they are stored: null for all.
func grantedColumns(k *domain.APIKey) (granted, networks pq.StringArray) {
	if k.Permissions != nil {
		granted = pq.StringArray{}
	}
	for _, p := range k.Permissions {
		granted = append(granted, string(p))
	}
	for _, n := range k.Networks {
		networks = append(networks, n.String())
	}
	return granted, networks
}

// APIKeys lists the scope's keys, those that have expired too, newest first;
// with deletedToo also the deleted ones that the log of requests tells of.
func (q *Queries) APIKeys(ctx context.Context, scope domain.Scope, deletedToo bool) ([]domain.APIKey, error) {
	var rows []apiKeyRow
	err := q.all(ctx, &rows, `
		SELECT `+apiKeyColumns+` FROM api_key
		WHERE account_id = $1 AND livemode = $2 AND (deleted_at IS NULL OR $3)
		ORDER BY created_at DESC, id DESC`, scope.AccountID, scope.Livemode, deletedToo)
	if err != nil {
		return nil, wrap(err, "list API keys")
	}
	out := make([]domain.APIKey, len(rows))
	for i := range rows {
		if out[i], err = rows[i].key(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CountAPIKeys returns how many keys the scope has, those that have expired too.
func (tx *Tx) CountAPIKeys(ctx context.Context, scope domain.Scope) (n int, err error) {
	err = tx.get(ctx, &n, `SELECT count(*) FROM api_key WHERE account_id = $1 AND livemode = $2 AND deleted_at IS NULL`,
		scope.AccountID, scope.Livemode)
	return n, wrap(err, "count API keys")
}

// AnyAPIKey reports whether the scope has a key, or had one lately.
func (q *Queries) AnyAPIKey(ctx context.Context, scope domain.Scope) (found bool, err error) {
	err = q.get(ctx, &found, `SELECT EXISTS (SELECT 1 FROM api_key WHERE account_id = $1 AND livemode = $2)`,
		scope.AccountID, scope.Livemode)
	return found, wrap(err, "look for an API key")
}

// APIKey returns one of the scope's keys, locked for this transaction, or
// ErrNotFound.
func (tx *Tx) APIKey(ctx context.Context, scope domain.Scope, id domain.KeyID) (*domain.APIKey, error) {
	var row apiKeyRow
	err := tx.get(ctx, &row, `
		SELECT `+apiKeyColumns+` FROM api_key WHERE id = $1 AND account_id = $2 AND livemode = $3 AND deleted_at IS NULL FOR UPDATE`, id, scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, wrap(err, "get API key")
	}
	k, err := row.key()
	return &k, err
}

// UpdateAPIKey stores a key's name, permissions, networks and end.
func (tx *Tx) UpdateAPIKey(ctx context.Context, k *domain.APIKey) error {
	granted, networks := grantedColumns(k)
	result, err := tx.exec(ctx, `
		UPDATE api_key SET name = $2, permissions = $3, networks = $4, expires_at = $5 WHERE id = $1`,
		k.ID, k.Name, granted, networks, k.ExpiresAt)
	return changedOne(result, err, "update API key")
}

// ReplaceAPIKey has a key that another was made for, at now, end at that time.
func (tx *Tx) ReplaceAPIKey(ctx context.Context, id domain.KeyID, now, end time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE api_key SET expires_at = $3, replaced_at = $2, meant_expires_at = CASE WHEN replaced_at IS NULL THEN expires_at
			ELSE meant_expires_at END
		WHERE id = $1`, id, now, end)
	return changedOne(result, err, "replace API key")
}

// DeleteAPIKey deletes a key; it stops working at once, in every process. What
// is left of it tells whose the calls with it are.
func (tx *Tx) DeleteAPIKey(ctx context.Context, id domain.KeyID, at time.Time) error {
	// It expires, too, for processes of a release that knows no deleted_at.
	result, err := tx.exec(ctx, `
		UPDATE api_key SET deleted_at = $2, expires_at = least(expires_at, $2) WHERE id = $1 AND deleted_at IS NULL`, id, at)
	return changedOne(result, err, "delete API key")
}

// ForgetAPIKeys removes up to limit keys that were deleted before that moment
// and that no line of the log of requests is of, and returns how many.
func (q *Queries) ForgetAPIKeys(ctx context.Context, deletedBefore time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM api_key WHERE id IN (
			SELECT id FROM api_key k
			WHERE deleted_at < $1 AND NOT EXISTS (SELECT 1 FROM api_request r WHERE r.key_id = k.id)
			LIMIT $2)`, deletedBefore, limit)
	return affected(result, err, "forget API keys")
}

// UseAPIKey notes that a key was used then and from where.
func (q *Queries) UseAPIKey(ctx context.Context, id domain.KeyID, at time.Time, from string) error {
	_, err := q.exec(ctx, `
		UPDATE api_key SET last_used_at = $2, last_used_from = $3 WHERE id = $1 AND (last_used_at IS NULL
			OR last_used_at < $2)`, id, at, from)
	return wrap(err, "note the use of an API key")
}

// A FoundKey is a key as its hash was found.
type FoundKey struct {
	domain.Principal
	Networks []netip.Prefix // from which it may be used; nil: from anywhere
	Ended    bool           // it has expired, or was deleted
}

// keyColumns are those of a keyRow, from api_key k.
const keyColumns = `k.id AS key_id, k.name AS key_name, k.permissions, k.networks, k.expires_at AS key_expires_at, k.deleted_at`

// keyRow is keyColumns as they are read, in the answer to a question.
type keyRow struct {
	Place       int            `db:"place"` // of the question, from 1
	KeyID       domain.KeyID   `db:"key_id"`
	KeyName     string         `db:"key_name"`
	Permissions pq.StringArray `db:"permissions"`
	Networks    pq.StringArray `db:"networks"`
	ExpiresAt   *time.Time     `db:"key_expires_at"`
	DeletedAt   *time.Time     `db:"deleted_at"`
}

func (r *keyRow) place() int { return r.Place }

// inPlaces puts each row at the place of its question, of n.
func inPlaces[R interface{ place() int }](rows []R, n int) []R {
	answers := make([]R, n)
	for _, row := range rows {
		answers[row.place()-1] = row
	}
	return answers
}

func (r *keyRow) found(scope domain.Scope, now time.Time) (k FoundKey, err error) {
	k.Principal = domain.Principal{Scope: scope, KeyID: r.KeyID, KeyName: r.KeyName, Permissions: permissions(r.Permissions)}
	k.Ended = r.DeletedAt != nil || r.ExpiresAt != nil && !r.ExpiresAt.After(now)
	k.Networks, err = prefixes(r.Networks)
	return k, err
}

// Principal returns who a key with that hash stands for at now, or ErrNotFound, with those
// that are asked for at the same time. Nothing is cached, so that a deleted key stops
// working at once.
func (d *DB) Principal(ctx context.Context, hash []byte, now time.Time) (FoundKey, error) {
	r, err := share(ctx, d.batches.principals, hash)
	if err != nil {
		return FoundKey{}, wrap(err, "find API key")
	}
	return r.found(domain.Scope{AccountID: r.AccountID, Livemode: r.Livemode}, now)
}

type principalRow struct {
	keyRow
	AccountID domain.AccountID `db:"account_id"`
	Livemode  bool             `db:"livemode"`
}

func (q *Queries) principals(ctx context.Context, hashes [][]byte) ([]*principalRow, error) {
	rows := make([]*principalRow, 0, len(hashes))
	err := q.all(ctx, &rows, `
		SELECT place, found.*
		FROM unnest((SELECT $1::bytea[])) WITH ORDINALITY AS asked (hash, place)
			CROSS JOIN LATERAL (SELECT `+keyColumns+`, k.account_id, k.livemode FROM api_key k WHERE k.hash = asked.hash LIMIT 1) found`, pq.ByteaArray(hashes))
	return inPlaces(rows, len(hashes)), err
}

// PrincipalAndSession is Principal and Session in one statement, which also answers those
// who ask at the same time. ErrNotFound says that one of them isn't there.
func (d *DB) PrincipalAndSession(ctx context.Context, hash []byte, now time.Time, id domain.SessionID) (FoundKey,
	*domain.Session, error) {
	r, err := share(ctx, d.batches.keysAndSessions, keyAndSession{hash, id})
	if err != nil {
		return FoundKey{}, nil, wrap(err, "find API key and session")
	}
	k, err := r.found(r.Session.Scope(), now)
	return k, &r.Session, err
}

// keyAndSession asks for the key of a hash and a session of its account and mode.
type keyAndSession struct {
	hash []byte
	id   domain.SessionID
}

type keyAndSessionRow struct {
	keyRow
	domain.Session
}

// selectKeysAndSessions is put together once: for each request it would take 5 % of its time.
// The arrays stand in statements of their own, so that their lengths aren't known to a
// plan: else PostgreSQL would plan each statement again. LATERAL keeps both look-ups
// by their unique index, also in a plan that was made while there were few sessions.
var selectKeysAndSessions = `
	SELECT place, found.*
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[])) WITH ORDINALITY AS asked (hash, id, place)
		CROSS JOIN LATERAL (
			SELECT ` + keyColumns + `, ` + qualified("s", sessionColumns) + `
			FROM api_key k JOIN session s ON s.id = asked.id AND s.account_id = k.account_id AND s.livemode = k.livemode
			WHERE k.hash = asked.hash
			LIMIT 1
		) found`

func (q *Queries) keysAndSessions(ctx context.Context, asked []keyAndSession) ([]*keyAndSessionRow, error) {
	hashes, ids := make(pq.ByteaArray, len(asked)), make(pq.StringArray, len(asked))
	for i, one := range asked {
		hashes[i], ids[i] = one.hash, one.id.UUID.String()
	}
	rows := make([]*keyAndSessionRow, 0, len(asked)) // no copies, and no one keeps those of others
	err := q.all(ctx, &rows, selectKeysAndSessions, hashes, ids)
	return inPlaces(rows, len(asked)), err
}
