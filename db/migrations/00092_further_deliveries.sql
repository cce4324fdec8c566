-- +goose NO TRANSACTION

-- +goose Up

-- Further deliveries of their events at an endpoint. Those that an event names are found by it.
DROP INDEX CONCURRENTLY IF EXISTS delivery_further_idx;
CREATE INDEX CONCURRENTLY delivery_further_idx ON delivery (endpoint_id, sequence) WHERE further;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS delivery_further_idx;
