-- +goose Up

-- What customers read after they have submitted (NULL: that the partner reads it), and
-- whether they get an email that it arrived (D83).
ALTER TABLE account
    ADD COLUMN next_steps    text CHECK (char_length(next_steps) BETWEEN 1 AND 500),
    ADD COLUMN receipt_email boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE account DROP COLUMN receipt_email, DROP COLUMN next_steps;
