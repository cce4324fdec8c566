package db

import (
	"context"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// Section is what is stored of one section of one session. Package vault seals
// and opens its JSON.
type Section struct {
	Name        string     `db:"name"`
	Answers     []byte     `db:"answers"`    // the last valid ones, nil before
	Draft       []byte     `db:"draft"`      // typed since and not valid yet: input name → values, nil for none
	Prefill     []byte     `db:"prefill"`    // what the partner gave: path → answer, nil for nothing
	Offered     []byte     `db:"offered"`    // statement.Offer of the former session, nil for none
	Ask         []byte     `db:"ask"`        // what the partner asks for, nil for nothing
	ReachedAt   *time.Time `db:"reached_at"` // when the customer first saw it, nil where it wasn't noted
	CompletedAt *time.Time `db:"completed_at"`
	UpdatedAt   time.Time  `db:"updated_at"`
}

// Sections returns what is stored of a session's sections, in no order.
func (q *Queries) Sections(ctx context.Context, id domain.SessionID) ([]Section, error) {
	var out []Section
	err := q.all(ctx, &out, `
		SELECT name, answers, draft, prefill, offered, ask, reached_at, completed_at, updated_at
		FROM section WHERE session_id = $1`, id)
	return out, wrap(err, "get sections")
}

// finished is the condition of a section that was completed and wasn't left as a draft since.
const finished sqlText = "n.completed_at IS NOT NULL AND n.draft IS NULL"

// FinishedSections returns the names of the finished sections of each session.
func (q *Queries) FinishedSections(ctx context.Context, sessions []domain.SessionID) (map[domain.SessionID][]string, error) {
	var rows []struct {
		SessionID domain.SessionID `db:"session_id"`
		Name      string           `db:"name"`
	}
	err := q.all(ctx, &rows, `SELECT session_id, name FROM section n WHERE session_id = ANY ($1::uuid[]) AND `+finished,
		pq.Array(sessions))
	out := map[domain.SessionID][]string{}
	for _, row := range rows {
		out[row.SessionID] = append(out[row.SessionID], row.Name)
	}
	return out, wrap(err, "list finished sections")
}

// ReachSection notes that the customer of an open session sees a section for
// the first time.
func (q *Queries) ReachSection(ctx context.Context, id domain.SessionID, name string, now time.Time) error {
	_, err := q.exec(ctx, `
		INSERT INTO section AS s (session_id, name, reached_at, updated_at)
		SELECT id, $2, $3, $3 FROM session WHERE id = $1 AND status = 'in_progress' AND expires_at > $3
		ON CONFLICT (session_id, name) DO UPDATE SET reached_at = excluded.reached_at WHERE s.reached_at IS NULL`,
		id, name, now)
	return wrap(err, "reach section")
}

// problemsKept is how many problems a section keeps with repeats. What it doesn't have yet is
// kept beyond that, so a section grows to the form's rules and no further.
const problemsKept = 50

// NoteProblems notes what the form refused now in a section that the customer has reached.
func (q *Queries) NoteProblems(ctx context.Context, id domain.SessionID, name string, problems []domain.FailedRule,
	now time.Time) error {
	_, err := q.exec(ctx, `
		UPDATE section SET refused = refused || `+refusedNow+`, refused_at = $5,
			problems = problems || ARRAY(SELECT p FROM unnest($3::text[]) p
				WHERE cardinality(problems) < $4 OR p <> ALL (problems))
		WHERE session_id = $1 AND name = $2`,
		id, name, noted(problems), problemsKept, now)
	return wrap(err, "note problems")
}

// refusedNow has the time $5 of each of the problems $3.
const refusedNow sqlText = "(SELECT coalesce(jsonb_object_agg(p, $5::timestamptz), '{}') FROM unnest($3::text[]) p)"

// noted writes problems as a section keeps them. No field's name has a space.
func noted(problems []domain.FailedRule) pq.StringArray {
	out := make(pq.StringArray, 0, len(problems))
	for _, p := range problems {
		out = append(out, p.Field+" "+p.Message)
	}
	return out
}

// SaveDraft keeps what a customer typed into a section and isn't valid yet,
// and notes what the form refused of it, nil if it wasn't checked. ErrNotFound if the session is erased.
func (tx *Tx) SaveDraft(ctx context.Context, id domain.SessionID, name string, draft []byte, refused []domain.FailedRule,
	now time.Time) error {
	result, err := tx.exec(ctx, `
		INSERT INTO section AS s (session_id, name, draft, problems, reached_at, updated_at, refused, refused_at)
		VALUES ($1, $2, $4, $3, $5, $5, `+refusedNow+`, CASE WHEN cardinality($3) > 0 THEN $5::timestamptz END)
		ON CONFLICT (session_id, name) DO UPDATE SET
			draft = excluded.draft, updated_at = excluded.updated_at, reached_at = coalesce(s.reached_at, excluded.reached_at),
			refused = s.refused || excluded.refused, refused_at = CASE WHEN $7 THEN excluded.refused_at ELSE s.refused_at END,
			problems = s.problems || ARRAY(SELECT p FROM unnest(excluded.problems) p
				WHERE cardinality(s.problems) < $6 OR p <> ALL (s.problems))`,
		id, name, noted(refused), draft, now, problemsKept, refused != nil)
	return changedOne(result, err, "save draft")
}

// InsertSections stores what a new session's customer is shown: names, prefill, offered and
// ask of the sections.
func (tx *Tx) InsertSections(ctx context.Context, id domain.SessionID, sections []Section, now time.Time) error {
	var names pq.StringArray
	var prefill, offered, ask pq.ByteaArray
	for _, s := range sections {
		names, prefill, offered, ask = append(names, s.Name), append(prefill, s.Prefill), append(offered, s.Offered), append(ask, s.Ask)
	}
	_, err := tx.exec(ctx, `
		INSERT INTO section (session_id, name, prefill, offered, ask, updated_at)
		SELECT $1, name, nullif(prefill, ''), nullif(offered, ''), nullif(ask, ''), $2
		FROM unnest($3::text[], $4::bytea[], $5::bytea[], $6::bytea[]) AS n (name, prefill, offered, ask)`,
		id, now, names, prefill, offered, ask)
	return wrap(err, "insert sections")
}

// SaveSection stores a section's valid answers, and the hash of the telephone number in
// them, "" for none, in place of those before and of any draft, and reports whether this completed
// it for the first time. ErrNotFound if
// the session is erased.
func (tx *Tx) SaveSection(ctx context.Context, id domain.SessionID, name string, answers []byte, phoneHash string,
	now time.Time) (first bool, err error) {
	err = tx.get(ctx, &first, `
		WITH before AS (SELECT completed_at FROM section WHERE session_id = $1 AND name = $2)
		INSERT INTO section AS s (session_id, name, answers, reached_at, completed_at, updated_at, phone_hash)
		VALUES ($1, $2, $3, $4, $4, $4, nullif($5, ''))
		ON CONFLICT (session_id, name) DO UPDATE SET
			answers = excluded.answers, draft = NULL, refused_at = NULL, phone_hash = excluded.phone_hash,
			reached_at = coalesce(s.reached_at, excluded.reached_at),
			completed_at = coalesce(s.completed_at, excluded.completed_at), updated_at = excluded.updated_at
		RETURNING (SELECT completed_at FROM before) IS NULL`,
		id, name, answers, now, phoneHash)
	return first, wrap(err, "save section")
}
