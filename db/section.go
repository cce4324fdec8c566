package db

import (
	"context"
	"encoding/json"
	"time"

	"candor/intake"
)

// Section is what is stored of one section of one session.
type Section struct {
	Name        string          `db:"name"`
	Answers     json.RawMessage `db:"answers"` // the last valid ones, nil before
	Draft       json.RawMessage `db:"draft"`   // typed since and not valid yet: input name → values, nil for none
	CompletedAt *time.Time      `db:"completed_at"`
	UpdatedAt   time.Time       `db:"updated_at"`
}

// Sections returns what is stored of a session's sections, in no order.
func (d *DB) Sections(ctx context.Context, id intake.SessionID) ([]Section, error) {
	return sections(ctx, d, id)
}

// Sections returns what is stored of a session's sections, in no order.
func (tx *Tx) Sections(ctx context.Context, id intake.SessionID) ([]Section, error) {
	return sections(ctx, tx, id)
}

func sections(ctx context.Context, q Queryer, id intake.SessionID) ([]Section, error) {
	var out []Section
	err := q.SelectContext(ctx, &out, `
		SELECT name, coalesce(answers, 'null') AS answers, coalesce(draft, 'null') AS draft, completed_at, updated_at
		FROM section WHERE session_id = $1`, id)
	for i := range out {
		out[i].Answers = absent(out[i].Answers)
		out[i].Draft = absent(out[i].Draft)
	}
	return out, wrap(err, "get sections")
}

func absent(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// SaveDraft keeps what a customer typed into a section and isn't valid yet.
func (tx *Tx) SaveDraft(ctx context.Context, id intake.SessionID, name string, draft json.RawMessage, now time.Time) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO section (session_id, name, draft, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (session_id, name) DO UPDATE SET draft = excluded.draft, updated_at = excluded.updated_at`,
		id, name, string(draft), now)
	return wrap(err, "save draft")
}

// SaveSection stores a section's valid answers in place of those before and
// of any draft, and reports whether this completed it for the first time.
func (tx *Tx) SaveSection(ctx context.Context, id intake.SessionID, name string, answers json.RawMessage, now time.Time) (first bool, err error) {
	err = tx.GetContext(ctx, &first, `
		WITH before AS (SELECT completed_at FROM section WHERE session_id = $1 AND name = $2)
		INSERT INTO section AS s (session_id, name, answers, completed_at, updated_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (session_id, name) DO UPDATE SET
			answers = excluded.answers, draft = NULL, completed_at = coalesce(s.completed_at, excluded.completed_at), updated_at = excluded.updated_at
		RETURNING (SELECT completed_at FROM before) IS NULL`,
		id, name, string(answers), now)
	return first, wrap(err, "save section")
}
