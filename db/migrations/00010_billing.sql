-- +goose Up

-- Plans, subscriptions, invoices and payments.

-- What an account can subscribe to.
CREATE TABLE plan (
    id                text PRIMARY KEY,
    name              text NOT NULL,
    sessions_included integer, -- null: unlimited (D41)
    overage_cents     bigint, -- null: none (D41)
    rank              smallint NOT NULL -- a higher one is a step up
);
INSERT INTO plan (id, name, sessions_included, overage_cents, rank) VALUES
    ('starter', 'Starter', 10, 1000, 1),
    ('professional', 'Professional', 100, 500, 2),
    ('enterprise', 'Enterprise', NULL, NULL, 3);

-- Periods are months counted from started_at, UTC (D42).
CREATE TABLE subscription (
    id               uuid PRIMARY KEY,
    account_id       uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    plan_id          text NOT NULL REFERENCES plan,
    status           text NOT NULL CHECK (status IN ('active', 'past_due', 'cancelled')),
    started_at       timestamptz NOT NULL,
    effective_at     timestamptz, -- when a cancellation takes effect (D43)
    -- billed_to is where the open period starts: everything before is invoiced. closes_at is
    -- when the open period ends, null once nothing is left to bill. Whoever creates a live
    -- session holds the row FOR KEY SHARE, whoever changes the plan or closes a period FOR
    -- UPDATE: so each session falls in one period and under one plan.
    billed_to        timestamptz NOT NULL,
    closes_at        timestamptz,
    next_plan_id     text REFERENCES plan, -- from the period's end on
    reason           text, -- of the cancellation
    -- Sessions of an interrupted period count against the included ones of the first period of
    -- the subscription that follows. carried_until is when the period that was interrupted
    -- first would have ended.
    carried_sessions integer DEFAULT 0 NOT NULL CHECK (carried_sessions >= 0),
    carried_until    timestamptz,
    CONSTRAINT subscription_carried_check CHECK ((carried_sessions > 0) = (carried_until IS NOT NULL))
);
CREATE INDEX subscription_account_idx ON subscription (account_id, started_at DESC);
CREATE INDEX subscription_closing_idx ON subscription (closes_at) WHERE closes_at IS NOT NULL;
CREATE UNIQUE INDEX subscription_current_key ON subscription (account_id) WHERE effective_at IS NULL;

-- Changes of plan within a period, with how many sessions were used before.
CREATE TABLE plan_change (
    subscription_id uuid NOT NULL REFERENCES subscription ON DELETE CASCADE,
    number          smallint NOT NULL, -- within the period, from 1
    period_start    timestamptz NOT NULL,
    at              timestamptz NOT NULL,
    from_plan_id    text NOT NULL REFERENCES plan,
    to_plan_id      text NOT NULL REFERENCES plan,
    used            bigint NOT NULL,
    PRIMARY KEY (subscription_id, period_start, number)
);

-- Live sessions counted in the transaction that creates them (D42). Spread over shards so that
-- creations side by side don't queue for one row.
CREATE TABLE subscription_usage (
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    shard        smallint NOT NULL,
    sessions     bigint NOT NULL,
    PRIMARY KEY (account_id, period_start, shard)
);

-- Which thresholds of a period's usage were told of, in percent.
CREATE TABLE usage_notice (
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    percent      integer NOT NULL,
    at           timestamptz NOT NULL,
    -- A threshold is of a plan: after a step up all of them are still to come.
    plan_id      text NOT NULL REFERENCES plan,
    PRIMARY KEY (account_id, period_start, plan_id, percent)
);

-- What an account sets about its invoices and spending. No row: nothing is set.
CREATE TABLE billing_setting (
    account_id      uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    buyer           jsonb DEFAULT '{}' NOT NULL, -- name, ABN, address and purchase order for its invoices
    -- At spend_cap_cents a period, live sessions that cost something are refused; null for no
    -- cap. At each of alert_cents the account gets an email.
    spend_cap_cents bigint CHECK (spend_cap_cents >= 0),
    alert_cents     bigint[] DEFAULT '{}' NOT NULL
);

-- Which alerts and caps of a period were told.
CREATE TABLE spend_notice (
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    cap          boolean NOT NULL, -- of the cap, else an alert
    cents        bigint NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (account_id, period_start, cap, cents)
);

-- Invoice numbers have no gap: taken in the transaction that stores the invoice.
CREATE TABLE invoice_number (
    last bigint NOT NULL
);
-- There is one last invoice number, and it goes up by one.
CREATE UNIQUE INDEX invoice_number_one_idx ON invoice_number ((true));
INSERT INTO invoice_number VALUES (0);

-- An issued invoice, with everything that its PDF says (doc/adr/030).
CREATE TABLE invoice (
    id               uuid PRIMARY KEY,
    number           bigint NOT NULL,
    account_id       uuid NOT NULL REFERENCES account,
    subscription_id  uuid NOT NULL REFERENCES subscription,
    period_start     timestamptz NOT NULL,
    period_end       timestamptz NOT NULL,
    issued_at        timestamptz NOT NULL,
    due_at           timestamptz NOT NULL,
    account_name     text NOT NULL,
    billing_email    text NOT NULL,
    currency         text NOT NULL,
    sessions_used    bigint NOT NULL,
    lines            jsonb NOT NULL,
    total_cents      bigint NOT NULL CHECK (total_cents >= 0),
    gst_basis_points integer NOT NULL CHECK (gst_basis_points >= 0),
    gst_cents        bigint NOT NULL CHECK (gst_cents >= 0),
    status           text NOT NULL CHECK (status IN ('open', 'paid', 'failed', 'void')),
    failures         smallint DEFAULT 0 NOT NULL,
    failure_reason   text,
    next_attempt_at  timestamptz,
    settled_at       timestamptz, -- paid or void
    reference        text, -- of the payment, or why it is void
    -- Who issued the invoice and how it is to be paid, as the PDF says it.
    seller           jsonb,
    -- How many of the failed payments were noted before the invoice was due.
    early_failures   smallint DEFAULT 0 NOT NULL,
    -- To whom the invoice was issued, as the PDF says it.
    buyer            jsonb,
    -- When the reminder before the due date was sent; null if it wasn't.
    reminded_at      timestamptz,
    CONSTRAINT invoice_check CHECK ((status IN ('paid', 'void')) = (settled_at IS NOT NULL)),
    CONSTRAINT invoice_check1 CHECK ((settled_at IS NULL) OR (next_attempt_at IS NULL)),
    CONSTRAINT invoice_number_key UNIQUE (number),
    CONSTRAINT invoice_subscription_id_period_start_key UNIQUE (subscription_id, period_start)
);
CREATE INDEX invoice_account_idx ON invoice (account_id, number DESC);
CREATE INDEX invoice_attempt_idx ON invoice (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
-- The recount looks at the invoices of the last days.
CREATE INDEX invoice_issued_idx ON invoice (issued_at);
CREATE INDEX invoice_unsettled_idx ON invoice (number) WHERE settled_at IS NULL;

-- How an account pays, where a provider collects by itself.
CREATE TABLE payment_method (
    account_id  uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    provider    text NOT NULL,
    customer_id text NOT NULL, -- the account's at the provider
    method_id   text, -- null until one is stored there
    label       text, -- as the account's staff know it, "Visa ending in 4242"
    method_at   timestamptz, -- when it was made there: news of an older one changes nothing
    CONSTRAINT payment_method_provider_customer_id_key UNIQUE (provider, customer_id)
);

-- What a payment provider has told us, so that nothing counts twice.
CREATE TABLE payment_event (
    provider   text NOT NULL,
    id         text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (provider, id)
);

-- An invoice is what was sent out: only its payment moves on, and only to an end.
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
            NEW.billing_email, NEW.currency, NEW.sessions_used, NEW.lines, NEW.total_cents, NEW.gst_basis_points, NEW.gst_cents, NEW.seller, NEW.buyer)
        IS DISTINCT FROM
        (OLD.id, OLD.number, OLD.account_id, OLD.subscription_id, OLD.period_start, OLD.period_end, OLD.issued_at, OLD.due_at, OLD.account_name,
            OLD.billing_email, OLD.currency, OLD.sessions_used, OLD.lines, OLD.total_cents, OLD.gst_basis_points, OLD.gst_cents, OLD.seller, OLD.buyer) THEN
        RAISE EXCEPTION 'invoice % is issued', OLD.number;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION keep_invoice_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.last IS DISTINCT FROM OLD.last + 1 THEN
        RAISE EXCEPTION 'invoice numbers go up by one';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

CREATE TRIGGER invoice_kept BEFORE DELETE OR UPDATE ON invoice
    FOR EACH ROW EXECUTE FUNCTION keep_invoice();
CREATE TRIGGER invoice_not_truncated BEFORE TRUNCATE ON invoice
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoice_number_goes_up BEFORE UPDATE ON invoice_number
    FOR EACH ROW EXECUTE FUNCTION keep_invoice_number();
CREATE TRIGGER invoice_number_is_kept BEFORE DELETE OR TRUNCATE ON invoice_number
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
