-- +goose Up

-- The same, in half the time for metadata without any escape: a pattern costs more than a constant.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION readable(metadata json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(metadata::text, '\u') > 0 AND metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}'::json ELSE metadata END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION readable(metadata json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}'::json ELSE metadata END
$$;
-- +goose StatementEnd
