-- +goose Up

-- A person's views of the list of sessions of a mode (D144).
CREATE TABLE staff_view (
    staff_id uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    livemode boolean NOT NULL,
    name     text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 40),
    folded   text NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    query    text NOT NULL,
    PRIMARY KEY (staff_id, livemode, folded)
);

-- +goose Down
DROP TABLE staff_view;
