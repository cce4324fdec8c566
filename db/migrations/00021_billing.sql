-- +goose Up

ALTER TABLE plan ADD COLUMN rank smallint;
UPDATE plan SET rank = CASE id WHEN 'starter' THEN 1 WHEN 'professional' THEN 2 ELSE 3 END;
ALTER TABLE plan ALTER COLUMN rank SET NOT NULL;

-- billed_to is where the open period starts: everything before is invoiced.
-- closes_at is when the open period ends, null once nothing is left to bill.
-- Whoever creates a live session holds the row FOR KEY SHARE, whoever changes
-- the plan or closes a period FOR UPDATE: so each session falls in one period
-- and under one plan.
ALTER TABLE subscription
    ADD COLUMN billed_to    timestamptz,
    ADD COLUMN closes_at    timestamptz,
    ADD COLUMN next_plan_id text REFERENCES plan, -- from the period's end on
    ADD COLUMN reason       text;                 -- of the cancellation
UPDATE subscription SET billed_to = started_at,
    closes_at = least(started_at AT TIME ZONE 'UTC' + interval '1 month', effective_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
ALTER TABLE subscription ALTER COLUMN billed_to SET NOT NULL;
CREATE INDEX subscription_closing_idx ON subscription (closes_at) WHERE closes_at IS NOT NULL;

-- Changes of plan within a period, with how many sessions were used before.
CREATE TABLE plan_change (
    subscription_id uuid        NOT NULL REFERENCES subscription ON DELETE CASCADE,
    number          smallint    NOT NULL, -- within the period, from 1
    period_start    timestamptz NOT NULL,
    at              timestamptz NOT NULL,
    from_plan_id    text        NOT NULL REFERENCES plan,
    to_plan_id      text        NOT NULL REFERENCES plan,
    used            bigint      NOT NULL,
    PRIMARY KEY (subscription_id, period_start, number)
);

-- Invoice numbers have no gap: taken in the transaction that stores the invoice.
CREATE TABLE invoice_number (last bigint NOT NULL);
INSERT INTO invoice_number VALUES (0);

CREATE TABLE invoice (
    id               uuid PRIMARY KEY,
    number           bigint      NOT NULL UNIQUE,
    account_id       uuid        NOT NULL REFERENCES account,
    subscription_id  uuid        NOT NULL REFERENCES subscription,
    period_start     timestamptz NOT NULL,
    period_end       timestamptz NOT NULL,
    issued_at        timestamptz NOT NULL,
    due_at           timestamptz NOT NULL,
    account_name     text        NOT NULL,
    billing_email    text        NOT NULL,
    currency         text        NOT NULL,
    sessions_used    bigint      NOT NULL,
    lines            jsonb       NOT NULL,
    total_cents      bigint      NOT NULL CHECK (total_cents >= 0),
    gst_basis_points integer     NOT NULL CHECK (gst_basis_points >= 0),
    gst_cents        bigint      NOT NULL CHECK (gst_cents >= 0),
    status           text        NOT NULL CHECK (status IN ('open', 'paid', 'failed', 'void')),
    failures         smallint    NOT NULL DEFAULT 0,
    failure_reason   text,
    next_attempt_at  timestamptz,
    settled_at       timestamptz, -- paid or void
    reference        text,        -- of the payment, or why it is void
    UNIQUE (subscription_id, period_start),
    CHECK ((status IN ('paid', 'void')) = (settled_at IS NOT NULL)),
    CHECK (settled_at IS NULL OR next_attempt_at IS NULL)
);
CREATE INDEX invoice_account_idx ON invoice (account_id, number DESC);
CREATE INDEX invoice_attempt_idx ON invoice (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX invoice_unsettled_idx ON invoice (number) WHERE settled_at IS NULL;

-- An invoice is what was sent out: only its payment moves on, and only to an
-- end.
-- +goose StatementBegin
CREATE FUNCTION keep_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'invoices are kept';
    END IF;
    IF OLD.settled_at IS NOT NULL THEN
        RAISE EXCEPTION 'invoice % is settled', OLD.number;
    END IF;
    IF (NEW.id, NEW.number, NEW.account_id, NEW.subscription_id, NEW.period_start, NEW.period_end, NEW.issued_at, NEW.due_at, NEW.account_name,
            NEW.billing_email, NEW.currency, NEW.sessions_used, NEW.lines, NEW.total_cents, NEW.gst_basis_points, NEW.gst_cents)
        IS DISTINCT FROM
        (OLD.id, OLD.number, OLD.account_id, OLD.subscription_id, OLD.period_start, OLD.period_end, OLD.issued_at, OLD.due_at, OLD.account_name,
            OLD.billing_email, OLD.currency, OLD.sessions_used, OLD.lines, OLD.total_cents, OLD.gst_basis_points, OLD.gst_cents) THEN
        RAISE EXCEPTION 'invoice % is issued', OLD.number;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER invoice_kept BEFORE UPDATE OR DELETE ON invoice FOR EACH ROW EXECUTE FUNCTION keep_invoice();

-- What a payment provider has told us, so that nothing counts twice.
CREATE TABLE payment_event (
    provider   text        NOT NULL,
    id         text        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (provider, id)
);

-- How an account pays, where a provider collects by itself.
CREATE TABLE payment_method (
    account_id  uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    provider    text NOT NULL,
    customer_id text NOT NULL, -- the account's at the provider
    method_id   text,          -- null until one is stored there
    label       text,          -- as the account's staff know it, "Visa ending in 4242"
    method_at   timestamptz,   -- when it was made there: news of an older one changes nothing
    UNIQUE (provider, customer_id)
);

-- Which thresholds of a period's usage were told of, in percent.
CREATE TABLE usage_notice (
    account_id   uuid        NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    percent      integer     NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (account_id, period_start, percent)
);

-- +goose Down
DROP TABLE usage_notice, payment_method, payment_event, invoice, invoice_number, plan_change;
DROP FUNCTION keep_invoice();
DROP INDEX subscription_closing_idx;
ALTER TABLE subscription DROP COLUMN reason, DROP COLUMN next_plan_id, DROP COLUMN closes_at, DROP COLUMN billed_to;
ALTER TABLE plan DROP COLUMN rank;
