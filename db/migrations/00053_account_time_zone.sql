-- +goose Up

-- The zone of the dashboard, its emails and its exports (D62). The check calls
-- PostgreSQL's own list of zones: counters convert times with this name, and a
-- name that PostgreSQL doesn't know would fail every new session.
ALTER TABLE account
    ADD COLUMN time_zone text NOT NULL DEFAULT 'Australia/Sydney'
        CHECK (timestamptz '2026-01-01 00:00:00+00' AT TIME ZONE time_zone IS NOT NULL);

-- +goose Down
ALTER TABLE account DROP COLUMN time_zone;
