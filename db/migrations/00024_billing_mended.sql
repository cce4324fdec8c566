-- +goose Up

-- Sessions of an interrupted period count against the included ones of the
-- first period of the subscription that follows. carried_until is when the
-- period that was interrupted first would have ended.
ALTER TABLE subscription
    ADD COLUMN carried_sessions integer NOT NULL DEFAULT 0 CHECK (carried_sessions >= 0),
    ADD COLUMN carried_until    timestamptz,
    ADD CONSTRAINT subscription_carried_check CHECK ((carried_sessions > 0) = (carried_until IS NOT NULL));

-- A threshold is of a plan: after a step up all of them are still to come.
ALTER TABLE usage_notice ADD COLUMN plan_id text REFERENCES plan;
UPDATE usage_notice n SET plan_id = coalesce(
    (SELECT c.from_plan_id FROM plan_change c JOIN subscription s ON s.id = c.subscription_id
        WHERE s.account_id = n.account_id AND c.period_start = n.period_start AND c.at > n.at ORDER BY c.number LIMIT 1),
    (SELECT s.plan_id FROM subscription s WHERE s.account_id = n.account_id AND s.started_at <= n.at ORDER BY s.started_at DESC LIMIT 1),
    'starter');
ALTER TABLE usage_notice
    ALTER COLUMN plan_id SET NOT NULL,
    DROP CONSTRAINT usage_notice_pkey,
    ADD PRIMARY KEY (account_id, period_start, plan_id, percent);

-- The recount looks at the invoices of the last days.
CREATE INDEX invoice_issued_idx ON invoice (issued_at);

CREATE TRIGGER invoice_not_truncated BEFORE TRUNCATE ON invoice FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- There is one last invoice number, and it goes up by one.
CREATE UNIQUE INDEX invoice_number_one_idx ON invoice_number ((true));
-- +goose StatementBegin
CREATE FUNCTION keep_invoice_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.last IS DISTINCT FROM OLD.last + 1 THEN
        RAISE EXCEPTION 'invoice numbers go up by one';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER invoice_number_goes_up BEFORE UPDATE ON invoice_number FOR EACH ROW EXECUTE FUNCTION keep_invoice_number();
CREATE TRIGGER invoice_number_is_kept BEFORE DELETE OR TRUNCATE ON invoice_number FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TRIGGER invoice_number_is_kept ON invoice_number;
DROP TRIGGER invoice_number_goes_up ON invoice_number;
DROP FUNCTION keep_invoice_number();
DROP INDEX invoice_number_one_idx;
DROP TRIGGER invoice_not_truncated ON invoice;
DROP INDEX invoice_issued_idx;
DELETE FROM usage_notice n USING usage_notice o
    WHERE o.account_id = n.account_id AND o.period_start = n.period_start AND o.percent = n.percent AND o.plan_id < n.plan_id;
ALTER TABLE usage_notice DROP CONSTRAINT usage_notice_pkey, DROP COLUMN plan_id, ADD PRIMARY KEY (account_id, period_start, percent);
ALTER TABLE subscription DROP COLUMN carried_until, DROP COLUMN carried_sessions;
