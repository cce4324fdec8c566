-- +goose Up

-- The running workers, by their ids in river_job.attempted_by. One that has shown no sign
-- of life for some seconds is dead, and its jobs are for others (D95).
CREATE TABLE worker (
    id       text PRIMARY KEY,
    alive_at timestamptz NOT NULL,
    since    timestamptz NOT NULL -- of the signs without a gap
);

-- +goose Down
DROP TABLE worker;
