-- +goose Up

-- What an account wants for its sessions, and its logo. The logo's name is a
-- hash of its bytes, which are read by it alone.
ALTER TABLE account
    ADD COLUMN default_expires_in_days smallint NOT NULL DEFAULT 30 CHECK (default_expires_in_days BETWEEN 1 AND 90),
    ADD COLUMN retention_days          smallint NOT NULL DEFAULT 90 CHECK (retention_days BETWEEN 1 AND 90),
    ADD COLUMN logo                    bytea,
    ADD COLUMN logo_name               text,
    ADD COLUMN logo_width              smallint, -- pixels
    ADD COLUMN logo_height             smallint,
    ADD CONSTRAINT account_logo_check
        CHECK (num_nulls(logo, logo_name, logo_width, logo_height) IN (0, 4));

CREATE INDEX account_logo_idx ON account (logo_name) WHERE logo_name IS NOT NULL;

-- Retention looks for each account's own; reconciliation goes by time alone.
CREATE INDEX session_kept_idx ON session (account_id, completed_at) WHERE status = 'completed' AND erased_at IS NULL;

-- +goose Down
DROP INDEX session_kept_idx;
DROP INDEX account_logo_idx;
ALTER TABLE account
    DROP CONSTRAINT account_logo_check,
    DROP COLUMN logo_height, DROP COLUMN logo_width, DROP COLUMN logo_name, DROP COLUMN logo,
    DROP COLUMN retention_days, DROP COLUMN default_expires_in_days;
