-- The schema that the migrations make, for reading. Tables of River and of the
-- migration tool are left out. Generated: go test ./db -run TestSchemaDump -update

CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;

COMMENT ON EXTENSION btree_gin IS 'support for indexing common datatypes in GIN';

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE FUNCTION public.add_at(counts bigint[], place integer, n bigint) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    IF place IS NULL THEN
        RETURN counts;
    END IF;
    counts := counts || array_fill(0::bigint, ARRAY[greatest(0, place - cardinality(counts))]);
    counts[place] := counts[place] + n;
    RETURN counts;
END $$;

CREATE FUNCTION public.count_form() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    PERFORM count_progress(NEW.account_id, NEW.livemode, NEW.created_at, '', OLD.accessed_at IS NULL AND NEW.accessed_at IS NOT NULL, completes,
        CASE WHEN completes THEN extract(epoch FROM NEW.completed_at - NEW.created_at)::bigint END);
    RETURN NULL;
END $$;

CREATE FUNCTION public.count_progress(account uuid, live boolean, created timestamp with time zone, name text, reaches boolean, completes boolean, spent bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    step integer := time_step(spent);
    time bigint := greatest(spent, 0);
BEGIN
    INSERT INTO form_count AS c (account_id, livemode, day, section, reached, completed, times, seconds)
    VALUES (account, live, (created AT TIME ZONE (SELECT a.time_zone FROM account a WHERE a.id = count_progress.account))::date, name, reaches::int, completes::int, add_at('{}', step, 1), add_at('{}', step, time))
    ON CONFLICT (account_id, livemode, day, section) DO UPDATE SET
        reached = c.reached + excluded.reached, completed = c.completed + excluded.completed,
        times = add_at(c.times, step, 1), seconds = add_at(c.seconds, step, time);
END $$;

CREATE FUNCTION public.count_section() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    s record;
    reaches boolean := OLD.reached_at IS NULL AND NEW.reached_at IS NOT NULL;
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    SELECT account_id, livemode, created_at INTO s FROM session WHERE id = NEW.session_id;
    IF reaches OR completes THEN
        PERFORM count_progress(s.account_id, s.livemode, s.created_at, NEW.name, reaches, completes,
            CASE WHEN completes AND NEW.completed_at > OLD.reached_at THEN extract(epoch FROM NEW.completed_at - OLD.reached_at)::bigint END);
    END IF;
    IF NEW.problems <> coalesce(OLD.problems, '{}') THEN
        INSERT INTO form_problem_count AS c (account_id, livemode, day, section, field, problem, sessions)
        SELECT s.account_id, s.livemode, (s.created_at AT TIME ZONE (SELECT a.time_zone FROM account a WHERE a.id = s.account_id))::date, NEW.name, split_part(p, ' ', 1), substr(p, strpos(p, ' ') + 1), 1
        FROM (SELECT unnest(NEW.problems) EXCEPT SELECT unnest(OLD.problems)) AS fresh (p)
        ORDER BY p -- all in one order, or transactions deadlock
        ON CONFLICT (account_id, livemode, day, section, field, problem) DO UPDATE SET sessions = c.sessions + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.count_sessions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO session_count AS c (account_id, livemode, day, shard, ahead, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, count_shard(ahead), ahead,
               sum(created), sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (at AT TIME ZONE 'UTC')::date AS day,
                   (at AT TIME ZONE (SELECT time_zone FROM account a WHERE a.id = n.account_id))::date - (at AT TIME ZONE 'UTC')::date AS ahead,
                   created, pending, in_progress, completed, expired, cancelled, seconds, that_day
            FROM (
                SELECT account_id, livemode, created_at AS at, 1 AS created,
                       (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                       (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                       coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
                FROM after_rows
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
            ) n
        ) n
        GROUP BY account_id, livemode, day, ahead
        ORDER BY account_id, livemode, day, ahead
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            created = c.created + excluded.created, pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    ELSE
        INSERT INTO session_count AS c (account_id, livemode, day, shard, ahead, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, count_shard(ahead), ahead,
               0, sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (at AT TIME ZONE 'UTC')::date AS day,
                   (at AT TIME ZONE (SELECT time_zone FROM account a WHERE a.id = n.account_id))::date - (at AT TIME ZONE 'UTC')::date AS ahead,
                   pending, in_progress, completed, expired, cancelled, seconds, that_day
            FROM (
                SELECT account_id, livemode, created_at AS at,
                       (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                       (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                       coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
                FROM after_rows
                UNION ALL
                SELECT account_id, livemode, created_at,
                       -(status = 'pending')::int, -(status = 'in_progress')::int, -(status = 'completed')::int,
                       -(status = 'expired')::int, -(status = 'cancelled')::int,
                       -coalesce(extract(epoch FROM completed_at - created_at), 0), 0
                FROM before_rows
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, -1 FROM before_rows WHERE completed_at IS NOT NULL
            ) n
        ) n
        GROUP BY account_id, livemode, day, ahead
        HAVING sum(pending) <> 0 OR sum(in_progress) <> 0 OR sum(completed) <> 0 OR sum(expired) <> 0 OR sum(cancelled) <> 0
            OR sum(seconds) <> 0 OR sum(that_day) <> 0
        ORDER BY account_id, livemode, day, ahead
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.count_shard(ahead integer) RETURNS integer
    LANGUAGE sql
    AS $$
    SELECT 1 + pg_backend_pid() % 16 + CASE ahead WHEN 0 THEN 0 WHEN 1 THEN 32 ELSE 64 END
$$;

CREATE FUNCTION public.keep_invoice() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.keep_invoice_number() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.last IS DISTINCT FROM OLD.last + 1 THEN
        RAISE EXCEPTION 'invoice numbers go up by one';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.keep_session_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM session_search WHERE session_id = OLD.id;
        RETURN NULL;
    END IF;
    INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
    VALUES (NEW.id, NEW.account_id, NEW.livemode, NEW.created_at, session_search_text(NEW.customer_name, NEW.customer_email, NEW.reference_id))
    ON CONFLICT (session_id) DO UPDATE SET text = excluded.text;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.keep_staff_seen() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE staff_user SET seen_at = OLD.seen_at
    WHERE id = OLD.staff_id AND OLD.stage = 'full' AND (seen_at IS NULL OR seen_at < OLD.seen_at);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.leave_erased() RETURNS trigger
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

CREATE FUNCTION public.readable(metadata json) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN strpos(metadata::text, '\u') > 0 AND metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}'::json ELSE metadata END
$$;

CREATE FUNCTION public.refigure_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO session_count (account_id, livemode, day, shard, ahead)
    SELECT DISTINCT c.account_id, c.livemode, c.day, CASE a.ahead WHEN 0 THEN 0 WHEN 1 THEN -1 ELSE -2 END, a.ahead
    FROM session_count c, (VALUES (-1), (0), (1)) a (ahead) WHERE c.account_id = NEW.id ORDER BY 1, 2, 3, 5
    ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET figured = false;
    RETURN NULL;
END $$;

CREATE FUNCTION public.refigure_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.figured := false;
    RETURN NEW;
END $$;

CREATE FUNCTION public.refigure_session() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    utc date := (OLD.created_at AT TIME ZONE 'UTC')::date;
    local date := (OLD.created_at AT TIME ZONE (SELECT time_zone FROM account WHERE id = OLD.account_id))::date;
BEGIN
    IF NEW.customer_erased_at IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'figures', OLD.account_id, OLD.livemode, local), 0));
        DELETE FROM figure_count f USING json_each_text(readable(OLD.metadata)) m
        WHERE (f.account_id, f.livemode, f.name, f.day, f.value) = (OLD.account_id, OLD.livemode, 'metadata.' || m.key, local, m.value);
    END IF;
    INSERT INTO session_count (account_id, livemode, day, shard, ahead)
    VALUES (OLD.account_id, OLD.livemode, utc, count_shard(local - utc), local - utc)
    ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET figured = false;
    RETURN NULL;
END $$;

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.search_new_sessions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
    SELECT id, account_id, livemode, created_at, session_search_text(customer_name, customer_email, reference_id) FROM after_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION public.without_marks(t text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (octet_length(t) = length(t)) THEN t ELSE NORMALIZE(translate(NORMALIZE(replace(replace(replace(replace(replace(replace(t, 'ß'::text, 'ss'::text), 'ẞ'::text, 'ss'::text), 'æ'::text, 'ae'::text), 'Æ'::text, 'ae'::text), 'œ'::text, 'oe'::text), 'Œ'::text, 'oe'::text), NFD), ('đĐøØłŁı'::text || '̧̨̛̣̦̀́̂̃̄̆̇̈̉̊̋̌'::text), 'dDoOlLi'::text), NFC) END;

CREATE FUNCTION public.session_search_text(name text, email text, reference text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower((((((' '::text || COALESCE(public.without_marks(name), ''::text)) || ' '::text) || public.without_marks(email)) || ' '::text) || COALESCE(public.without_marks(reference), ''::text)));

CREATE FUNCTION public.time_step(seconds bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN seconds < 60 THEN 1 ELSE 2 + floor(8 * ln(seconds / 60.0::float8) / ln(2::float8))::integer END
$$;

CREATE TABLE public.account (
    id uuid NOT NULL,
    name text NOT NULL,
    billing_email text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    help_email text,
    help_phone text,
    brand_colour text,
    default_expires_in_days smallint DEFAULT 30 NOT NULL,
    retention_days smallint DEFAULT 90 NOT NULL,
    logo bytea,
    logo_name text,
    logo_width smallint,
    logo_height smallint,
    form_languages text[] DEFAULT '{}'::text[] NOT NULL,
    unsubmitted_days smallint DEFAULT 30 NOT NULL,
    answer_days smallint DEFAULT 0 NOT NULL,
    approved_at timestamp with time zone,
    two_step_required boolean DEFAULT false NOT NULL,
    money_help text,
    money_help_url text,
    time_zone text DEFAULT 'Australia/Sydney'::text NOT NULL,
    next_steps text,
    receipt_email boolean DEFAULT false NOT NULL,
    CONSTRAINT account_answer_days_check CHECK (((answer_days = 0) OR ((answer_days >= 90) AND (answer_days <= 2557)))),
    CONSTRAINT account_brand_colour_check CHECK ((brand_colour ~ '^[0-9a-f]{6}$'::text)),
    CONSTRAINT account_check CHECK (((money_help_url IS NULL) OR ((money_help_url ~~ 'https://%'::text) AND (money_help IS NOT NULL)))),
    CONSTRAINT account_default_expires_in_days_check CHECK (((default_expires_in_days >= 1) AND (default_expires_in_days <= 90))),
    CONSTRAINT account_logo_check CHECK ((num_nulls(logo, logo_name, logo_width, logo_height) = ANY (ARRAY[0, 4]))),
    CONSTRAINT account_next_steps_check CHECK (((char_length(next_steps) >= 1) AND (char_length(next_steps) <= 500))),
    CONSTRAINT account_retention_days_check CHECK (((retention_days >= 1) AND (retention_days <= 90))),
    CONSTRAINT account_time_zone_check CHECK ((('2026-01-01 00:00:00+00'::timestamp with time zone AT TIME ZONE time_zone) IS NOT NULL)),
    CONSTRAINT account_unsubmitted_days_check CHECK (((unsubmitted_days >= 1) AND (unsubmitted_days <= 90)))
);

CREATE TABLE public.alert (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    kind text NOT NULL,
    subjects jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.api_key (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    last4 text NOT NULL,
    permissions text[],
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    created_by text DEFAULT ''::text NOT NULL,
    networks text[],
    last_used_at timestamp with time zone,
    last_used_from text,
    deleted_at timestamp with time zone,
    replaced_at timestamp with time zone,
    meant_expires_at timestamp with time zone
);

CREATE TABLE public.api_key_network (
    key_id uuid NOT NULL,
    network text NOT NULL,
    address text NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    requests bigint NOT NULL,
    state smallint DEFAULT 0 NOT NULL
);

CREATE TABLE public.api_request (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    session_id uuid,
    document_id uuid,
    duration_us integer NOT NULL,
    status smallint NOT NULL,
    livemode boolean NOT NULL,
    replayed boolean NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    error_code text NOT NULL,
    address text NOT NULL,
    ignored text DEFAULT ''::text NOT NULL,
    refused text DEFAULT ''::text NOT NULL,
    CONSTRAINT api_request_ignored_check CHECK ((length(ignored) <= 1000)),
    CONSTRAINT api_request_refused_check CHECK ((length(refused) <= 8000))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.attempt_count (
    subject bytea NOT NULL,
    n integer NOT NULL,
    until timestamp with time zone NOT NULL,
    next_at timestamp with time zone
)
WITH (fillfactor='70');

CREATE TABLE public.audit_log (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean,
    at timestamp with time zone NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    action text NOT NULL,
    target_id text NOT NULL,
    target_name text NOT NULL,
    address text NOT NULL,
    before jsonb,
    after jsonb,
    times integer DEFAULT 1 NOT NULL,
    until timestamp with time zone,
    CONSTRAINT audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['staff'::text, 'key'::text, 'operator'::text, 'system'::text, 'stranger'::text])))
);

CREATE TABLE public.audit_repeat (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean,
    at timestamp with time zone NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    action text NOT NULL,
    target_id text NOT NULL,
    target_name text NOT NULL,
    address text NOT NULL,
    before jsonb,
    after jsonb,
    times integer DEFAULT 1 NOT NULL,
    until timestamp with time zone,
    alike text NOT NULL
);

CREATE TABLE public.billing_setting (
    account_id uuid NOT NULL,
    buyer jsonb DEFAULT '{}'::jsonb NOT NULL,
    spend_cap_cents bigint,
    alert_cents bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    CONSTRAINT billing_setting_spend_cap_cents_check CHECK ((spend_cap_cents >= 0))
);

CREATE TABLE public.blob_garbage (
    document_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    session_id uuid,
    size_bytes bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.customer_receipt (
    session_id uuid NOT NULL,
    sent_at timestamp with time zone NOT NULL
);

CREATE TABLE public.delivery (
    id uuid NOT NULL,
    event_id uuid NOT NULL,
    url text NOT NULL,
    state text NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    first_attempt_at timestamp with time zone,
    next_attempt_at timestamp with time zone,
    finished_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    endpoint_id uuid NOT NULL,
    session_id uuid,
    sequence bigint NOT NULL,
    cycle smallint DEFAULT 1 NOT NULL,
    attempts_total integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    last_status_code integer,
    last_error_class text,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    type text NOT NULL,
    redelivery_id uuid,
    further boolean DEFAULT false NOT NULL,
    CONSTRAINT delivery_pending_check CHECK ((((state = 'pending'::text) = (next_attempt_at IS NOT NULL)) AND ((state = 'pending'::text) = (finished_at IS NULL)))),
    CONSTRAINT delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.delivery_attempt (
    delivery_id uuid NOT NULL,
    number smallint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    status_code integer,
    error_class text,
    error text,
    request_headers jsonb NOT NULL,
    response text
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.document (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    category text NOT NULL,
    file_name bytea NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    uploaded_at timestamp with time zone NOT NULL
);

CREATE TABLE public.endpoint_day (
    endpoint_id uuid NOT NULL,
    day date NOT NULL,
    attempts bigint NOT NULL,
    delivered bigint NOT NULL,
    times bigint[] NOT NULL
);

CREATE TABLE public.erasure (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    session_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    by_kind text NOT NULL,
    by_name text NOT NULL,
    former_status text NOT NULL,
    sections integer NOT NULL,
    documents integer NOT NULL,
    pdfs integer NOT NULL,
    events integer NOT NULL,
    deliveries integer NOT NULL
);

CREATE TABLE public.event (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    session_id uuid,
    type text NOT NULL,
    body bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    sequence bigint NOT NULL,
    url text,
    endpoint_id uuid
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.event_sequence (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    last bigint NOT NULL
);

CREATE TABLE public.figure_count (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    name text NOT NULL,
    day date NOT NULL,
    value text NOT NULL,
    created bigint NOT NULL,
    completed bigint NOT NULL
);

CREATE TABLE public.form_count (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    day date NOT NULL,
    section text NOT NULL,
    reached bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL,
    times bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    seconds bigint[] DEFAULT '{}'::bigint[] NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.form_problem_count (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    day date NOT NULL,
    section text NOT NULL,
    field text NOT NULL,
    problem text NOT NULL,
    sessions bigint NOT NULL,
    rule bigint GENERATED ALWAYS AS (hashtextextended(((((section || ' '::text) || field) || ' '::text) || problem), (0)::bigint)) STORED
)
WITH (fillfactor='70');

CREATE TABLE public.held_form (
    id uuid NOT NULL,
    staff_session_id uuid NOT NULL,
    sealed bytea,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.idempotency_key (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    response bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    meaning bytea
);

CREATE TABLE public.invitation (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    may_download boolean NOT NULL,
    invited_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    token_hash bytea,
    sender_id uuid,
    CONSTRAINT invitation_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'support'::text, 'finance'::text, 'auditor'::text])))
);

CREATE TABLE public.invoice (
    id uuid NOT NULL,
    number bigint NOT NULL,
    account_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    period_end timestamp with time zone NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    account_name text NOT NULL,
    billing_email text NOT NULL,
    currency text NOT NULL,
    sessions_used bigint NOT NULL,
    lines jsonb NOT NULL,
    total_cents bigint NOT NULL,
    gst_basis_points integer NOT NULL,
    gst_cents bigint NOT NULL,
    status text NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    failure_reason text,
    next_attempt_at timestamp with time zone,
    settled_at timestamp with time zone,
    reference text,
    seller jsonb,
    early_failures smallint DEFAULT 0 NOT NULL,
    buyer jsonb,
    reminded_at timestamp with time zone,
    CONSTRAINT invoice_check CHECK (((status = ANY (ARRAY['paid'::text, 'void'::text])) = (settled_at IS NOT NULL))),
    CONSTRAINT invoice_check1 CHECK (((settled_at IS NULL) OR (next_attempt_at IS NULL))),
    CONSTRAINT invoice_gst_basis_points_check CHECK ((gst_basis_points >= 0)),
    CONSTRAINT invoice_gst_cents_check CHECK ((gst_cents >= 0)),
    CONSTRAINT invoice_status_check CHECK ((status = ANY (ARRAY['open'::text, 'paid'::text, 'failed'::text, 'void'::text]))),
    CONSTRAINT invoice_total_cents_check CHECK ((total_cents >= 0))
);

CREATE TABLE public.invoice_number (
    last bigint NOT NULL
);

CREATE TABLE public.link_delivery (
    session_id uuid NOT NULL,
    remind boolean NOT NULL,
    one_browser boolean NOT NULL,
    stopped_at timestamp with time zone,
    look_at timestamp with time zone
);

CREATE TABLE public.link_email (
    session_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    tries smallint DEFAULT 0 NOT NULL,
    first_tried_at timestamp with time zone,
    ended_at timestamp with time zone,
    problem text DEFAULT ''::text NOT NULL,
    again smallint DEFAULT 0 NOT NULL,
    CONSTRAINT link_email_kind_check CHECK ((kind = ANY (ARRAY['link'::text, 'unopened_1'::text, 'unopened_2'::text, 'unfinished_1'::text, 'unfinished_2'::text, 'ending'::text]))),
    CONSTRAINT link_email_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'not_sent'::text, 'unknown'::text])))
);

CREATE TABLE public.link_email_count (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    day date NOT NULL,
    links integer NOT NULL
);

CREATE TABLE public.link_use (
    session_id uuid NOT NULL,
    kind text NOT NULL,
    user_agent text DEFAULT ''::text NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT link_use_kind_check CHECK ((kind = ANY (ARRAY['opened'::text, 'replaced'::text, 'wrong'::text, 'elsewhere'::text])))
);

CREATE TABLE public.outage (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    endpoint_id uuid NOT NULL,
    started_at timestamp with time zone NOT NULL,
    last_failure_at timestamp with time zone NOT NULL,
    answered_at timestamp with time zone,
    confirmed_at timestamp with time zone,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    answers jsonb NOT NULL
);

CREATE TABLE public.passkey_challenge (
    token_hash bytea NOT NULL,
    staff_id uuid,
    data jsonb NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.payment_event (
    provider text NOT NULL,
    id text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.payment_method (
    account_id uuid NOT NULL,
    provider text NOT NULL,
    customer_id text NOT NULL,
    method_id text,
    label text,
    method_at timestamp with time zone
);

CREATE TABLE public.plan (
    id text NOT NULL,
    name text NOT NULL,
    sessions_included integer,
    overage_cents bigint,
    rank smallint NOT NULL
);

CREATE TABLE public.plan_change (
    subscription_id uuid NOT NULL,
    number smallint NOT NULL,
    period_start timestamp with time zone NOT NULL,
    at timestamp with time zone NOT NULL,
    from_plan_id text NOT NULL,
    to_plan_id text NOT NULL,
    used bigint NOT NULL
);

CREATE TABLE public.reconciliation (
    status text NOT NULL,
    checked_to timestamp with time zone NOT NULL,
    CONSTRAINT reconciliation_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'expired'::text])))
);

CREATE TABLE public.redelivery (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    since timestamp with time zone,
    until timestamp with time zone,
    endpoint_id uuid,
    type text,
    status text,
    rate smallint NOT NULL,
    state text NOT NULL,
    matched bigint NOT NULL,
    requeued bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    paced_until timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT redelivery_rate_check CHECK (((rate >= 1) AND (rate <= 100))),
    CONSTRAINT redelivery_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text])))
);

CREATE TABLE public.redelivery_item (
    redelivery_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    delivery_id uuid NOT NULL
);

CREATE TABLE public.section (
    session_id uuid NOT NULL,
    name text NOT NULL,
    answers bytea,
    draft bytea,
    completed_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    reached_at timestamp with time zone,
    problems text[] DEFAULT '{}'::text[] NOT NULL,
    prefill bytea,
    offered bytea,
    ask bytea,
    phone_hash text,
    refused jsonb DEFAULT '{}'::jsonb NOT NULL,
    refused_at timestamp with time zone
);
ALTER TABLE ONLY public.section ALTER COLUMN answers SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.section ALTER COLUMN draft SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.section ALTER COLUMN prefill SET STORAGE EXTERNAL;

CREATE TABLE public.session (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    status text NOT NULL,
    form_type text NOT NULL,
    customer_email text NOT NULL,
    customer_name text,
    reference_id text,
    webhook_url text,
    metadata json NOT NULL,
    sections_completed smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accessed_at timestamp with time zone,
    completed_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    last_activity_at timestamp with time zone,
    pdf_ready_at timestamp with time zone,
    erased_at timestamp with time zone,
    created_by_kind text,
    created_by text,
    data_erased_at timestamp with time zone,
    uploaded_bytes bigint DEFAULT 0 NOT NULL,
    customer_erased_at timestamp with time zone,
    language text,
    pdf_sha256 bytea,
    prefilled boolean DEFAULT false NOT NULL,
    link_version integer DEFAULT 0 NOT NULL,
    pdf_signer text,
    pdf_signer_issuer text,
    saved_by text,
    return_url text,
    emailed boolean DEFAULT false NOT NULL,
    previous_session_id uuid,
    chosen_language text,
    documents smallint,
    CONSTRAINT session_pdf_sha256_check CHECK ((octet_length(pdf_sha256) = 32)),
    CONSTRAINT session_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'completed'::text, 'expired'::text, 'cancelled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.session_cancel (
    session_id uuid NOT NULL,
    due_at timestamp with time zone NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    address text NOT NULL
);

CREATE TABLE public.session_count (
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    day date NOT NULL,
    shard smallint NOT NULL,
    created bigint DEFAULT 0 NOT NULL,
    pending bigint DEFAULT 0 NOT NULL,
    in_progress bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL,
    expired bigint DEFAULT 0 NOT NULL,
    cancelled bigint DEFAULT 0 NOT NULL,
    completion_seconds numeric DEFAULT 0 NOT NULL,
    completed_that_day bigint DEFAULT 0 NOT NULL,
    ahead smallint DEFAULT 0 NOT NULL,
    figured boolean DEFAULT false NOT NULL,
    refigure_after timestamp with time zone,
    CONSTRAINT session_count_ahead_check CHECK (((ahead >= '-1'::integer) AND (ahead <= 1)))
);

CREATE TABLE public.session_key (
    session_id uuid NOT NULL,
    sealed bytea NOT NULL
);

CREATE TABLE public.session_search (
    session_id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    text text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.spend_notice (
    account_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    cap boolean NOT NULL,
    cents bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

CREATE TABLE public.sso_connection (
    account_id uuid NOT NULL,
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_secret bytea NOT NULL,
    default_role text NOT NULL,
    groups_claim text NOT NULL,
    group_roles jsonb NOT NULL,
    trusts_email boolean NOT NULL,
    only_sso boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.sso_domain (
    account_id uuid NOT NULL,
    domain text NOT NULL,
    token text NOT NULL,
    verified_at timestamp with time zone
);

CREATE TABLE public.sso_identity (
    account_id uuid NOT NULL,
    subject text NOT NULL,
    staff_id uuid NOT NULL
);

CREATE TABLE public.sso_used (
    hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.staff_passkey (
    id uuid NOT NULL,
    staff_id uuid NOT NULL,
    credential_id bytea NOT NULL,
    name text NOT NULL,
    credential jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

CREATE TABLE public.staff_recovery_code (
    staff_id uuid NOT NULL,
    hash bytea NOT NULL
);

CREATE TABLE public.staff_request (
    id uuid NOT NULL,
    kind text NOT NULL,
    subject bytea NOT NULL,
    sealed bytea NOT NULL,
    token_hash bytea,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT staff_request_kind_check CHECK ((kind = ANY (ARRAY['reset'::text, 'sign_up'::text])))
);

CREATE TABLE public.staff_session (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    staff_id uuid NOT NULL,
    stage text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL,
    passkey_id uuid,
    sso_account_id uuid,
    sso_sid text,
    CONSTRAINT staff_session_stage_check CHECK ((stage = ANY (ARRAY['password'::text, 'full'::text])))
);

CREATE TABLE public.staff_user (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    email text NOT NULL,
    password_hash text,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    may_download boolean DEFAULT false NOT NULL,
    totp_pending bytea,
    totp_secret bytea,
    totp_since timestamp with time zone,
    totp_step bigint DEFAULT 0 NOT NULL,
    known_browser_since timestamp with time zone,
    must_change_password boolean DEFAULT false NOT NULL,
    webhook_emails boolean DEFAULT true NOT NULL,
    key_emails boolean DEFAULT true NOT NULL,
    seen_at timestamp with time zone,
    break_glass boolean DEFAULT false NOT NULL,
    CONSTRAINT staff_user_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'support'::text, 'finance'::text, 'auditor'::text])))
);

CREATE TABLE public.staff_view (
    staff_id uuid NOT NULL,
    livemode boolean NOT NULL,
    name text NOT NULL,
    folded text GENERATED ALWAYS AS (lower(name)) STORED NOT NULL,
    query text NOT NULL,
    CONSTRAINT staff_view_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 40)))
);

CREATE TABLE public.statement_pdf (
    session_id uuid NOT NULL,
    content bytea NOT NULL,
    size_bytes bigint NOT NULL,
    page_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.statement_pdf ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE public.subscription (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    plan_id text NOT NULL,
    status text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    effective_at timestamp with time zone,
    billed_to timestamp with time zone NOT NULL,
    closes_at timestamp with time zone,
    next_plan_id text,
    reason text,
    carried_sessions integer DEFAULT 0 NOT NULL,
    carried_until timestamp with time zone,
    CONSTRAINT subscription_carried_check CHECK (((carried_sessions > 0) = (carried_until IS NOT NULL))),
    CONSTRAINT subscription_carried_sessions_check CHECK ((carried_sessions >= 0)),
    CONSTRAINT subscription_status_check CHECK ((status = ANY (ARRAY['active'::text, 'past_due'::text, 'cancelled'::text])))
);

CREATE TABLE public.subscription_usage (
    account_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    shard smallint NOT NULL,
    sessions bigint NOT NULL
);

CREATE TABLE public.test_event (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    content jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.usage_notice (
    account_id uuid NOT NULL,
    period_start timestamp with time zone NOT NULL,
    percent integer NOT NULL,
    at timestamp with time zone NOT NULL,
    plan_id text NOT NULL
);

CREATE TABLE public.webhook_endpoint (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    origin text NOT NULL,
    consecutive_failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    last_status_code integer,
    last_error_class text,
    gone boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    alerted smallint DEFAULT 0 NOT NULL,
    alerted_at timestamp with time zone,
    is_default boolean DEFAULT false NOT NULL,
    url text,
    description text DEFAULT ''::text NOT NULL,
    event_types text[],
    paused_at timestamp with time zone,
    deleted_at timestamp with time zone,
    secret bytea,
    next_secret bytea,
    next_secret_at timestamp with time zone,
    previous_secret bytea,
    previous_secret_until timestamp with time zone,
    site text GENERATED ALWAYS AS (split_part(origin, '#'::text, 1)) STORED,
    CONSTRAINT webhook_endpoint_next_check CHECK (((next_secret IS NULL) = (next_secret_at IS NULL))),
    CONSTRAINT webhook_endpoint_previous_check CHECK (((previous_secret IS NULL) = (previous_secret_until IS NULL))),
    CONSTRAINT webhook_endpoint_secret_check CHECK ((((url IS NULL) AND (NOT is_default)) OR (secret IS NOT NULL))),
    CONSTRAINT webhook_endpoint_types_check CHECK ((event_types <> '{}'::text[]))
);

CREATE TABLE public.worker (
    id text NOT NULL,
    alive_at timestamp with time zone NOT NULL,
    since timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_key_network
    ADD CONSTRAINT api_key_network_pkey PRIMARY KEY (key_id, network);

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_request
    ADD CONSTRAINT api_request_pkey PRIMARY KEY (account_id, livemode, id);

ALTER TABLE ONLY public.attempt_count
    ADD CONSTRAINT attempt_count_pkey PRIMARY KEY (subject);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_repeat
    ADD CONSTRAINT audit_repeat_pkey PRIMARY KEY (alike);

ALTER TABLE ONLY public.billing_setting
    ADD CONSTRAINT billing_setting_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.blob_garbage
    ADD CONSTRAINT blob_garbage_pkey PRIMARY KEY (document_id);

ALTER TABLE ONLY public.customer_receipt
    ADD CONSTRAINT customer_receipt_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.delivery_attempt
    ADD CONSTRAINT delivery_attempt_pkey PRIMARY KEY (delivery_id, number);

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.endpoint_day
    ADD CONSTRAINT endpoint_day_pkey PRIMARY KEY (endpoint_id, day);

ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_session_id_key UNIQUE (session_id);

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_sequence
    ADD CONSTRAINT event_sequence_pkey PRIMARY KEY (account_id, livemode);

ALTER TABLE ONLY public.figure_count
    ADD CONSTRAINT figure_count_pkey PRIMARY KEY (account_id, livemode, name, day, value);

ALTER TABLE ONLY public.form_count
    ADD CONSTRAINT form_count_pkey PRIMARY KEY (account_id, livemode, day, section);

ALTER TABLE ONLY public.form_problem_count
    ADD CONSTRAINT form_problem_count_pkey PRIMARY KEY (account_id, livemode, day, section, field, problem);

ALTER TABLE ONLY public.held_form
    ADD CONSTRAINT held_form_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (account_id, livemode, path, key);

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_number_key UNIQUE (number);

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_subscription_id_period_start_key UNIQUE (subscription_id, period_start);

ALTER TABLE ONLY public.link_delivery
    ADD CONSTRAINT link_delivery_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.link_email_count
    ADD CONSTRAINT link_email_count_pkey PRIMARY KEY (account_id, livemode);

ALTER TABLE ONLY public.link_email
    ADD CONSTRAINT link_email_pkey PRIMARY KEY (session_id, kind);

ALTER TABLE ONLY public.link_use
    ADD CONSTRAINT link_use_pkey PRIMARY KEY (session_id, kind, user_agent, address);

ALTER TABLE ONLY public.outage
    ADD CONSTRAINT outage_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.passkey_challenge
    ADD CONSTRAINT passkey_challenge_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY public.payment_event
    ADD CONSTRAINT payment_event_pkey PRIMARY KEY (provider, id);

ALTER TABLE ONLY public.payment_method
    ADD CONSTRAINT payment_method_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.payment_method
    ADD CONSTRAINT payment_method_provider_customer_id_key UNIQUE (provider, customer_id);

ALTER TABLE ONLY public.plan_change
    ADD CONSTRAINT plan_change_pkey PRIMARY KEY (subscription_id, period_start, number);

ALTER TABLE ONLY public.plan
    ADD CONSTRAINT plan_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.reconciliation
    ADD CONSTRAINT reconciliation_pkey PRIMARY KEY (status);

ALTER TABLE ONLY public.redelivery_item
    ADD CONSTRAINT redelivery_item_pkey PRIMARY KEY (redelivery_id, endpoint_id, delivery_id);

ALTER TABLE ONLY public.redelivery
    ADD CONSTRAINT redelivery_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.section
    ADD CONSTRAINT section_pkey PRIMARY KEY (session_id, name);

ALTER TABLE ONLY public.session_cancel
    ADD CONSTRAINT session_cancel_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.session_count
    ADD CONSTRAINT session_count_pkey PRIMARY KEY (account_id, livemode, day, shard);

ALTER TABLE ONLY public.session_key
    ADD CONSTRAINT session_key_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.session_search
    ADD CONSTRAINT session_search_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.spend_notice
    ADD CONSTRAINT spend_notice_pkey PRIMARY KEY (account_id, period_start, cap, cents);

ALTER TABLE ONLY public.sso_connection
    ADD CONSTRAINT sso_connection_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.sso_domain
    ADD CONSTRAINT sso_domain_pkey PRIMARY KEY (account_id, domain);

ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_pkey PRIMARY KEY (account_id, subject);

ALTER TABLE ONLY public.sso_used
    ADD CONSTRAINT sso_used_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.staff_passkey
    ADD CONSTRAINT staff_passkey_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_recovery_code
    ADD CONSTRAINT staff_recovery_code_pkey PRIMARY KEY (staff_id, hash);

ALTER TABLE ONLY public.staff_request
    ADD CONSTRAINT staff_request_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_session
    ADD CONSTRAINT staff_session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_user
    ADD CONSTRAINT staff_user_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.staff_view
    ADD CONSTRAINT staff_view_pkey PRIMARY KEY (staff_id, livemode, folded);

ALTER TABLE ONLY public.statement_pdf
    ADD CONSTRAINT statement_pdf_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.subscription_usage
    ADD CONSTRAINT subscription_usage_pkey PRIMARY KEY (account_id, period_start, shard);

ALTER TABLE ONLY public.test_event
    ADD CONSTRAINT test_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.usage_notice
    ADD CONSTRAINT usage_notice_pkey PRIMARY KEY (account_id, period_start, plan_id, percent);

ALTER TABLE ONLY public.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

CREATE INDEX account_logo_idx ON public.account USING btree (logo_name) WHERE (logo_name IS NOT NULL);

CREATE INDEX alert_created_idx ON public.alert USING btree (created_at);

CREATE INDEX alert_scope_idx ON public.alert USING btree (account_id, livemode, kind, created_at);

CREATE INDEX api_key_account_idx ON public.api_key USING btree (account_id, livemode);

CREATE UNIQUE INDEX api_key_hash_key ON public.api_key USING btree (hash);

CREATE INDEX api_key_network_last_idx ON public.api_key_network USING btree (last_at);

CREATE INDEX api_key_network_new_idx ON public.api_key_network USING btree (key_id, first_at) WHERE (state = 2);

CREATE INDEX api_key_network_unseen_idx ON public.api_key_network USING btree (key_id) WHERE (state = 0);

CREATE INDEX api_request_error_idx ON public.api_request USING btree (account_id, livemode, error_code, id) INCLUDE (method, key_id) WHERE (error_code <> ''::text);

CREATE INDEX api_request_key_idx ON public.api_request USING btree (key_id, id);

CREATE INDEX attempt_count_until_idx ON public.attempt_count USING btree (until);

CREATE INDEX audit_log_account_idx ON public.audit_log USING btree (account_id, at DESC, id DESC);

CREATE INDEX audit_log_action_idx ON public.audit_log USING btree (account_id, action, at DESC, id DESC);

CREATE INDEX audit_log_actor_idx ON public.audit_log USING btree (account_id, actor_name, at DESC, id DESC);

CREATE INDEX audit_log_target_idx ON public.audit_log USING btree (account_id, target_id, at DESC, id DESC);

CREATE INDEX audit_repeat_at_idx ON public.audit_repeat USING btree (at);

CREATE INDEX blob_garbage_removed ON public.blob_garbage USING btree (session_id, created_at) WHERE (session_id IS NOT NULL);

CREATE INDEX delivery_due_idx ON public.delivery USING btree (endpoint_id, next_attempt_at, sequence) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX delivery_ended_badly_idx ON public.delivery USING btree (account_id, livemode, state, sequence, last_error_class, last_status_code, type, endpoint_id, created_at) WHERE (state = ANY (ARRAY['failed'::text, 'cancelled'::text]));

CREATE INDEX delivery_event_idx ON public.delivery USING btree (event_id);

CREATE INDEX delivery_further_idx ON public.delivery USING btree (endpoint_id, sequence) WHERE further;

CREATE INDEX delivery_pending_idx ON public.delivery USING btree (account_id, livemode, sequence) WHERE (state = 'pending'::text);

CREATE INDEX delivery_redelivered_idx ON public.delivery USING btree (endpoint_id) WHERE ((finished_at IS NULL) AND (attempts = 0) AND (redelivery_id IS NOT NULL));

CREATE INDEX delivery_redelivery_idx ON public.delivery USING btree (redelivery_id, state) WHERE (redelivery_id > '00000000-0000-0000-0000-000000000000'::uuid);

CREATE INDEX delivery_turn_idx ON public.delivery USING btree (session_id, endpoint_id, sequence) WHERE ((finished_at IS NULL) AND (attempts_total = 0));

CREATE INDEX document_session_idx ON public.document USING btree (session_id, id);

CREATE INDEX endpoint_day_day_idx ON public.endpoint_day USING btree (day);

CREATE INDEX event_created_idx ON public.event USING btree (created_at);

CREATE INDEX event_endpoint_idx ON public.event USING btree (endpoint_id, sequence) WHERE (endpoint_id IS NOT NULL);

CREATE UNIQUE INDEX event_sequence_key ON public.event USING btree (account_id, livemode, sequence);

CREATE INDEX event_session_idx ON public.event USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE UNIQUE INDEX event_terminal_key ON public.event USING btree (session_id) WHERE (type = ANY (ARRAY['session.completed'::text, 'session.expired'::text]));

CREATE INDEX event_type_idx ON public.event USING btree (account_id, livemode, type, sequence);

CREATE INDEX figure_count_day_idx ON public.figure_count USING btree (account_id, livemode, day);

CREATE INDEX form_problem_count_rule_idx ON public.form_problem_count USING btree (account_id, livemode, day, rule) INCLUDE (sessions);

CREATE INDEX held_form_expires_idx ON public.held_form USING btree (expires_at);

CREATE INDEX held_form_session_idx ON public.held_form USING btree (staff_session_id);

CREATE INDEX idempotency_key_created_idx ON public.idempotency_key USING btree (created_at);

CREATE UNIQUE INDEX invitation_email_key ON public.invitation USING btree (account_id, lower(email));

CREATE INDEX invitation_expires_idx ON public.invitation USING btree (expires_at);

CREATE INDEX invitation_sender_idx ON public.invitation USING btree (sender_id) WHERE (sender_id IS NOT NULL);

CREATE UNIQUE INDEX invitation_token_key ON public.invitation USING btree (token_hash);

CREATE INDEX invoice_account_idx ON public.invoice USING btree (account_id, number DESC);

CREATE INDEX invoice_attempt_idx ON public.invoice USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX invoice_issued_idx ON public.invoice USING btree (issued_at);

CREATE UNIQUE INDEX invoice_number_one_idx ON public.invoice_number USING btree ((true));

CREATE INDEX invoice_unsettled_idx ON public.invoice USING btree (number) WHERE (settled_at IS NULL);

CREATE INDEX link_delivery_look_idx ON public.link_delivery USING btree (look_at) WHERE (look_at IS NOT NULL);

CREATE INDEX link_use_last_at_idx ON public.link_use USING btree (last_at);

CREATE INDEX outage_ended_idx ON public.outage USING btree (last_failure_at);

CREATE INDEX outage_endpoint_idx ON public.outage USING btree (endpoint_id, started_at);

CREATE INDEX passkey_challenge_expires_idx ON public.passkey_challenge USING btree (expires_at);

CREATE INDEX redelivery_account_idx ON public.redelivery USING btree (account_id, livemode, created_at DESC);

CREATE INDEX redelivery_created_idx ON public.redelivery USING btree (created_at);

CREATE INDEX redelivery_running_idx ON public.redelivery USING btree (paced_until) WHERE (state = 'running'::text);

CREATE INDEX section_phone_idx ON public.section USING btree (phone_hash, session_id) WHERE (phone_hash IS NOT NULL);

CREATE INDEX session_answers_idx ON public.session USING btree (account_id, completed_at) WHERE ((status = 'completed'::text) AND (data_erased_at IS NULL));

CREATE INDEX session_cancel_due_idx ON public.session_cancel USING btree (due_at);

CREATE INDEX session_count_unfigured_idx ON public.session_count USING btree (day, account_id, livemode) WHERE (NOT figured);

CREATE INDEX session_count_unfolded_idx ON public.session_count USING btree (day) WHERE (shard <> 0);

CREATE INDEX session_count_writers_idx ON public.session_count USING btree (day) WHERE (shard > 0);

CREATE INDEX session_email_idx ON public.session USING btree (account_id, livemode, lower(customer_email), created_at DESC, id DESC, status COLLATE "C");

CREATE INDEX session_ends_idx ON public.session USING btree (account_id, livemode, status, expires_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'in_progress'::text]));

CREATE INDEX session_expired_idx ON public.session USING btree (expires_at, id) WHERE (status = 'expired'::text);

CREATE INDEX session_expiring_idx ON public.session USING btree (expires_at) WHERE (status = ANY (ARRAY['pending'::text, 'in_progress'::text]));

CREATE INDEX session_files_idx ON public.session USING btree (account_id, completed_at) WHERE (((status COLLATE "C") = 'completed'::text) AND (erased_at IS NULL));

CREATE INDEX session_list_idx ON public.session USING btree (account_id, livemode, created_at DESC, id DESC);

CREATE INDEX session_opened_idx ON public.session USING btree (account_id, livemode) WHERE (accessed_at IS NOT NULL);

CREATE INDEX session_overdue_idx ON public.session USING btree (account_id, livemode, expires_at) WHERE (status = ANY (ARRAY['pending'::text, 'in_progress'::text]));

CREATE INDEX session_previous_idx ON public.session USING btree (previous_session_id) WHERE (previous_session_id IS NOT NULL);

CREATE INDEX session_reference_idx ON public.session USING btree (account_id, livemode, reference_id, created_at DESC, id DESC, status COLLATE "C") WHERE (reference_id IS NOT NULL);

CREATE INDEX session_retention_idx ON public.session USING btree (completed_at) WHERE ((status = 'completed'::text) AND (erased_at IS NULL));

CREATE INDEX session_search_idx ON public.session_search USING gin (account_id, text public.gin_trgm_ops);

CREATE INDEX session_status_idx ON public.session USING btree (account_id, livemode, status, created_at DESC, id DESC);

CREATE INDEX session_unsubmitted_idx ON public.session USING btree (account_id, COALESCE(cancelled_at, expires_at)) WHERE ((status = ANY (ARRAY['expired'::text, 'cancelled'::text])) AND (data_erased_at IS NULL));

CREATE INDEX session_without_pdf_idx ON public.session USING btree (completed_at) WHERE ((status = 'completed'::text) AND (pdf_ready_at IS NULL) AND (erased_at IS NULL));

CREATE UNIQUE INDEX sso_domain_verified_key ON public.sso_domain USING btree (domain) WHERE (verified_at IS NOT NULL);

CREATE UNIQUE INDEX sso_identity_staff_key ON public.sso_identity USING btree (staff_id);

CREATE INDEX sso_used_expires_idx ON public.sso_used USING btree (expires_at);

CREATE UNIQUE INDEX staff_passkey_credential_key ON public.staff_passkey USING btree (credential_id);

CREATE INDEX staff_passkey_staff_idx ON public.staff_passkey USING btree (staff_id);

CREATE INDEX staff_request_expires_idx ON public.staff_request USING btree (expires_at);

CREATE INDEX staff_request_subject_idx ON public.staff_request USING btree (subject);

CREATE UNIQUE INDEX staff_request_token_key ON public.staff_request USING btree (token_hash);

CREATE INDEX staff_session_passkey_idx ON public.staff_session USING btree (passkey_id) WHERE (passkey_id IS NOT NULL);

CREATE INDEX staff_session_seen_idx ON public.staff_session USING btree (seen_at);

CREATE INDEX staff_session_sso_idx ON public.staff_session USING btree (sso_account_id) WHERE (sso_account_id IS NOT NULL);

CREATE INDEX staff_session_staff_idx ON public.staff_session USING btree (staff_id);

CREATE UNIQUE INDEX staff_session_token_key ON public.staff_session USING btree (token_hash);

CREATE INDEX staff_user_account_idx ON public.staff_user USING btree (account_id);

CREATE UNIQUE INDEX staff_user_email_key ON public.staff_user USING btree (lower(email));

CREATE INDEX subscription_account_idx ON public.subscription USING btree (account_id, started_at DESC);

CREATE INDEX subscription_closing_idx ON public.subscription USING btree (closes_at) WHERE (closes_at IS NOT NULL);

CREATE UNIQUE INDEX subscription_current_key ON public.subscription USING btree (account_id) WHERE (effective_at IS NULL);

CREATE INDEX test_event_account_idx ON public.test_event USING btree (account_id);

CREATE INDEX test_event_created_idx ON public.test_event USING btree (created_at);

CREATE INDEX webhook_endpoint_created_idx ON public.webhook_endpoint USING btree (account_id, livemode, created_at);

CREATE UNIQUE INDEX webhook_endpoint_default_key ON public.webhook_endpoint USING btree (account_id, livemode) WHERE is_default;

CREATE INDEX webhook_endpoint_failed_idx ON public.webhook_endpoint USING btree (account_id, livemode, last_failure_at) WHERE (failing_since IS NOT NULL);

CREATE INDEX webhook_endpoint_failing_idx ON public.webhook_endpoint USING btree (alerted, failing_since) WHERE (failing_since IS NOT NULL);

CREATE INDEX webhook_endpoint_held_idx ON public.webhook_endpoint USING btree (id) WHERE ((paused_at IS NOT NULL) OR (deleted_at IS NOT NULL));

CREATE UNIQUE INDEX webhook_endpoint_origin_key ON public.webhook_endpoint USING btree (account_id, livemode, origin);

CREATE INDEX webhook_endpoint_previous_idx ON public.webhook_endpoint USING btree (previous_secret_until) WHERE (previous_secret IS NOT NULL);

CREATE INDEX webhook_endpoint_recovered_idx ON public.webhook_endpoint USING btree (last_failure_at) WHERE ((alerted > 0) AND (failing_since IS NULL));

CREATE INDEX webhook_endpoint_site_idx ON public.webhook_endpoint USING btree (account_id, livemode, site);

CREATE INDEX webhook_endpoint_url_idx ON public.webhook_endpoint USING btree (account_id, livemode) WHERE (url IS NOT NULL);

CREATE TRIGGER account_refigured AFTER UPDATE OF time_zone ON public.account FOR EACH ROW WHEN ((old.time_zone <> new.time_zone)) EXECUTE FUNCTION public.refigure_account();

CREATE TRIGGER audit_log_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER customer_receipt_leaves_erased BEFORE INSERT ON public.customer_receipt FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER document_leaves_erased BEFORE INSERT ON public.document FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER invoice_kept BEFORE DELETE OR UPDATE ON public.invoice FOR EACH ROW EXECUTE FUNCTION public.keep_invoice();

CREATE TRIGGER invoice_not_truncated BEFORE TRUNCATE ON public.invoice FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER invoice_number_goes_up BEFORE UPDATE ON public.invoice_number FOR EACH ROW EXECUTE FUNCTION public.keep_invoice_number();

CREATE TRIGGER invoice_number_is_kept BEFORE DELETE OR TRUNCATE ON public.invoice_number FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER link_delivery_leaves_erased BEFORE INSERT ON public.link_delivery FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER link_email_leaves_erased BEFORE INSERT ON public.link_email FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER link_use_leaves_erased BEFORE INSERT ON public.link_use FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER section_counted_insert AFTER INSERT ON public.section FOR EACH ROW EXECUTE FUNCTION public.count_section();

CREATE TRIGGER section_counted_update AFTER UPDATE ON public.section FOR EACH ROW WHEN ((((old.reached_at IS NULL) AND (new.reached_at IS NOT NULL)) OR ((old.completed_at IS NULL) AND (new.completed_at IS NOT NULL)) OR (old.problems <> new.problems))) EXECUTE FUNCTION public.count_section();

CREATE TRIGGER section_leaves_erased BEFORE INSERT ON public.section FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER session_cancel_leaves_erased BEFORE INSERT ON public.session_cancel FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER session_count_refigured BEFORE UPDATE ON public.session_count FOR EACH ROW WHEN (((old.created <> new.created) OR (old.completed <> new.completed))) EXECUTE FUNCTION public.refigure_count();

CREATE TRIGGER session_counted_insert AFTER INSERT ON public.session REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_sessions();

CREATE TRIGGER session_counted_update AFTER UPDATE ON public.session REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_sessions();

CREATE TRIGGER session_form_counted AFTER UPDATE ON public.session FOR EACH ROW WHEN ((((old.accessed_at IS NULL) AND (new.accessed_at IS NOT NULL)) OR ((old.completed_at IS NULL) AND (new.completed_at IS NOT NULL)))) EXECUTE FUNCTION public.count_form();

CREATE TRIGGER session_key_leaves_erased BEFORE INSERT ON public.session_key FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

CREATE TRIGGER session_refigured AFTER UPDATE ON public.session FOR EACH ROW WHEN (((old.emailed <> new.emailed) OR ((old.customer_erased_at IS NULL) AND (new.customer_erased_at IS NOT NULL)))) EXECUTE FUNCTION public.refigure_session();

CREATE TRIGGER session_searched AFTER DELETE OR UPDATE OF customer_name, customer_email, reference_id ON public.session FOR EACH ROW EXECUTE FUNCTION public.keep_session_search();

CREATE TRIGGER session_searched_insert AFTER INSERT ON public.session REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION public.search_new_sessions();

CREATE TRIGGER staff_seen AFTER DELETE ON public.staff_session FOR EACH ROW EXECUTE FUNCTION public.keep_staff_seen();

CREATE TRIGGER statement_pdf_leaves_erased BEFORE INSERT ON public.statement_pdf FOR EACH ROW EXECUTE FUNCTION public.leave_erased();

ALTER TABLE ONLY public.alert
    ADD CONSTRAINT alert_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.api_key_network
    ADD CONSTRAINT api_key_network_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_key(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.billing_setting
    ADD CONSTRAINT billing_setting_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.customer_receipt
    ADD CONSTRAINT customer_receipt_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery_attempt
    ADD CONSTRAINT delivery_attempt_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES public.delivery(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoint(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.event(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.document
    ADD CONSTRAINT document_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.endpoint_day
    ADD CONSTRAINT endpoint_day_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoint(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event_sequence
    ADD CONSTRAINT event_sequence_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.held_form
    ADD CONSTRAINT held_form_staff_session_id_fkey FOREIGN KEY (staff_session_id) REFERENCES public.staff_session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES public.subscription(id);

ALTER TABLE ONLY public.link_delivery
    ADD CONSTRAINT link_delivery_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.link_email_count
    ADD CONSTRAINT link_email_count_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.link_email
    ADD CONSTRAINT link_email_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.link_use
    ADD CONSTRAINT link_use_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id);

ALTER TABLE ONLY public.outage
    ADD CONSTRAINT outage_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.outage
    ADD CONSTRAINT outage_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoint(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.passkey_challenge
    ADD CONSTRAINT passkey_challenge_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.payment_method
    ADD CONSTRAINT payment_method_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.plan_change
    ADD CONSTRAINT plan_change_from_plan_id_fkey FOREIGN KEY (from_plan_id) REFERENCES public.plan(id);

ALTER TABLE ONLY public.plan_change
    ADD CONSTRAINT plan_change_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES public.subscription(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.plan_change
    ADD CONSTRAINT plan_change_to_plan_id_fkey FOREIGN KEY (to_plan_id) REFERENCES public.plan(id);

ALTER TABLE ONLY public.redelivery
    ADD CONSTRAINT redelivery_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.redelivery
    ADD CONSTRAINT redelivery_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoint(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.redelivery_item
    ADD CONSTRAINT redelivery_item_redelivery_id_fkey FOREIGN KEY (redelivery_id) REFERENCES public.redelivery(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.section
    ADD CONSTRAINT section_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.session_cancel
    ADD CONSTRAINT session_cancel_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.session_key
    ADD CONSTRAINT session_key_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.spend_notice
    ADD CONSTRAINT spend_notice_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sso_connection
    ADD CONSTRAINT sso_connection_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sso_domain
    ADD CONSTRAINT sso_domain_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.sso_connection(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sso_identity
    ADD CONSTRAINT sso_identity_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_passkey
    ADD CONSTRAINT staff_passkey_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_recovery_code
    ADD CONSTRAINT staff_recovery_code_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_session
    ADD CONSTRAINT staff_session_passkey_id_fkey FOREIGN KEY (passkey_id) REFERENCES public.staff_passkey(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_session
    ADD CONSTRAINT staff_session_sso_account_id_fkey FOREIGN KEY (sso_account_id) REFERENCES public.sso_connection(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_session
    ADD CONSTRAINT staff_session_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_user
    ADD CONSTRAINT staff_user_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.staff_view
    ADD CONSTRAINT staff_view_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES public.staff_user(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.statement_pdf
    ADD CONSTRAINT statement_pdf_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_next_plan_id_fkey FOREIGN KEY (next_plan_id) REFERENCES public.plan(id);

ALTER TABLE ONLY public.subscription
    ADD CONSTRAINT subscription_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES public.plan(id);

ALTER TABLE ONLY public.subscription_usage
    ADD CONSTRAINT subscription_usage_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.test_event
    ADD CONSTRAINT test_event_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.usage_notice
    ADD CONSTRAINT usage_notice_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.usage_notice
    ADD CONSTRAINT usage_notice_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES public.plan(id);

ALTER TABLE ONLY public.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
