package db

import (
	"context"
	"strings"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// Sessions returns a page of the scope's sessions, newest first, and how many
// match the filter, both of one moment (D10). The total is read from the counters kept by day, so
// that neither it nor a page near the start grows with the account's history.
func (d *DB) Sessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, page domain.Page,
	now time.Time) (sessions []domain.Session, total int, err error) {
	err = d.inSnapshot(ctx, func(q *Queries) error {
		sessions, total, err = q.sessionsPage(ctx, scope, f, page, now)
		return err
	})
	return sessions, total, err
}

func (q *Queries) sessionsPage(ctx context.Context, scope domain.Scope, f domain.SessionFilter, page domain.Page,
	now time.Time) ([]domain.Session, int, error) {
	total, err := q.CountSessions(ctx, scope, f, now, 0)
	if err != nil || page.Number-1 > total/page.Size {
		return nil, total, err // past the end, where the offset need not even fit a number
	}
	l := newSessionList(scope, &f)
	l.fromSessions(f, now)
	offset := (page.Number - 1) * page.Size
	query := "SELECT * FROM (" + l.first(l.arg(offset+page.Size)) + ") s ORDER BY " + l.order + " LIMIT " + l.arg(page.Size) +
		" OFFSET " + l.arg(offset)
	var out []domain.Session
	if err := q.all(ctx, &out, query, l.args...); err != nil {
		return nil, 0, wrap(err, "list sessions")
	}
	for i := range out {
		out[i].Status = out[i].StatusAt(now)
	}
	return out, total, nil
}

// SessionsBetween returns up to limit of the scope's sessions with ids from first
// to last.
func (q *Queries) SessionsBetween(ctx context.Context, scope domain.Scope, first, last domain.SessionID,
	limit int) ([]domain.SessionID, error) {
	var out []domain.SessionID
	err := q.all(ctx, &out, `
		SELECT id FROM session WHERE id BETWEEN $1 AND $2 AND account_id = $3 AND livemode = $4
			LIMIT $5`, first, last, scope.AccountID, scope.Livemode, limit)
	return out, wrap(err, "find sessions by reference")
}

// SessionsOfPhone returns up to limit of the scope's signed sessions in which a telephone
// number has one of the hashes, newest first.
func (q *Queries) SessionsOfPhone(ctx context.Context, scope domain.Scope, hashes []string, limit int, now time.Time) (
	[]domain.Session, error) {
	var out []domain.Session
	err := q.all(ctx, &out, `
		SELECT `+sessionColumns+` FROM session
		WHERE id IN (SELECT session_id FROM section WHERE phone_hash = ANY ($1)) AND account_id = $2 AND livemode = $3
			AND status = 'completed'
		ORDER BY id DESC LIMIT $4`,
		pq.StringArray(hashes), scope.AccountID, scope.Livemode, limit)
	for i := range out {
		out[i].Status = out[i].StatusAt(now)
	}
	return out, wrap(err, "find sessions by telephone number")
}

// SessionsOf returns those of the scope's sessions that have the ids, newest first.
func (q *Queries) SessionsOf(ctx context.Context, scope domain.Scope, ids []domain.SessionID, now time.Time) (
	[]domain.Session, error) {
	var out []domain.Session
	err := q.all(ctx, &out, `
		SELECT `+sessionColumns+` FROM session WHERE id = ANY ($1::uuid[]) AND account_id = $2 AND livemode = $3
		ORDER BY created_at DESC, id DESC`, pq.Array(ids), scope.AccountID, scope.Livemode)
	for i := range out {
		out[i].Status = out[i].StatusAt(now)
	}
	return out, wrap(err, "list sessions by id")
}

func newSessionList(scope domain.Scope, f *domain.SessionFilter) *list {
	l := &list{columns: sessionColumns, order: "created_at DESC, id DESC"}
	l.scope(scope)
	filter(&l.conditions, domain.SessionFilters, f)
	if f.Sections > 0 { // of those that expire soon, which are few
		l.and("(SELECT count(*) FROM section n WHERE n.session_id = id AND " + finished + ") >= " + l.arg(f.Sections))
	}
	if f.Figure != nil {
		l.and(l.figure(*f.Figure))
	}
	if f.Progress != nil {
		l.and(l.progress(*f.Progress))
	}
	return l
}

// figure is the condition of a session that is counted so.
func (c *conditions) figure(f domain.Figure) sqlText {
	switch f.Name {
	case domain.FigureWay:
		return figureWay + " = " + c.arg(f.Value)
	case domain.FigureDocuments:
		return figureDocuments + " = " + c.arg(f.Value)
	}
	return "readable(metadata) ->> " + c.arg(strings.TrimPrefix(f.Name, domain.FigureMember)) + " = " + c.arg(f.Value)
}

// progress is the condition of a session whose customer came so far.
func (c *conditions) progress(p domain.Progress) sqlText {
	section := func(more sqlText) sqlText {
		return "EXISTS (SELECT FROM section n WHERE n.session_id = id AND n.name = " + c.arg(p.Section) + " AND " + more + ")"
	}
	switch p.Did {
	case domain.ProgressOpened:
		return "accessed_at IS NOT NULL"
	case domain.ProgressUnopened:
		return "accessed_at IS NULL"
	case domain.ProgressSubmitted:
		return "(completed_at AT TIME ZONE (SELECT a.time_zone FROM account a WHERE a.id = $1))::date BETWEEN " +
			c.arg(p.First) + "::date AND " + c.arg(p.Last) + "::date"
	case domain.ProgressCompleted:
		return section("n.completed_at IS NOT NULL")
	case domain.ProgressStopped:
		return section("n.reached_at IS NOT NULL AND n.completed_at IS NULL")
	case domain.ProgressTook:
		first, last := domain.SpanSteps(p.Span)
		return section("n.completed_at > n.reached_at AND time_step(extract(epoch FROM n.completed_at - n.reached_at)::bigint) BETWEEN " +
			c.arg(first) + " AND " + c.arg(last))
	case domain.ProgressRefused:
		return section("n.problems @> ARRAY[" + c.arg(p.Rule.Field+" "+p.Rule.Message) + "::text]")
	}
	return section("n.reached_at IS NOT NULL")
}

// walked is a table of the sessions that are looked at: the newest of the time that the filter names, or
// those after last.
func (c *conditions) walked(f domain.SessionFilter, last *domain.Session) sqlText {
	span := sqlText("")
	if f.CreatedAfter != nil {
		span += " AND created_at > " + c.arg(*f.CreatedAfter)
	}
	if f.CreatedBefore != nil {
		span += " AND created_at < " + c.arg(*f.CreatedBefore)
	}
	if p := f.Progress; p != nil && p.Did == domain.ProgressSubmitted { // those that were there then, in any zone
		span += " AND created_at < " + c.arg(p.Last.AddDate(0, 0, 2))
	}
	if last != nil {
		span += " AND (created_at, id) < (" + c.arg(last.CreatedAt) + ", " + c.arg(last.ID) + ")"
	}
	return "(SELECT * FROM session WHERE account_id = $1 AND livemode = $2" + span + " ORDER BY created_at DESC, id DESC LIMIT " +
		c.arg(domain.CountMost) + ") walked"
}

// storedStatuses are the statuses as constants of a statement's text, with the
// counter of each. Plans depend on them: with an argument in its place, no index
// of one status is chosen.
var storedStatuses = map[domain.Status]struct{ literal, counter sqlText }{
	domain.Pending:    {"'pending'", "pending"},
	domain.InProgress: {"'in_progress'", "in_progress"},
	domain.Completed:  {"'completed'", "completed"},
	domain.Expired:    {"'expired'", "expired"},
	domain.Cancelled:  {"'cancelled'", "cancelled"},
}

// statusClauses are the conditions that together make up a status at the
// moment of placeholder now: an open session past its expiry counts as
// expired before the sweep comes to it (D11). Each can use an index of its
// own, which one condition with OR could not.
//
// A customer's sessions are found by indexes that end with the status in a
// collation of its own. Spelled as there, no other index can be chosen: the one
// of all sessions of that status, say, for a customer who has hardly any.
func statusClauses(f domain.SessionFilter, now sqlText) []sqlText {
	column := sqlText("status")
	if f.ByCustomer() {
		column = `status COLLATE "C"`
	}
	stored := column + " = " + storedStatuses[f.Status].literal
	switch f.Status {
	case "":
		return []sqlText{"true"}
	case domain.Pending, domain.InProgress:
		return []sqlText{stored + " AND expires_at > " + now}
	case domain.Expired:
		return []sqlText{stored, "status IN ('pending', 'in_progress') AND expires_at <= " + now}
	}
	return []sqlText{stored}
}

// walkMost is how many rows a list has at most that looks at domain.CountMost sessions and no
// further. An export reads more at a time, and looks at all.
const walkMost = domain.NewMost + 1

// SessionsBefore returns up to limit of the scope's sessions that match the
// filter, which has no Search, newest first: those that come after the given one in
// that order, nil for the newest. A page far down costs no more than the first.
func (q *Queries) SessionsBefore(ctx context.Context, scope domain.Scope, f domain.SessionFilter, last *domain.Session, limit int,
	now time.Time) ([]domain.Session, error) {
	return q.SortedSessions(ctx, scope, f, domain.NewestFirst, last, limit, now)
}

// SortedSessions is SessionsBefore in any order that sorts the filter: those that come after
// the given session in it. Of last, it reads what the order compares.
func (q *Queries) SortedSessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, order domain.SessionOrder,
	last *domain.Session, limit int, now time.Time) ([]domain.Session, error) {
	l := newSessionList(scope, &f)
	switch order {
	case domain.OldestFirst:
		l.order = "created_at, id"
		if last != nil {
			l.above("created_at, id", last.CreatedAt, last.ID)
		}
	case domain.EndsSoonest:
		l.order = "expires_at, id"
		if last != nil {
			l.above("expires_at, id", last.ExpiresAt, last.ID)
		}
	default:
		if last != nil {
			l.below("created_at, id", last.CreatedAt, last.ID)
		}
	}
	if f.Walks() && f.ExpiresBefore == nil && limit <= walkMost {
		l.from(l.walked(f, last), "("+joined(statusClauses(f, l.nowFor(f.Status, now)), " OR ")+")")
	} else {
		l.fromSessions(f, now)
	}
	var out []domain.Session
	if err := q.all(ctx, &out, l.first(l.arg(limit)), l.args...); err != nil {
		return nil, wrap(err, "list sessions")
	}
	for i := range out {
		out[i].Status = out[i].StatusAt(now)
	}
	return out, nil
}

// CountSessions returns how many of the scope's sessions match the filter. If
// there are no counters of what it asks for, as of one customer's sessions, they
// are counted to limit and no further, 0 for all.
func (q *Queries) CountSessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, now time.Time,
	limit int) (int, error) {
	if f.Counted() {
		return q.countByDay(ctx, scope, f, now)
	}
	return q.countMatching(ctx, scope, f, now, limit)
}

// nowFor is the placeholder of now for statusClauses, "" where they need none.
func (c *conditions) nowFor(status domain.Status, now time.Time) sqlText {
	if status == "" || status == domain.Completed || status == domain.Cancelled {
		return ""
	}
	return c.arg(now)
}

// AnySessionOpened reports whether a customer has ever opened one of the
// scope's sessions, whatever became of it.
func (q *Queries) AnySessionOpened(ctx context.Context, scope domain.Scope) (opened bool, err error) {
	err = q.get(ctx, &opened, `
		SELECT EXISTS (SELECT 1 FROM session WHERE account_id = $1 AND livemode = $2
			AND accessed_at IS NOT NULL)`, scope.AccountID, scope.Livemode)
	return opened, wrap(err, "look for an opened session")
}

// fromSessions adds the list's sources: one for each way to the status.
func (l *list) fromSessions(f domain.SessionFilter, now time.Time) {
	if f.ExpiresBefore != nil {
		l.from(l.expiring(f, now), "("+joined(statusClauses(f, l.nowFor(f.Status, now)), " OR ")+")")
		return
	}
	at := l.nowFor(f.Status, now)
	l.from("session", statusClauses(f, at)[0])
	if f.Status == domain.Expired {
		l.from(overdue(at))
	}
}

// overdue is a table of the scope's open sessions past their expiry, which are few, though
// PostgreSQL expects many. A part for each status has both found where the index of ends
// has them, since that one is walked as a whole for both at once. OFFSET 0 keeps the list
// from being walked in its order.
func overdue(now sqlText) sqlText {
	of := func(status sqlText) sqlText {
		return "SELECT * FROM session WHERE account_id = $1 AND livemode = $2 AND status = " + status + " AND expires_at <= " + now
	}
	return "(" + of("'pending'") + " UNION ALL " + of("'in_progress'") + " OFFSET 0) overdue"
}

// expiring is a table of the scope's open sessions whose links expire first. Many
// can expire on one day, so it has a limit. Compared and sorted as rows, they are found
// by the one index that begins with the scope; the index of all accounts' sessions
// would lead through those of the others.
func (c *conditions) expiring(f domain.SessionFilter, now time.Time) sqlText {
	return "(SELECT * FROM session WHERE status IN ('pending', 'in_progress')" +
		" AND (account_id, livemode, expires_at) > ($1, $2, " + c.arg(now) + ") AND (account_id, livemode, expires_at) < ($1, $2, " +
		c.arg(*f.ExpiresBefore) + ")" +
		" ORDER BY account_id, livemode, expires_at LIMIT " + c.arg(domain.ExpiringMost) + ") expiring"
}

// countMatching counts the sessions themselves. Those of one reference or
// customer are few, unless a partner tests with one.
func (q *Queries) countMatching(ctx context.Context, scope domain.Scope, f domain.SessionFilter, now time.Time,
	limit int) (int, error) {
	c := &newSessionList(scope, &f).conditions
	status := "(" + joined(statusClauses(f, c.nowFor(f.Status, now)), " OR ") + ")"
	table, most := sqlText("session"), sqlText("")
	if f.ExpiresBefore != nil {
		table = c.expiring(f, now)
	} else if f.Walks() && limit > 0 {
		table = c.walked(f, nil)
	}
	if limit > 0 {
		most = " LIMIT " + c.arg(limit)
	}
	var total int
	err := q.get(ctx, &total, "SELECT count(*) FROM (SELECT 1 FROM "+table+" WHERE "+c.where(status)+most+") m", c.args...)
	return total, wrap(err, "count sessions")
}

// countByDay adds up the counters of whole days and counts the sessions of
// the days that created_after and created_before cut. The counters know the
// stored status; overdue sessions are moved to expired here (D11). It is one
// statement, so that a sweep between two can't count a session twice.
func (q *Queries) countByDay(ctx context.Context, scope domain.Scope, f domain.SessionFilter, now time.Time) (int, error) {
	counter, stored := sqlText("created"), sqlText("true")
	if f.Status != "" {
		counter, stored = storedStatuses[f.Status].counter, "status = "+storedStatuses[f.Status].literal
	}
	c := &newSessionList(scope, &domain.SessionFilter{}).conditions
	sessions := func(clauses ...sqlText) sqlText {
		return "(SELECT count(*) FROM session WHERE account_id = $1 AND livemode = $2 AND " + joined(clauses, " AND ") + ")"
	}
	whole, query := c.clauses, sqlText("")
	date := func(t time.Time) sqlText { return "(" + c.arg(day(t)) + "::timestamptz AT TIME ZONE 'UTC')::date" }
	var span []sqlText // the filter's own, for the overdue
	after, before := f.CreatedAfter, f.CreatedBefore
	if after != nil {
		span = append(span, "created_at > "+c.arg(*after))
	}
	if before != nil {
		span = append(span, "created_at < "+c.arg(*before))
	}
	switch {
	case after != nil && before != nil && !day(*after).Before(day(*before)):
		query += " + " + sessions(append(span, stored)...)
		whole = append(whole, "false")
	default:
		if after != nil {
			query += " + " + sessions(span[0], "created_at < "+c.arg(day(*after).AddDate(0, 0, 1)), stored)
			whole = append(whole, "day > "+date(*after))
		}
		if before != nil {
			query += " + " + sessions("created_at >= "+c.arg(day(*before)), span[len(span)-1], stored)
			whole = append(whole, "day < "+date(*before))
		}
	}
	if f.Status.Open() || f.Status == domain.Expired {
		sign, open := sqlText(" + "), sqlText("true")
		if f.Status.Open() {
			// Outside the table: inside, a plan made for unknown times reads all that are
			// pending, by the index of states.
			sign, open = " - ", stored
		}
		query += sign + "(SELECT count(*) FROM " + overdue(c.arg(now)) +
			" WHERE " + joined(append(span, open), " AND ") + ")"
	}
	query = "SELECT (SELECT coalesce(sum(" + counter + "), 0)::bigint FROM session_count WHERE " + joined(whole, " AND ") +
		")" + query
	var total int
	err := q.get(ctx, &total, query, c.args...)
	return total, wrap(err, "count sessions by day")
}

// day is the start of t's UTC day.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
