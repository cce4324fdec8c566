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
    pdf_signer_issuer  text
) WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE INDEX session_answers_idx ON session (account_id, completed_at) WHERE status = 'completed' AND data_erased_at IS NULL;
-- The state at the end of what a customer's sessions are found by: a rare one among very many is
-- found in the index, in the list's order, without reading each row. A change of state writes to
-- every index of the row already. The collation makes it a condition that session_status_idx can't
-- meet: that one would read all sessions of the state for a customer who has few.
CREATE INDEX session_email_idx ON session (account_id, livemode, lower(customer_email), created_at DESC, id DESC, status COLLATE "C");
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
    PRIMARY KEY (session_id, name)
);
ALTER TABLE section ALTER COLUMN answers SET STORAGE EXTERNAL;
ALTER TABLE section ALTER COLUMN draft SET STORAGE EXTERNAL;
ALTER TABLE section ALTER COLUMN prefill SET STORAGE EXTERNAL;

-- Who used a session's link: a row for each browser, the latest ones, and one row for all wrong
-- links, so that no flood of them grows it.
CREATE TABLE link_use (
    session_id uuid NOT NULL REFERENCES session,
    kind       text NOT NULL CHECK (kind IN ('opened', 'replaced', 'wrong')),
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

-- Sessions that hold clear values of earlier releases. An upkeep job seals them. A sealed value
-- begins with the byte 1, which none of the clear ones does.
CREATE TABLE unsealed_session (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE
);

-- The emails that tell customers of a submission, so that a job that runs twice sends one (D83).
CREATE TABLE customer_receipt (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    sent_at    timestamptz NOT NULL
);
