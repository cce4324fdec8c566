-- +goose Up

-- What an account sets about its invoices and spending. No row: nothing is set.
CREATE TABLE billing_setting (
    account_id uuid  PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    buyer      jsonb NOT NULL DEFAULT '{}' -- name, ABN, address and purchase order for its invoices
);

-- To whom the invoice was issued, as the PDF says it; null on those from before,
-- which have the account's name alone.
ALTER TABLE invoice ADD COLUMN buyer jsonb;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION keep_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION keep_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'invoices are kept';
    END IF;
    IF OLD.settled_at IS NOT NULL THEN
        RAISE EXCEPTION 'invoice % is settled', OLD.number;
    END IF;
    IF (NEW.id, NEW.number, NEW.account_id, NEW.subscription_id, NEW.period_start, NEW.period_end, NEW.issued_at, NEW.due_at, NEW.account_name,
            NEW.billing_email, NEW.currency, NEW.sessions_used, NEW.lines, NEW.total_cents, NEW.gst_basis_points, NEW.gst_cents, NEW.seller)
        IS DISTINCT FROM
        (OLD.id, OLD.number, OLD.account_id, OLD.subscription_id, OLD.period_start, OLD.period_end, OLD.issued_at, OLD.due_at, OLD.account_name,
            OLD.billing_email, OLD.currency, OLD.sessions_used, OLD.lines, OLD.total_cents, OLD.gst_basis_points, OLD.gst_cents, OLD.seller) THEN
        RAISE EXCEPTION 'invoice % is issued', OLD.number;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
ALTER TABLE invoice DROP COLUMN buyer;
DROP TABLE billing_setting;
