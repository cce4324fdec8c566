package db

import (
	"context"

	"candor/internal/domain"
)

// calledReach is how many of the latest requests CalledRoutes looks at, as text: with an
// argument PostgreSQL may read all.
const calledReach sqlText = "500"

// CalledRoutes returns the routes of the scope's latest successful API requests, each
// once.
func (q *Queries) CalledRoutes(ctx context.Context, scope domain.Scope) ([]string, error) {
	var out []string
	err := q.all(ctx, &out, `
		SELECT DISTINCT method || ' ' || route FROM (
			SELECT method, route, status FROM api_request WHERE account_id = $1 AND livemode = $2 ORDER BY id DESC LIMIT `+calledReach+`) latest
		WHERE status < 300`, scope.AccountID, scope.Livemode)
	return out, wrap(err, "list called routes")
}
