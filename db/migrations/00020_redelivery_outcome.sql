-- +goose Up

-- What became of the deliveries that a redelivery made again. Its condition is
-- spelled as no other query's, so that none is led here instead of to its own.
CREATE INDEX delivery_redelivery_idx ON delivery (redelivery_id, state) WHERE redelivery_id > '00000000-0000-0000-0000-000000000000';

-- +goose Down
DROP INDEX delivery_redelivery_idx;
