-- +goose Up

ALTER TABLE webhook_setting ADD COLUMN next_secret_at timestamptz; -- when the next secret was created; null without one
UPDATE webhook_setting SET next_secret_at = now() WHERE next_secret IS NOT NULL;
ALTER TABLE webhook_setting
    ADD CONSTRAINT webhook_setting_next_check CHECK ((next_secret IS NULL) = (next_secret_at IS NULL)),
    ADD CONSTRAINT webhook_setting_previous_check CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL));
CREATE INDEX webhook_setting_previous_idx ON webhook_setting (previous_secret_until) WHERE previous_secret IS NOT NULL;

-- +goose Down
DROP INDEX webhook_setting_previous_idx;
ALTER TABLE webhook_setting DROP CONSTRAINT webhook_setting_previous_check, DROP CONSTRAINT webhook_setting_next_check, DROP COLUMN next_secret_at;
