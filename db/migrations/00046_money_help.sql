-- +goose Up

-- Where customers in money trouble get free help; NULL for the National Debt
-- Helpline.
ALTER TABLE account
    ADD COLUMN money_help     text,
    ADD COLUMN money_help_url text CHECK (money_help_url IS NULL OR money_help_url LIKE 'https://%' AND money_help IS NOT NULL);

-- +goose Down
ALTER TABLE account DROP COLUMN money_help_url, DROP COLUMN money_help;
