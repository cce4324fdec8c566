-- +goose Up

-- A delivery is pending exactly while it has a next attempt and no end.
ALTER TABLE delivery ADD CONSTRAINT delivery_pending_check
    CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL) AND (state = 'pending') = (finished_at IS NULL));

-- What is pending is little beside what isn't, comes in bursts, and has gone
-- when statistics are gathered: to the planner all indexes of it are empty and
-- as good as each other. So each is spelled in its own way, and a query that
-- spells it that way has no other to choose.
DROP INDEX delivery_due_idx, delivery_turn_idx, delivery_redelivered_idx;
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, next_attempt_at, sequence) WHERE next_attempt_at IS NOT NULL;
-- The deliveries that later ones of the same session wait for.
CREATE INDEX delivery_turn_idx ON delivery (session_id, endpoint_id, sequence) WHERE finished_at IS NULL AND attempts_total = 0;
-- What redeliveries have made pending at an endpoint and wasn't attempted yet.
CREATE INDEX delivery_redelivered_idx ON delivery (endpoint_id) WHERE finished_at IS NULL AND attempts = 0 AND redelivery_id IS NOT NULL;

-- A claim changes no column that is indexed: with room in the page it costs no
-- entry in any index. The room is used up by the version that is delivered.
ALTER TABLE delivery SET (fillfactor = 50);

-- +goose Down
ALTER TABLE delivery RESET (fillfactor);
DROP INDEX delivery_redelivered_idx, delivery_turn_idx, delivery_due_idx;
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, next_attempt_at, sequence) WHERE state = 'pending';
CREATE INDEX delivery_turn_idx ON delivery (session_id, endpoint_id, sequence) WHERE state = 'pending' AND attempts_total = 0;
CREATE INDEX delivery_redelivered_idx ON delivery (endpoint_id) WHERE state = 'pending' AND attempts = 0 AND redelivery_id IS NOT NULL;
ALTER TABLE delivery DROP CONSTRAINT delivery_pending_check;
