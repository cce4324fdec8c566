package db

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// maxKeyNetworks bounds what one key can store.
const maxKeyNetworks sqlText = "500"

// countKeyNetworks adds the requests of a batch, in any order, to their keys' networks. A request
// whose key no longer works isn't a use of it.
func (tx *Tx) countKeyNetworks(ctx context.Context, lines []domain.APIRequest) error {
	type place struct {
		key     domain.KeyID
		network string
	}
	uses := map[place]*domain.KeyNetwork{}
	var order []place
	for i := range lines {
		r := &lines[i]
		if r.ErrorCode == domain.CodeInvalidAPIKey {
			continue
		}
		at := place{r.KeyID, domain.KeyNetworkOf(r.Address)}
		use := uses[at]
		if use == nil {
			use = &domain.KeyNetwork{FirstAt: r.At(), LastAt: r.At(), Address: r.Address}
			uses[at] = use
			order = append(order, at)
		}
		use.Requests++
		if r.At().Before(use.FirstAt) {
			use.FirstAt = r.At()
		}
		if !r.At().Before(use.LastAt) {
			use.Address, use.LastAt = r.Address, r.At()
		}
	}
	if len(order) == 0 {
		return nil
	}
	// Processes write the rows in the same order, so that they can't deadlock.
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.key.UUID.String(), b.key.UUID.String()), cmp.Compare(a.network, b.network))
	})
	var keys, networks, addresses []string
	var firsts, lasts []time.Time
	var requests []int64
	for _, at := range order {
		use := uses[at]
		keys, networks, addresses = append(keys, at.key.UUID.String()), append(networks, at.network), append(addresses, use.Address)
		firsts, lasts, requests = append(firsts, use.FirstAt), append(lasts, use.LastAt), append(requests, use.Requests)
	}
	_, err := tx.exec(ctx, `
		INSERT INTO api_key_network AS n (key_id, network, address, first_at, last_at, requests)
		SELECT k.id, u.network, u.address, u.first_at, u.last_at, u.requests
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::bigint[]) WITH ORDINALITY
			AS u (key_id, network, address, first_at, last_at, requests, place) JOIN api_key k ON k.id = u.key_id
		WHERE EXISTS (SELECT 1 FROM api_key_network o WHERE o.key_id = u.key_id AND o.network = u.network)
			OR (SELECT count(*) FROM api_key_network o WHERE o.key_id = u.key_id) < `+maxKeyNetworks+`
		ORDER BY u.place
		ON CONFLICT (key_id, network) DO UPDATE SET
			address = CASE WHEN excluded.last_at < n.last_at THEN n.address ELSE excluded.address END,
			first_at = least(n.first_at, excluded.first_at), last_at = greatest(n.last_at, excluded.last_at),
				requests = n.requests + excluded.requests`,
		pq.Array(keys), pq.Array(networks), pq.Array(addresses), pq.Array(firsts), pq.Array(lasts), pq.Array(requests))
	return wrap(err, "count networks of API keys")
}

// KeyNetworks returns up to limit networks that a key of the scope was used from,
// last used first.
func (q *Queries) KeyNetworks(ctx context.Context, scope domain.Scope, id domain.KeyID, limit int) ([]domain.KeyNetwork, error) {
	var out []domain.KeyNetwork
	err := q.all(ctx, &out, `
		SELECT n.key_id, n.network, n.address, n.first_at, n.last_at, n.requests, n.state = 2 AS new
		FROM api_key k JOIN api_key_network n ON n.key_id = k.id
		WHERE k.id = $1 AND k.account_id = $2 AND k.livemode = $3
		ORDER BY n.last_at DESC, n.network LIMIT $4`, id, scope.AccountID, scope.Livemode, limit)
	return out, wrap(err, "list networks of an API key")
}

// NewKeyNetworks returns the networks from which keys of the scope were first used
// after since, if that was reported; the latest first.
func (q *Queries) NewKeyNetworks(ctx context.Context, scope domain.Scope, since time.Time, limit int) ([]domain.KeyNetwork,
	error) {
	var out []domain.KeyNetwork
	err := q.all(ctx, &out, `
		SELECT n.key_id, n.network, n.address, n.first_at, n.last_at, n.requests, true AS new
		FROM api_key k JOIN api_key_network n ON n.key_id = k.id
		WHERE k.account_id = $1 AND k.livemode = $2 AND k.deleted_at IS NULL AND n.state = 2 AND n.first_at > $3
		ORDER BY n.first_at DESC LIMIT $4`, scope.AccountID, scope.Livemode, since, limit)
	return out, wrap(err, "list new networks of API keys")
}

// unseenNetworks are the networks that weren't looked at, of keys that were used
// from others before.
const unseenNetworks sqlText = `api_key_network n JOIN api_key k ON k.id = n.key_id
	WHERE n.state = 0 AND k.deleted_at IS NULL AND
		EXISTS (SELECT 1 FROM api_key_network o WHERE o.key_id = n.key_id AND o.state > 0)`

// dueKeyAlerts returns up to limit scopes whose keys were used from a new network,
// and that have had no such alert within domain.AlertEvery. What is the first
// network of a key becomes known without an alert.
func (q *Queries) dueKeyAlerts(ctx context.Context, now time.Time, limit int) ([]DueAlert, error) {
	var out []DueAlert
	err := q.all(ctx, &out, `
		SELECT DISTINCT k.account_id, k.livemode, $1::text AS kind FROM `+unseenNetworks+` AND NOT EXISTS (
			SELECT 1 FROM alert a WHERE a.account_id = k.account_id AND a.livemode = k.livemode AND a.kind = $1 AND a.created_at > $2)
		LIMIT $3`, domain.AlertKeyNetwork, now.Add(-domain.AlertEvery), limit)
	if err != nil {
		return nil, wrap(err, "find keys used from new networks")
	}
	_, err = q.exec(ctx, `
		UPDATE api_key_network n SET state = 1
		WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM api_key_network o WHERE o.key_id = n.key_id AND o.state > 0)`)
	return out, wrap(err, "know the first networks of keys")
}

// takeNewNetworks marks the scope's new networks as reported and returns them,
// first used first.
func (tx *Tx) takeNewNetworks(ctx context.Context, scope domain.Scope) ([]domain.AlertSubject, error) {
	type used struct {
		Key     domain.KeyID `db:"key_id"`
		Name    string       `db:"name"`
		Last4   string       `db:"last4"`
		Address string       `db:"address"`
		FirstAt time.Time    `db:"first_at"`
	}
	var rows []used
	err := tx.all(ctx, &rows, `
		WITH due AS MATERIALIZED (
			SELECT n.key_id, n.network, k.name, k.last4 FROM `+unseenNetworks+` AND k.account_id = $1 AND k.livemode = $2
			ORDER BY n.key_id, n.network FOR UPDATE OF n
		)
		UPDATE api_key_network n SET state = 2 FROM due d WHERE n.key_id = d.key_id AND n.network = d.network
		RETURNING n.key_id, d.name, d.last4, n.address, n.first_at`, scope.AccountID, scope.Livemode)
	slices.SortFunc(rows, func(a, b used) int { return a.FirstAt.Compare(b.FirstAt) })
	out := make([]domain.AlertSubject, len(rows))
	for i, r := range rows {
		out[i] = domain.AlertSubject{ID: r.Key.String(), Name: r.Name + " …" + r.Last4, Since: r.FirstAt.UTC(), Detail: r.Address}
	}
	return out, wrap(err, "take new networks of keys")
}

// DeleteKeyNetworks deletes up to limit networks last used before the given time,
// and returns how many. It keeps the last one of a key that isn't deleted, or the next
// network would be the key's first, which is no news.
func (q *Queries) DeleteKeyNetworks(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM api_key_network WHERE (key_id, network) IN (
			SELECT n.key_id, n.network FROM api_key_network n JOIN api_key k ON k.id = n.key_id
			WHERE n.last_at < $1 AND (k.deleted_at IS NOT NULL OR EXISTS (
				SELECT 1 FROM api_key_network o WHERE o.key_id = n.key_id AND (o.last_at, o.network) > (n.last_at, n.network)))
			ORDER BY n.last_at LIMIT $2 FOR UPDATE OF n SKIP LOCKED)`, before, limit)
	return affected(result, err, "delete networks of API keys")
}

// KeyUses sums up the newest requests of a key of the scope after since, most
// first, over at most domain.CountMost of them. Refused requests are left out.
func (q *Queries) KeyUses(ctx context.Context, scope domain.Scope, id domain.KeyID, since time.Time) ([]domain.KeyUse, error) {
	var out []domain.KeyUse
	err := q.all(ctx, &out, `
		SELECT method, route, count(*) AS requests, count(DISTINCT session_id) AS sessions,
			(array_agg(id ORDER BY id))[1] AS first, (array_agg(id ORDER BY id DESC))[1] AS last
		FROM (
			SELECT id, method, route, status, session_id, account_id, livemode FROM api_request
			WHERE key_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3
		) r
		WHERE account_id = $4 AND livemode = $5 AND status < 400
		GROUP BY method, route ORDER BY requests DESC, method, route`,
		id, domain.FirstRequestID(since), domain.CountMost, scope.AccountID, scope.Livemode)
	return out, wrap(err, "sum up the use of an API key")
}
