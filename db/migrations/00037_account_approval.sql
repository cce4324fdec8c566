-- +goose Up

-- Live mode opens when an operator approves the account (D52). Accounts from
-- before have it.
ALTER TABLE account ADD COLUMN approved_at timestamptz;
UPDATE account SET approved_at = created_at;

-- +goose Down
ALTER TABLE account DROP COLUMN approved_at;
