package db

import (
	"context"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"candor/internal/domain"
)

// A SealedColumn is a column whose values the keyring sealed: the name of their
// key stands at their beginning.
type SealedColumn struct {
	Kind   string // what operators call the values
	table  sqlText
	column sqlText
	parts  sqlText                     // what the owner is made of
	owner  func(parts []string) string // for whom a value is sealed
}

// SealedColumns are all of them. What is sealed by a session's data key isn't
// among them: that key is.
var SealedColumns = []SealedColumn{
	{"session data keys", "session_key", "sealed", "session_id::text", func(parts []string) string {
		return domain.SessionKeyOwner(domain.SessionID{UUID: uuid.MustParse(parts[0])})
	}},
	{"webhook secrets", "webhook_endpoint", "secret", "account_id::text, livemode::text", secretOwner},
	{"next webhook secrets", "webhook_endpoint", "next_secret", "account_id::text, livemode::text", secretOwner},
	{"previous webhook secrets", "webhook_endpoint", "previous_secret", "account_id::text, livemode::text", secretOwner},
	{"authenticator secrets", "staff_user", "totp_secret", "id::text", factorOwner},
	{"authenticator secrets being set up", "staff_user", "totp_pending", "id::text", factorOwner},
	{"staff requests", "staff_request", "sealed", "id::text", func(parts []string) string {
		return (&domain.StaffRequest{ID: domain.StaffRequestID{UUID: uuid.MustParse(parts[0])}}).SealOwner()
	}},
	{"company sign-in secrets", "sso_connection", "client_secret", "account_id::text", func(parts []string) string {
		return domain.SSOSecretOwner(domain.AccountID{UUID: uuid.MustParse(parts[0])})
	}},
	{"idempotent answers", "idempotency_key", "response", "account_id::text, livemode::text, path, key",
		func(parts []string) string {
			return IdempotencyKey{Scope: scopeOf(parts), Path: parts[2], Key: parts[3]}.SealOwner()
		}},
}

// Column names the column with its table.
func (c SealedColumn) Column() string { return string(c.table + "." + c.column) }

func factorOwner(parts []string) string {
	return domain.FactorOwner(domain.StaffID{UUID: uuid.MustParse(parts[0])})
}

func secretOwner(parts []string) string { return scopeOf(parts).SecretOwner() }

func scopeOf(parts []string) domain.Scope {
	return domain.Scope{AccountID: domain.AccountID{UUID: uuid.MustParse(parts[0])}, Livemode: parts[1] == "true"}
}

// keyName is the name of the key that sealed a column's value.
func (c SealedColumn) keyName() sqlText {
	return "encode(substring(" + c.column + " FROM 2 FOR get_byte(" + c.column + ", 0)), 'escape')"
}

// SealedCount is how many values of a column one key sealed.
type SealedCount struct {
	Key    string `db:"key"`
	Values int    `db:"values"`
}

// CountSealed counts a column's values by the key that sealed them.
func (q *Queries) CountSealed(ctx context.Context, c SealedColumn) ([]SealedCount, error) {
	var out []SealedCount
	err := q.all(ctx, &out, `
		SELECT `+c.keyName()+` AS key, count(*) AS values
		FROM `+c.table+` WHERE length(`+c.column+`) > 0 GROUP BY 1 ORDER BY 1`)
	return out, wrap(err, "count sealed values")
}

// OneSealed returns a value of the column that the named key sealed, or ErrNotFound.
func (q *Queries) OneSealed(ctx context.Context, c SealedColumn, key string) (SealedValue, error) {
	var row struct {
		Parts  pq.StringArray `db:"parts"`
		Sealed []byte         `db:"sealed"`
	}
	err := q.get(ctx, &row, `
		SELECT ARRAY[`+c.parts+`] AS parts, `+c.column+` AS sealed
		FROM `+c.table+` WHERE length(`+c.column+`) > 0 AND `+c.keyName()+` = $1 LIMIT 1`, key)
	if err != nil {
		return SealedValue{}, wrap(err, "get a sealed value")
	}
	return SealedValue{Owner: c.owner(row.Parts), Sealed: row.Sealed}, nil
}

// A SealedValue is one value as it is stored.
type SealedValue struct {
	place  string // of the row's version
	Owner  string // for whom it is sealed
	Sealed []byte
}

// SealedPages returns how many pages a column's table has.
func (q *Queries) SealedPages(ctx context.Context, c SealedColumn) (n int, err error) {
	err = q.get(ctx, &n, `
		SELECT pg_relation_size('`+c.table+`') / current_setting('block_size')::int`)
	return n, wrap(err, "count pages")
}

// SealedByOthers returns the values of the table's pages from first to before
// end that another key than the named one sealed. Pages, and not keys, make the
// batches: a table that is sealed already is read once and not once a batch.
func (q *Queries) SealedByOthers(ctx context.Context, c SealedColumn, key string, first, end int) ([]SealedValue, error) {
	var rows []struct {
		Place  string         `db:"place"`
		Parts  pq.StringArray `db:"parts"`
		Sealed []byte         `db:"sealed"`
	}
	err := q.all(ctx, &rows, `
		SELECT ctid::text AS place, ARRAY[`+c.parts+`] AS parts, `+c.column+` AS sealed
		FROM `+c.table+`
		WHERE ctid >= format('(%s,0)', $2::int)::tid AND ctid < format('(%s,0)', $3::int)::tid
			AND length(`+c.column+`) > 0 AND `+c.keyName()+` <> $1`,
		key, first, end)
	out := make([]SealedValue, len(rows))
	for i, r := range rows {
		out[i] = SealedValue{place: r.Place, Owner: c.owner(r.Parts), Sealed: r.Sealed}
	}
	return out, wrap(err, "list sealed values")
}

// ReplaceSealed stores a value sealed by another key, unless its row has changed
// since it was read, and reports whether it did.
func (q *Queries) ReplaceSealed(ctx context.Context, c SealedColumn, v SealedValue, sealed []byte) (bool, error) {
	result, err := q.exec(ctx, `
		UPDATE `+c.table+` SET `+c.column+` = $3 WHERE ctid = $1::tid AND `+c.column+` = $2`,
		v.place, v.Sealed, sealed)
	n, err := affected(result, err, "replace sealed value")
	return n > 0, err
}
