package db

import (
	"context"

	"candor/internal/domain"
)

// StaffViews lists a staff user's views of a mode, by name.
func (q *Queries) StaffViews(ctx context.Context, staff domain.StaffID, livemode bool) ([]domain.StaffView, error) {
	var out []domain.StaffView
	err := q.all(ctx, &out, `SELECT name, query FROM staff_view WHERE staff_id = $1 AND livemode = $2 ORDER BY folded`,
		staff, livemode)
	return out, wrap(err, "list views")
}

// SaveStaffView stores a staff user's view in place of one of that name, and returns how
// many the user has then in the mode. Others who save for the user wait for the transaction.
func (tx *Tx) SaveStaffView(ctx context.Context, staff domain.StaffID, livemode bool, v domain.StaffView) (n int, err error) {
	if _, err := tx.exec(ctx, `SELECT FROM staff_user WHERE id = $1 FOR NO KEY UPDATE`, staff); err != nil {
		return 0, wrap(err, "lock staff user")
	}
	_, err = tx.exec(ctx, `
		INSERT INTO staff_view (staff_id, livemode, name, query) VALUES ($1, $2, $3, $4)
		ON CONFLICT (staff_id, livemode, folded) DO UPDATE SET name = excluded.name, query = excluded.query`,
		staff, livemode, v.Name, v.Query)
	if err == nil {
		err = tx.get(ctx, &n, `SELECT count(*) FROM staff_view WHERE staff_id = $1 AND livemode = $2`, staff, livemode)
	}
	return n, wrap(err, "save view")
}

// DeleteStaffView deletes a staff user's view of that name, if it is there.
func (q *Queries) DeleteStaffView(ctx context.Context, staff domain.StaffID, livemode bool, name string) error {
	_, err := q.exec(ctx, `DELETE FROM staff_view WHERE staff_id = $1 AND livemode = $2 AND folded = lower($3)`,
		staff, livemode, name)
	return wrap(err, "delete view")
}
