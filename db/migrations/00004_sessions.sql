-- +goose Up

-- Sessions of customers, their answers and links, and what erasing leaves.

-- A customer's collection session.
CREATE TABLE session (
    id                 uuid PRIMARY KEY,
    account_id         uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode           boolean NOT NULL,
    status             text NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'expired', 'cancelled')),
    form_type          text NOT NULL,
    customer_email     text NOT NULL,
    customer_name      text,
    reference_id       text,
    webhook_url        text,
    metadata           json NOT NULL, -- as it was written, numbers too
    sections_completed smallint DEFAULT 0 NOT NULL,
    created_at         timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    accessed_at        timestamptz,
    completed_at       timestamptz,
    cancelled_at       timestamptz,
    last_activity_at   timestamptz, -- the last opening or save (D48)
    pdf_ready_at       timestamptz,
    erased_at          timestamptz, -- when retention deleted PDF and documents
    -- Who created it, as they were called then.
    created_by_kind    text,
    created_by         text,
    -- When what was entered was erased, by retention or on request. A request also erases who
    -- the customer is, at customer_erased_at.
    data_erased_at     timestamptz,
    -- What a session has uploaded in all, refused and removed files included, so that one link
    -- can't fill the disk.
    uploaded_bytes     bigint DEFAULT 0 NOT NULL,
    customer_erased_at timestamptz,
    -- The language in which the partner wants the form to open; NULL: the browser's.
    language           text,
    -- The SHA-256 of a session's PDF as it was issued. It outlives the PDF, so that a copy can
    -- be verified after the retention; erasing the customer deletes it.
    pdf_sha256         bytea CHECK (octet_length(pdf_sha256) = 32),
    -- Whether the partner gave answers at creation: the session's link shows it before the customer has opened
    -- the form.
    prefilled          boolean DEFAULT false NOT NULL,
    -- A session's link can be renewed: the link names this version, and the one before stops.
    -- The first version is not named in links.
    link_version       integer DEFAULT 0 NOT NULL,
    -- Who signed a session's PDF, by the certificate: its subject and who issued it (D81). Like
    -- the digest they outlive the PDF, and erasing the customer deletes them. NULL for a PDF
    -- without a signature.
    pdf_signer         text,
    pdf_signer_issuer  text,
    -- A hash of the secret of the browser that saved last in a session's form. A link for
    -- those who may not read answers opens the form in that browser alone (D92).
    saved_by           text,
    return_url         text, -- where the customer goes back to (D96)
    emailed            boolean DEFAULT false NOT NULL, -- whether Candor emails the link to the customer (D103)
    previous_session_id uuid, -- whose answers this one offers (D101)
    chosen_language    text, -- that the customer chose on a page; null: none yet
    documents          smallint -- that it was submitted with; null: it wasn't
) WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE INDEX session_answers_idx ON session (account_id, completed_at) WHERE status = 'completed' AND data_erased_at IS NULL;
-- The state at the end of what a customer's sessions are found by: a rare one among very many is
-- found in the index, in the list's order, without reading each row. A change of state writes to
-- every index of the row already. The collation makes it a condition that session_status_idx can't
-- meet: that one would read all sessions of the state for a customer who has few.
CREATE INDEX session_email_idx ON session (account_id, livemode, lower(customer_email), created_at DESC, id DESC, status COLLATE "C");
-- For lists of one open state by the end of the link. A session leaves it when it ends, and
-- writes to it only what it writes to session_status_idx and session_overdue_idx anyhow.
CREATE INDEX session_ends_idx ON session (account_id, livemode, status, expires_at, id)
    WHERE status IN ('pending', 'in_progress');
CREATE INDEX session_expired_idx ON session (expires_at, id) WHERE status = 'expired';
-- What the sweep and the readers between two sweeps look for (D11).
CREATE INDEX session_expiring_idx ON session (expires_at) WHERE status IN ('pending', 'in_progress');
-- Retention of files. Its predicate is spelled so that only what names it can use it, and no other index serves instead: by the one of all accounts' ends,
-- session_retention_idx, an account that keeps files for a month was led through those that others
-- keep for three.
CREATE INDEX session_files_idx ON session (account_id, completed_at) WHERE (((status COLLATE "C") = 'completed') AND (erased_at IS NULL));
-- session_files_idx took its place; it goes a release later.
CREATE INDEX session_kept_idx ON session (account_id, completed_at) WHERE status = 'completed' AND erased_at IS NULL;
-- The list's orders and filters (D10).
CREATE INDEX session_list_idx ON session (account_id, livemode, created_at DESC, id DESC);
-- Whether a session was ever opened: where none was, it is seen without reading them all.
CREATE INDEX session_opened_idx ON session (account_id, livemode) WHERE accessed_at IS NOT NULL;
CREATE INDEX session_overdue_idx ON session (account_id, livemode, expires_at) WHERE status IN ('pending', 'in_progress');
CREATE INDEX session_previous_idx ON session (previous_session_id) WHERE previous_session_id IS NOT NULL;
CREATE INDEX session_reference_idx ON session (account_id, livemode, reference_id, created_at DESC, id DESC, status COLLATE "C") WHERE reference_id IS NOT NULL;
CREATE INDEX session_retention_idx ON session (completed_at) WHERE status = 'completed' AND erased_at IS NULL;
CREATE INDEX session_status_idx ON session (account_id, livemode, status, created_at DESC, id DESC);
CREATE INDEX session_unsubmitted_idx ON session (account_id, COALESCE(cancelled_at, expires_at)) WHERE ((status IN ('expired', 'cancelled')) AND (data_erased_at IS NULL));
CREATE INDEX session_without_pdf_idx ON session (completed_at) WHERE status = 'completed' AND pdf_ready_at IS NULL AND erased_at IS NULL;

-- One random key a session, sealed by the keyring (D63). It is made when the first answer is
-- stored.
CREATE TABLE session_key (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    sealed     bytea NOT NULL
);

-- One row a session and section: the last valid answers, and what was typed since and isn't valid
-- yet.
CREATE TABLE section (
    session_id   uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    name         text NOT NULL,
    answers      bytea,
    draft        bytea,
    completed_at timestamptz,
    updated_at   timestamptz NOT NULL,
    -- When the customer first saw the section, and what the form has
    -- refused in it, "field message" each, once each and without what was typed.
    reached_at   timestamptz,
    problems     text[] DEFAULT '{}' NOT NULL,
    -- What the partner gave of a section's answers when it made the session, sealed by the
    -- session's key.
    prefill      bytea,
    -- What the customer of a former session left in the section, and what the partner asks for
    -- there (D102). Both are sealed by this session's data key.
    offered      bytea,
    ask          bytea,
    -- Whose telephone number it is, as a keyed hash (D132). It is in the section of the answers,
    -- so that it is erased with them.
    phone_hash   text,
    PRIMARY KEY (session_id, name)
);
-- Ids begin with the time of creation: the newest sessions of a number are at the end.
CREATE INDEX section_phone_idx ON section (phone_hash, session_id) WHERE phone_hash IS NOT NULL;
ALTER TABLE section ALTER COLUMN answers SET STORAGE EXTERNAL;
ALTER TABLE section ALTER COLUMN draft SET STORAGE EXTERNAL;
ALTER TABLE section ALTER COLUMN prefill SET STORAGE EXTERNAL;

-- Who used a session's link: a row for each browser, the latest ones, and one row for all wrong
-- links, so that no flood of them grows it.
CREATE TABLE link_use (
    session_id uuid NOT NULL REFERENCES session,
    kind       text NOT NULL CHECK (kind IN ('opened', 'replaced', 'wrong', 'elsewhere')),
    user_agent text DEFAULT '' NOT NULL,
    address    text DEFAULT '' NOT NULL,
    times      integer DEFAULT 1 NOT NULL,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (session_id, kind, user_agent, address)
);
CREATE INDEX link_use_last_at_idx ON link_use (last_at);

-- The receipt for an erasure on request: what there was, and none of it.
CREATE TABLE erasure (
    id            uuid PRIMARY KEY,
    account_id    uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode      boolean NOT NULL,
    session_id    uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    at            timestamptz NOT NULL,
    by_kind       text NOT NULL,
    by_name       text NOT NULL,
    former_status text NOT NULL,
    sections      integer NOT NULL,
    documents     integer NOT NULL,
    pdfs          integer NOT NULL,
    events        integer NOT NULL,
    deliveries    integer NOT NULL,
    CONSTRAINT erasure_session_id_key UNIQUE (session_id)
);

-- The emails that tell customers of a submission, so that a job that runs twice sends one (D83).
CREATE TABLE customer_receipt (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    sent_at    timestamptz NOT NULL
);

-- How Candor emails a session's link to the customer (D103).
CREATE TABLE link_delivery (
    session_id  uuid PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    remind      boolean NOT NULL,
    one_browser boolean NOT NULL,    -- the link is one for those who may not read answers (D92)
    stopped_at  timestamptz,         -- when the customer wanted no more reminders
    look_at     timestamptz          -- when a worker looks what is due; null: never again
);
CREATE INDEX link_delivery_look_idx ON link_delivery (look_at) WHERE look_at IS NOT NULL;

-- Each email, from its first try (D105). It has neither the address nor the link.
CREATE TABLE link_email (
    session_id     uuid NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    kind           text NOT NULL CHECK (kind IN ('link', 'unopened_1', 'unopened_2', 'unfinished_1', 'unfinished_2', 'ending')),
    state          text NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'failed', 'not_sent', 'unknown')),
    tries          smallint DEFAULT 0 NOT NULL,
    first_tried_at timestamptz,
    ended_at       timestamptz,
    problem        text DEFAULT '' NOT NULL,
    -- How often the link was emailed again: each time is a message of its own (D124).
    again          smallint DEFAULT 0 NOT NULL,
    PRIMARY KEY (session_id, kind)
);

-- How many links were emailed on the last day that had any (D106).
CREATE TABLE link_email_count (
    account_id uuid NOT NULL REFERENCES account(id) ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    links      integer NOT NULL,
    PRIMARY KEY (account_id, livemode)
);

-- Sessions that staff cancel, until that can't be undone any more (D126).
CREATE TABLE session_cancel (
    session_id uuid PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    due_at     timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id   text NOT NULL,
    actor_name text NOT NULL,
    address    text NOT NULL
);
CREATE INDEX session_cancel_due_idx ON session_cancel (due_at);

-- Nothing is written of a session that is erased (D90). The lock waits for an erasure under
-- way and then sees what it did: the check of a foreign key waits, too, but inserts. It is
-- a trigger so that every statement is held to it. Retention erases what
-- was entered, and not who opened the link.
-- +goose StatementBegin
CREATE FUNCTION leave_erased() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    erased timestamptz;
BEGIN
    SELECT CASE TG_TABLE_NAME WHEN 'link_use' THEN customer_erased_at ELSE data_erased_at END INTO erased
    FROM session WHERE id = NEW.session_id FOR KEY SHARE;
    IF erased IS NULL THEN
        RETURN NEW;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER customer_receipt_leaves_erased BEFORE INSERT ON customer_receipt FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER link_delivery_leaves_erased BEFORE INSERT ON link_delivery FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER link_email_leaves_erased BEFORE INSERT ON link_email FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER link_use_leaves_erased BEFORE INSERT ON link_use FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER section_leaves_erased BEFORE INSERT ON section FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER session_cancel_leaves_erased BEFORE INSERT ON session_cancel FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER session_key_leaves_erased BEFORE INSERT ON session_key FOR EACH ROW EXECUTE FUNCTION leave_erased();
