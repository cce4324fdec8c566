-- +goose Up

-- The deliveries that ended badly by their state, with all that they are
-- filtered by, so that a filter that hardly any match is answered from the
-- index: the rows, half a page apart, would be read one by one. It costs a
-- delivery that arrives nothing.
DROP INDEX delivery_ended_badly_idx;
CREATE INDEX delivery_ended_badly_idx ON delivery (account_id, livemode, state, sequence, last_error_class, last_status_code, type, endpoint_id, created_at)
    WHERE state IN ('failed', 'cancelled');

-- The errors in the log of API requests, with what they are filtered by.
DROP INDEX api_request_error_idx;
CREATE INDEX api_request_error_idx ON api_request (account_id, livemode, error_code, id) INCLUDE (method, key_id) WHERE error_code <> '';

-- +goose Down
DROP INDEX api_request_error_idx;
CREATE INDEX api_request_error_idx ON api_request (account_id, livemode, error_code, id) WHERE error_code <> '';
DROP INDEX delivery_ended_badly_idx;
CREATE INDEX delivery_ended_badly_idx ON delivery (account_id, livemode, sequence) WHERE state IN ('failed', 'cancelled');
