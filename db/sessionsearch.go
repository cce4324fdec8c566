package db

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"candor/internal/domain"
)

// A search in five lines. Each word is looked for in any place of name, address and reference,
// without the marks of letters (D131).
// First the newest of the list are looked at, searchLook for each row wanted: there a word that
// half a percent of the sessions have fills the page, and the index would return all of them.
// If it isn't filled, the index of three-letter parts names all others, newest first. Counted
// is what was looked at, "or more", or all; after searchPatience, the newest are the answer.
const (
	searchLook     = 200
	searchMost     = 3000 // sessions that are looked at in all, or at a time for an export
	searchPatience = 500 * time.Millisecond
)

// A misspelt search (D131) does the same by a regular expression for each word: the list's
// newest part, and only if that has none the index, which is slow for short words.
const misspeltPatience = 150 * time.Millisecond

// FoundSessions are a part of the sessions in which something was searched.
type FoundSessions struct {
	Sessions []domain.Session // newest first
	Total    int              // of all that match
	OrMore   bool             // than Total: the others weren't looked at

	next *domain.Session // the last that was looked at; nil at the list's end, or if not all matches were read
}

// SearchSessions returns up to limit of the scope's sessions that match the filter,
// which has a Search, newest first: those after last in that order, nil for the newest.
func (q *Queries) SearchSessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, last *domain.Session, limit int,
	now time.Time) (*FoundSessions, error) {
	look, patience := min(max(limit*searchLook, domain.ExpiringMost+1), searchMost), searchPatience // all whose links expire soon
	if f.Misspelt {
		look, patience = searchMost, misspeltPatience
	}
	found, err := q.searchNewest(ctx, scope, f, last, look, limit, now)
	if err != nil {
		return nil, err
	}
	if last != nil { // every page says the same of the whole list
		newest, err := q.searchNewest(ctx, scope, f, nil, look, 0, now)
		if err != nil {
			return nil, err
		}
		found.Total, found.OrMore = newest.Total, newest.OrMore
	}
	if len(found.Sessions) == limit || !found.OrMore || f.Misspelt && found.Total > 0 {
		return found, nil
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := q.searchAll(patient, scope, f, last, limit, now)
	if err != nil && ctx.Err() == nil && errors.Is(patient.Err(), context.DeadlineExceeded) {
		return found, nil
	}
	return all, err
}

// searchNewest looks at the next n sessions of a list after last, and returns up to most
// of those that match.
func (q *Queries) searchNewest(ctx context.Context, scope domain.Scope, f domain.SessionFilter, last *domain.Session, n, most int,
	now time.Time) (*FoundSessions, error) {
	l := newSessionList(scope, &f)
	hit := joined(l.searched("session_search_text(customer_name, customer_email, reference_id)", f), " AND ")
	l.columns = "id, created_at, " + hit + " AS hit"
	if last != nil {
		l.below("created_at, id", last.CreatedAt, last.ID)
	}
	l.fromSessions(f, now)
	full := l.arg(n)
	piece := l.first(full)
	var rows []struct {
		domain.Session
		Hit   bool `db:"hit"`
		Last  bool `db:"last"` // of a full piece
		Total int  `db:"total"`
		More  bool `db:"more"`
	}
	err := q.all(ctx, &rows, `
		WITH looked AS MATERIALIZED (
			SELECT id, created_at, hit, row_number() OVER (ORDER BY `+l.order+`) = `+full+` AS last,
				count(*) FILTER (WHERE hit) OVER () AS total, count(*) OVER () = `+full+` AS more
			FROM (`+piece+`) piece
		), page AS MATERIALIZED (
			SELECT id, hit, last, total, more FROM looked WHERE hit OR last ORDER BY `+l.order+` LIMIT `+l.arg(most+1)+`
		)
		SELECT `+sessionColumns+`, hit, last, total, more FROM page JOIN session USING (id) ORDER BY `+l.order, l.args...)
	if err != nil {
		return nil, wrap(err, "look through sessions")
	}
	out := &FoundSessions{}
	for i := range rows {
		rows[i].Status = rows[i].StatusAt(now)
		out.Total, out.OrMore = rows[i].Total, rows[i].More
		if rows[i].Hit && len(out.Sessions) < most {
			out.Sessions = append(out.Sessions, rows[i].Session)
		}
		if rows[i].Last {
			out.next = &rows[i].Session
		}
	}
	return out, nil
}

// EachSessionFound calls each with all of the scope's sessions that match the filter, some at a
// time, newest first, until it returns an error. It looks at every session of the list, since
// an export may be of most.
func (q *Queries) EachSessionFound(ctx context.Context, scope domain.Scope, f domain.SessionFilter, now time.Time,
	each func([]domain.Session) error) error {
	var last *domain.Session
	for {
		found, err := q.searchNewest(ctx, scope, f, last, searchMost, searchMost, now)
		if err == nil {
			err = each(found.Sessions)
		}
		if err != nil || found.next == nil {
			return err
		}
		last = found.next
	}
}

// searchAll asks the index for all that match. What the search alone finds is counted and
// put in order before a session is read: many can have a short part.
func (q *Queries) searchAll(ctx context.Context, scope domain.Scope, f domain.SessionFilter, last *domain.Session, limit int,
	now time.Time) (*FoundSessions, error) {
	c := &newSessionList(scope, &f).conditions
	status := "(" + joined(statusClauses(f, c.nowFor(f.Status, now)), " OR ") + ")"
	text := joined(c.searchedByIndex("text", f), " AND ")
	page := sqlText("")
	if last != nil {
		page = " WHERE (created_at, id) < (" + c.arg(last.CreatedAt) + ", " + c.arg(last.ID) + ")"
	}
	matching := `SELECT id, created_at, count(*) OVER () AS total FROM session JOIN (SELECT session_id FROM found) f ON session_id = id WHERE ` + c.where(status)
	if onlySearch := (domain.SessionFilter{Search: f.Search, Misspelt: f.Misspelt}); f == onlySearch {
		matching = `SELECT session_id AS id, created_at, count(*) OVER () AS total FROM found`
	}
	var rows []struct {
		domain.Session
		Total int `db:"total"`
	}
	// MATERIALIZED, or a plan made for unknown words walks the list instead.
	err := q.all(ctx, &rows, `
		WITH found AS MATERIALIZED (SELECT session_id, created_at FROM session_search WHERE account_id = $1 AND livemode = $2
			AND `+text+`),
			page AS MATERIALIZED (SELECT id, total FROM (`+matching+`) matching`+page+`
				ORDER BY created_at DESC, id DESC LIMIT `+c.arg(limit)+`)
		SELECT `+sessionColumns+`, total FROM page JOIN session USING (id)
		ORDER BY created_at DESC, id DESC`, c.args...)
	if err != nil {
		return nil, wrap(err, "search sessions")
	}
	out := &FoundSessions{}
	for i := range rows {
		rows[i].Status = rows[i].StatusAt(now)
		out.Sessions, out.Total = append(out.Sessions, rows[i].Session), rows[i].Total
	}
	return out, nil
}

// indexPart is how many letters of a word the index is asked for. Each three of them are
// a list to read, and those of "customer" or of "example.com" are as long as the table.
const indexPart = 7

// searched are the conditions that a text has each of the words: in any place, and one
// of fewer than three letters, for which there is no index, at the beginning of a part.
func (c *conditions) searched(text sqlText, f domain.SessionFilter) (out []sqlText) {
	for _, word := range searchWords(f.Search) {
		if pattern := misspelt(word); f.Misspelt && pattern != "" {
			out = append(out, text+" ~ without_marks("+c.arg(pattern)+")")
		} else {
			out = append(out, c.has(text, word))
		}
	}
	return out
}

// searchedByIndex are the same conditions. The index is asked for the end of each word,
// and of an address for what ends at its @: that tells customers and references apart.
func (c *conditions) searchedByIndex(text sqlText, f domain.SessionFilter) (out []sqlText) {
	if f.Misspelt {
		return c.searched(text, f)
	}
	for _, word := range searchWords(f.Search) {
		part := []rune(word)
		if at := slices.Index(part, '@'); at > 1 {
			part = part[:at+1]
		}
		part = part[max(0, len(part)-indexPart):]
		if out = append(out, c.has(text, string(part))); len(string(part)) < len(word) {
			out = append(out, c.has("("+text+" || '')", word)) // which no index has
		}
	}
	return out
}

// mostWords bounds the statements that differ by how many words they look for: connections
// keep each prepared.
const mostWords = 8

// searchWords are the words that are looked for, the longest if there are many.
func searchWords(words string) []string {
	all := slices.Compact(slices.Sorted(slices.Values(strings.Fields(words))))
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all[:min(len(all), mostWords)]
}

func (c *conditions) has(text sqlText, word string) sqlText {
	pattern := "%"
	if len([]rune(word)) < 3 {
		pattern = "% "
	}
	// An apostrophe is straight on a keyboard and curly on a phone.
	pattern += strings.NewReplacer("\\", "\\\\", "%", "\\%", "_", "\\_", "'", "_", "’", "_").Replace(word) + "%"
	return text + " LIKE lower(without_marks(" + c.arg(pattern) + "))"
}

// misspelt is the pattern of the words that are at most one mistake away from this one: two
// letters in each other's place, one too many, one missing, one other. It is "" for what
// isn't a word of 4 to 20 letters, since nothing there is taken for a mistake.
func misspelt(word string) string {
	letters := []rune(strings.ToLower(word))
	if len(letters) < 4 || len(letters) > 20 || slices.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return ""
	}
	const letterClass = `[a-z\u0080-\U0010ffff]` // whatever the database's locale takes for a letter
	near := []string{string(letters)}
	for i, letter := range letters {
		before, after := string(letters[:i]), string(letters[i+1:])
		near = append(near, before+after, before+letterClass+after, before+letterClass+string(letter)+after)
		if i > 0 {
			near = append(near, string(letters[:i-1])+string(letter)+string(letters[i-1])+after)
		}
	}
	near = append(near, string(letters)+letterClass)
	return `(^|[^a-z\u0080-\U0010ffff])(` + strings.Join(near, "|") + `)([^a-z\u0080-\U0010ffff]|$)`
}
