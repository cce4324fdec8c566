-- +goose Up

-- When a customer's data was erased on request, and the receipt for it, which
-- says what there was and holds none of it.
ALTER TABLE session ADD COLUMN data_erased_at timestamptz;

CREATE TABLE erasure (
    id            uuid PRIMARY KEY,
    account_id    uuid        NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode      boolean     NOT NULL,
    session_id    uuid        NOT NULL UNIQUE REFERENCES session ON DELETE CASCADE,
    at            timestamptz NOT NULL,
    by_kind       text        NOT NULL,
    by_name       text        NOT NULL,
    former_status text        NOT NULL,
    sections      integer     NOT NULL,
    documents     integer     NOT NULL,
    pdfs          integer     NOT NULL,
    events        integer     NOT NULL,
    deliveries    integer     NOT NULL
);

-- +goose Down
DROP TABLE erasure;
ALTER TABLE session DROP COLUMN data_erased_at;
