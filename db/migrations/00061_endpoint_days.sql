-- +goose Up

-- The attempts of each endpoint and UTC day, for its success rate and response
-- times over 30 days. Counted as attempts are recorded: a receiver that took a
-- million deliveries is read as 30 rows.
CREATE TABLE endpoint_day (
    endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    day date NOT NULL,
    attempts bigint NOT NULL,
    delivered bigint NOT NULL,
    times bigint[] NOT NULL, -- attempts by how long they took, in steps 9 % apart from 1 ms
    PRIMARY KEY (endpoint_id, day)
);
CREATE INDEX endpoint_day_day_idx ON endpoint_day (day);

-- +goose Down
DROP TABLE endpoint_day;
