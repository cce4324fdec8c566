package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"candor/intake"
)

const apiRequestColumns = `id, account_id, livemode, key_id, method, route, session_id, document_id, status, error_code, replayed, duration_us, address`

// InsertAPIRequests adds lines to the log of API requests, all or none.
func (d *DB) InsertAPIRequests(ctx context.Context, lines []intake.APIRequest) error {
	err := d.InTx(ctx, func(tx *Tx) (err error) {
		stmt, err := tx.PrepareContext(ctx, "COPY api_request ("+apiRequestColumns+") FROM STDIN")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmt.Close()) }()
		for i := range lines {
			r := &lines[i]
			_, err := stmt.ExecContext(ctx, r.ID, r.AccountID, r.Livemode, r.KeyID, r.Method, r.Route, r.SessionID, r.DocumentID, r.Status,
				r.ErrorCode, r.Replayed, r.DurationUS, r.Address)
			if err != nil {
				return err
			}
		}
		_, err = stmt.ExecContext(ctx)
		return err
	})
	return wrap(err, "insert API requests")
}

// RequestReach is how many lines of the log of API requests are looked
// through for one page, where no index leads to what is asked for.
const RequestReach = 5000

// APIRequests returns up to limit of the scope's API requests that match the
// filter, newest first: those before the given one, nil for the newest. Where
// it gave up after RequestReach lines that hardly match, reached is the last
// it looked at.
func (d *DB) APIRequests(ctx context.Context, scope intake.Scope, f intake.RequestFilter, before *intake.RequestID, limit int) (out []intake.APIRequest, reached *intake.RequestID, err error) {
	c, sources, rest := apiRequestConditions(scope, f, before)
	if f.Codes != nil && len(f.Codes) == 0 {
		return nil, nil, nil
	}
	if len(rest) == 0 {
		err := d.SelectContext(ctx, &out, apiRequestSource(sources, apiRequestColumns, limit), c.args...)
		return out, nil, wrap(err, "list API requests")
	}
	known := len(c.args)
	columns, clauses := "id", []string(nil)
	for _, one := range rest {
		columns += ", " + one.column
		clauses = append(clauses, fmt.Sprintf(one.clause, one.column, c.arg(one.value)))
	}
	// What is looked at is no more than the filter needs, which an index of
	// errors has itself: lines of one error are far apart in the table.
	err = d.SelectContext(ctx, &out, fmt.Sprintf(`
		SELECT `+qualified("r", apiRequestColumns)+`
		FROM (SELECT id FROM (%s) looked WHERE %s ORDER BY id DESC LIMIT %d) found JOIN api_request r ON r.id = found.id
		WHERE r.account_id = %s AND r.livemode = %s
		ORDER BY r.id DESC`,
		apiRequestSource(sources, columns, RequestReach), strings.Join(clauses, " AND "), limit, c.arg(scope.AccountID), c.arg(scope.Livemode)), c.args...)
	if err != nil || len(out) == limit {
		return out, nil, wrap(err, "list API requests")
	}
	var last []intake.RequestID
	err = d.SelectContext(ctx, &last, fmt.Sprintf("SELECT id FROM (%s) looked ORDER BY id DESC LIMIT 1 OFFSET %d",
		apiRequestSource(sources, "id", RequestReach), RequestReach-1), c.args[:known]...)
	if len(last) > 0 {
		reached = &last[0]
	}
	return out, reached, wrap(err, "list API requests")
}

// apiRequestClause is a condition on a column, with the column and the value in
// the places of %s.
type apiRequestClause struct {
	column, clause string
	value          any
}

// apiRequestConditions are what the filter says: sources are conditions of which
// an index leads to each in the order of ids, and which make up a list
// together; rest is what is then looked at.
func apiRequestConditions(scope intake.Scope, f intake.RequestFilter, before *intake.RequestID) (c *conditions, sources []string, rest []apiRequestClause) {
	c = &conditions{}
	switch {
	case f.Key != nil && f.Codes == nil:
		// A key's lines are all of its scope, which is looked at all the same.
		c.add("key_id = %s", *f.Key)
		rest = append(rest, apiRequestClause{"account_id", "%s = %s", scope.AccountID}, apiRequestClause{"livemode", "%s = %s", scope.Livemode})
	default:
		c.add("account_id = %s", scope.AccountID)
		c.add("livemode = %s", scope.Livemode)
	}
	if before != nil {
		c.add("id < %s", *before)
	}
	if f.ID != nil {
		c.add("id = %s", *f.ID)
	}
	if f.From != nil {
		c.add("id >= %s", intake.FirstRequestID(*f.From))
	}
	if f.To != nil {
		c.add("id < %s", intake.FirstRequestID(*f.To))
	}
	sources = []string{c.where()}
	if f.Codes != nil {
		sources = nil
		for _, code := range f.Codes {
			sources = append(sources, c.where("error_code <> ''", "error_code = "+c.arg(code)))
		}
		if f.Key != nil {
			rest = append(rest, apiRequestClause{"key_id", "%s = %s", *f.Key})
		}
	}
	if f.Method != "" {
		rest = append(rest, apiRequestClause{"method", "%s = %s", f.Method})
	}
	switch {
	case f.Status == 0, f.Codes != nil:
	case f.Status < 10:
		rest = append(rest, apiRequestClause{"status", "%s / 100 = %s", f.Status})
	default:
		rest = append(rest, apiRequestClause{"status", "%s = %s", f.Status})
	}
	return c, sources, rest
}

// apiRequestSource reads the newest of the sources together. The limits are in
// the text: only so does PostgreSQL read each source in its index's order, and
// of all of them no more than what is wanted.
func apiRequestSource(sources []string, columns string, limit int) string {
	newest := fmt.Sprintf(" ORDER BY id DESC LIMIT %d", limit)
	var parts []string
	for _, where := range sources {
		parts = append(parts, "SELECT "+columns+" FROM api_request WHERE "+where+newest)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "SELECT " + columns + " FROM ((" + strings.Join(parts, ") UNION ALL (") + ")) u" + newest
}

// APIRequest returns one of the scope's API requests, or ErrNotFound.
func (d *DB) APIRequest(ctx context.Context, scope intake.Scope, id intake.RequestID) (*intake.APIRequest, error) {
	var r intake.APIRequest
	err := d.GetContext(ctx, &r, `
		SELECT `+apiRequestColumns+` FROM api_request WHERE id = $1 AND account_id = $2 AND livemode = $3`, id, scope.AccountID, scope.Livemode)
	return &r, wrap(err, "get API request")
}

// DeleteAPIRequests deletes up to limit lines of the log of API requests from
// before that moment, and returns how many: key by key, as an index leads to
// them; one by time alone would cost every request for this one use.
func (d *DB) DeleteAPIRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := d.ExecContext(ctx, `
		WITH RECURSIVE caller AS (
			(SELECT key_id FROM api_request ORDER BY key_id LIMIT 1)
			UNION ALL
			SELECT (SELECT key_id FROM api_request r WHERE r.key_id > c.key_id ORDER BY key_id LIMIT 1) FROM caller c WHERE c.key_id IS NOT NULL
		)
		DELETE FROM api_request WHERE ctid = ANY (ARRAY (
			SELECT old.line FROM caller c CROSS JOIN LATERAL (
				SELECT ctid AS line FROM api_request r WHERE r.key_id = c.key_id AND r.id < $1 ORDER BY id LIMIT $2
			) old LIMIT $2))`,
		intake.FirstRequestID(before), limit)
	return affected(result, err, "delete API requests")
}
