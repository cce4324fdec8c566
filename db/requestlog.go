package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const apiRequestColumns = `id, account_id, livemode, key_id, method, route, session_id, document_id, status, error_code, replayed, ignored, refused, duration_us, address`

// InsertAPIRequests adds lines to the log of API requests, all or none.
func (d *DB) InsertAPIRequests(ctx context.Context, lines []domain.APIRequest) error {
	err := d.InTx(ctx, func(tx *Tx) error {
		for i := range lines {
			tx.Announce(domain.Scope{AccountID: lines[i].AccountID, Livemode: lines[i].Livemode}, domain.RequestLogged, nil)
		}
		if err := tx.countKeyNetworks(ctx, lines); err != nil {
			return err
		}
		return tx.copyRows(ctx, "COPY api_request ("+apiRequestColumns+") FROM STDIN", len(lines), func(i int) []any {
			r := &lines[i]
			return []any{r.ID, r.AccountID, r.Livemode, r.KeyID, r.Method, r.Route, r.SessionID, r.DocumentID, r.Status,
				r.ErrorCode, r.Replayed, r.Ignored, r.Refused, r.DurationUS, r.Address}
		})
	})
	return wrap(err, "insert API requests")
}

// requestReach is RequestReach as text. As an argument it would have PostgreSQL
// sort each source instead of reading it in its index's order.
const requestReach sqlText = "5000"

// APIRequests returns up to limit of the scope's API requests that match the
// filter, newest first: those before the given one, nil for the newest. Where
// it gave up after RequestReach lines that hardly match, reached is the last
// it looked at.
func (q *Queries) APIRequests(ctx context.Context, scope domain.Scope, f domain.RequestFilter, before *domain.RequestID,
	limit int) (out []domain.APIRequest, reached *domain.RequestID, err error) {
	if f.Codes != nil && len(f.Codes) == 0 {
		return nil, nil, nil
	}
	l, rest := newRequestList(scope, &f, before)
	known := len(l.args)
	if len(rest) == 0 {
		err := q.all(ctx, &out, "SELECT * FROM ("+l.looked(apiRequestColumns)+") looked ORDER BY id DESC LIMIT "+l.arg(limit),
			l.args...)
		return out, nil, wrap(err, "list API requests")
	}
	columns, clauses := sqlText("id"), []sqlText(nil)
	for _, one := range rest {
		columns += ", " + one.column
		clauses = append(clauses, one.compare+" "+l.arg(one.value))
	}
	// What is looked at is no more than the filter needs, which an index of
	// errors has itself: lines of one error are far apart in the table.
	err = q.all(ctx, &out, `
		SELECT `+qualified("r", apiRequestColumns)+`
		FROM (
			SELECT id FROM (`+l.looked(columns)+`) looked
			WHERE `+joined(clauses, " AND ")+` ORDER BY id DESC LIMIT `+l.arg(limit)+`) found
			JOIN api_request r ON r.id = found.id
		WHERE r.account_id = `+l.arg(scope.AccountID)+` AND r.livemode = `+l.arg(scope.Livemode)+`
		ORDER BY r.id DESC`, l.args...)
	if err != nil || len(out) == limit {
		return out, nil, wrap(err, "list API requests")
	}
	var last []domain.RequestID
	l.args = l.args[:known]
	err = q.all(ctx, &last, "SELECT id FROM ("+l.looked("id")+") looked ORDER BY id DESC LIMIT 1 OFFSET "+
		l.arg(domain.RequestReach-1), l.args...)
	if len(last) > 0 {
		reached = &last[0]
	}
	return out, reached, wrap(err, "list API requests")
}

// requestsCharted is RequestsCharted as text.
const requestsCharted sqlText = "2000"

// RequestOutcomes returns the newest RequestsCharted of the scope's API requests that match
// the filter, newest first, and whether those are all. Where no index leads to them, it
// returns those among the newest RequestReach.
func (q *Queries) RequestOutcomes(ctx context.Context, scope domain.Scope, f domain.RequestFilter) (
	out []domain.RequestOutcome, all bool, err error) {
	if f.Codes != nil && len(f.Codes) == 0 {
		return nil, true, nil
	}
	l, rest := newRequestList(scope, &f, nil)
	clauses := []sqlText{"true"}
	reach, most := requestsCharted, domain.RequestsCharted
	if len(rest) > 0 {
		reach, most = requestReach, domain.RequestReach
	}
	l.columns = "id, status, duration_us"
	for _, one := range rest {
		if one.column != "status" {
			l.columns += ", " + one.column
		}
		clauses = append(clauses, one.compare+" "+l.arg(one.value))
	}
	var rows []struct {
		domain.RequestOutcome
		Looked int `db:"looked"`
	}
	err = q.all(ctx, &rows, `
		WITH looked AS (`+l.first(reach)+`)
		SELECT id, status, duration_us, (SELECT count(*) FROM looked) AS looked FROM looked
			WHERE `+joined(clauses, " AND ")+` ORDER BY id DESC`, l.args...)
	for _, r := range rows {
		out, all = append(out, r.RequestOutcome), r.Looked < most
	}
	return out, all, wrap(err, "sum up API requests")
}

// looked returns the text that reads the newest lines of all sources, at most
// RequestReach of them.
func (l *list) looked(columns sqlText) sqlText {
	l.columns = columns
	return l.first(requestReach)
}

// apiRequestClause is a condition on a column, as in
// {"status", "status / 100 =", 4}.
type apiRequestClause struct {
	column, compare sqlText
	value           any
}

// newRequestList returns a list whose sources an index leads to in the order of
// ids, and the conditions under which its lines are then shown.
func newRequestList(scope domain.Scope, f *domain.RequestFilter, before *domain.RequestID) (l *list, rest []apiRequestClause) {
	l = &list{order: "id DESC"}
	if f.Key != nil && f.Codes == nil {
		// All lines of a key are of its scope. The scope is checked nevertheless.
		l.add("key_id =", *f.Key)
		rest = append(rest, apiRequestClause{"account_id", "account_id =", scope.AccountID}, apiRequestClause{"livemode", "livemode =",
			scope.Livemode})
	} else {
		l.scope(scope)
	}
	if before != nil {
		l.below("id", *before)
	}
	filter(&l.conditions, domain.RequestFilters, f)
	if f.Codes == nil {
		l.from("api_request")
	}
	for _, code := range f.Codes {
		l.from("api_request", "error_code = "+literal(code))
	}
	if f.Codes != nil && f.Key != nil {
		rest = append(rest, apiRequestClause{"key_id", "key_id =", *f.Key})
	}
	for i := range domain.RequestFilters {
		one := &domain.RequestFilters[i]
		if one.Column == "" || one.Index != "" {
			continue
		}
		if value := one.Value(f); value != nil {
			column := identifier(one.Column)
			rest = append(rest, apiRequestClause{column, comparisons[one.Compare](column, ""), value})
		}
	}
	switch {
	case f.Status == 0, f.Codes != nil:
	case f.Status < 10:
		rest = append(rest, apiRequestClause{"status", "status / 100 =", f.Status})
	default:
		rest = append(rest, apiRequestClause{"status", "status =", f.Status})
	}
	return l, rest
}

// APIRequest returns one of the scope's API requests, or ErrNotFound.
func (q *Queries) APIRequest(ctx context.Context, scope domain.Scope, id domain.RequestID) (*domain.APIRequest, error) {
	var r domain.APIRequest
	err := q.get(ctx, &r, `
		SELECT `+apiRequestColumns+` FROM api_request WHERE id = $1 AND account_id = $2 AND livemode = $3`,
		id, scope.AccountID, scope.Livemode)
	return &r, wrap(err, "get API request")
}

// DeleteAPIRequests deletes up to limit lines of the log of API requests from
// before that moment, and returns how many: key by key, as an index leads to
// them; one by time alone would cost every request for this one use.
func (q *Queries) DeleteAPIRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		WITH RECURSIVE caller AS (
			(SELECT key_id FROM api_request ORDER BY key_id LIMIT 1)
			UNION ALL
			SELECT (SELECT key_id FROM api_request r WHERE r.key_id > c.key_id ORDER BY key_id LIMIT 1) FROM caller c
				WHERE c.key_id IS NOT NULL
		)
		DELETE FROM api_request WHERE ctid = ANY (ARRAY (
			SELECT old.line FROM caller c CROSS JOIN LATERAL (
				SELECT ctid AS line FROM api_request r WHERE r.key_id = c.key_id AND r.id < $1 ORDER BY id LIMIT $2
			) old LIMIT $2))`,
		domain.FirstRequestID(before), limit)
	return affected(result, err, "delete API requests")
}

// calledReach is how many of the latest requests CalledRoutes looks at, as text: with an
// argument PostgreSQL may read all.
const calledReach sqlText = "500"

// CalledRoutes returns the routes of the scope's latest successful API requests, each
// once.
func (q *Queries) CalledRoutes(ctx context.Context, scope domain.Scope) ([]string, error) {
	var out []string
	err := q.all(ctx, &out, `
		SELECT DISTINCT method || ' ' || route FROM (
			SELECT method, route, status FROM api_request WHERE account_id = $1 AND livemode = $2 ORDER BY id DESC
				LIMIT `+calledReach+`) latest
		WHERE status < 300`, scope.AccountID, scope.Livemode)
	return out, wrap(err, "list called routes")
}
