-- +goose Up

-- At spend_cap_cents a period, live sessions that cost something are refused; null
-- for no cap. At each of alert_cents the account gets an email.
ALTER TABLE billing_setting
    ADD COLUMN spend_cap_cents bigint CHECK (spend_cap_cents >= 0),
    ADD COLUMN alert_cents     bigint[] NOT NULL DEFAULT '{}';

-- Which alerts and caps of a period were told.
CREATE TABLE spend_notice (
    account_id   uuid        NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    cap          boolean     NOT NULL, -- of the cap, else an alert
    cents        bigint      NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (account_id, period_start, cap, cents)
);

-- +goose Down
DROP TABLE spend_notice;
ALTER TABLE billing_setting DROP COLUMN alert_cents, DROP COLUMN spend_cap_cents;
