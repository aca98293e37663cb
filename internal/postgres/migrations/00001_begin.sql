-- +goose Up

CREATE TABLE courses (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND length(slug) <= 64),
    title       text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    description text NOT NULL DEFAULT '' CHECK (length(description) <= 10000)
);
COMMENT ON TABLE courses IS 'What is taught.';
COMMENT ON COLUMN courses.slug IS 'Names the course in URLs.';

CREATE TABLE runs (
    id                integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    course_id         integer NOT NULL REFERENCES courses,
    slug              text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND length(slug) <= 64),
    place             text NOT NULL DEFAULT '' CHECK (length(place) <= 200),
    time_zone         text NOT NULL CHECK (length(time_zone) BETWEEN 1 AND 64),
    starts_at         timestamptz NOT NULL,
    ends_at           timestamptz NOT NULL,
    opens_at          timestamptz NOT NULL,
    closes_at         timestamptz NOT NULL,
    capacity          integer CHECK (capacity >= 0),
    attendances_count integer NOT NULL DEFAULT 0 CHECK (attendances_count >= 0),
    settled_ticket    bigint NOT NULL DEFAULT 0 CHECK (settled_ticket >= 0),
    CHECK (starts_at < ends_at),
    CHECK (opens_at < closes_at),
    -- Infinity cannot be read, nor a year of five digits be written as RFC 3339.
    CHECK (least(starts_at, opens_at) >= '1970-01-01 00:00:00+00' AND greatest(ends_at, closes_at) < '9999-01-01 00:00:00+00')
) WITH (fillfactor = 50); -- the counters change at every settlement: room for HOT updates
CREATE INDEX runs_course_id ON runs (course_id);
COMMENT ON TABLE runs IS 'One scheduled date of a course. The row is locked by whoever settles the run''s line.';
COMMENT ON COLUMN runs.slug IS 'Immutable: it names the run''s queue.';
COMMENT ON COLUMN runs.time_zone IS 'IANA name in which the run''s times are shown.';
COMMENT ON COLUMN runs.opens_at IS 'Registration is possible from here (inclusive).';
COMMENT ON COLUMN runs.closes_at IS 'Registration is possible to here (exclusive).';
COMMENT ON COLUMN runs.capacity IS 'Seats; NULL = unlimited. May be lowered below attendances_count, which takes nobody''s seat away.';
COMMENT ON COLUMN runs.attendances_count IS 'Seats held: the number of the run''s attendances.';
COMMENT ON COLUMN runs.settled_ticket IS 'All tickets up to this one are decided, none after it. Only ever grows.';

CREATE TABLE lines (
    run_id           integer PRIMARY KEY REFERENCES runs,
    last_ticket      bigint NOT NULL DEFAULT 0 CHECK (last_ticket >= 0),
    last_accepted_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
COMMENT ON TABLE lines IS 'The head of each run''s line. The row is locked by whoever accepts requests for the run, apart from the run''s row, so that accepting and settling never wait for each other.';
COMMENT ON COLUMN lines.last_ticket IS 'The last ticket issued. Tickets are 1, 2, 3 … without gaps.';
COMMENT ON COLUMN lines.last_accepted_at IS 'accepted_at of that ticket: the next one is never earlier, whatever the clock does.';

CREATE TABLE requests (
    run_id          integer NOT NULL REFERENCES lines,
    ticket          bigint NOT NULL CHECK (ticket > 0),
    id              uuid NOT NULL UNIQUE,
    kind            text NOT NULL CHECK (kind = 'register'),
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    email           text NOT NULL CHECK (octet_length(email) BETWEEN 3 AND 254),
    email_key       text NOT NULL CHECK (octet_length(email_key) BETWEEN 3 AND 254),
    idempotency_key text CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    accepted_at     timestamptz NOT NULL,
    status          text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'confirmed', 'rejected')),
    reason          text CHECK (reason IN ('full', 'already_registered')),
    decided_at      timestamptz,
    PRIMARY KEY (run_id, ticket),
    CHECK ((status = 'queued') = (decided_at IS NULL)),
    CHECK ((status = 'rejected') = (reason IS NOT NULL)),
    CHECK (decided_at >= accepted_at)
) WITH (fillfactor = 70); -- status, reason and decided_at stand in no index: settling is a HOT update
CREATE UNIQUE INDEX requests_idempotency_key ON requests (run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
COMMENT ON TABLE requests IS 'The line: everything that was asked for, in ticket order. It is the truth about order; the queue in Redis only says when to look.';
COMMENT ON COLUMN requests.id IS 'Random: the person''s only credential. Never logged.';
COMMENT ON COLUMN requests.kind IS 'What was asked for.';
COMMENT ON COLUMN requests.email IS 'As it was typed: mail goes here.';
COMMENT ON COLUMN requests.email_key IS 'What the address is compared by.';
COMMENT ON COLUMN requests.idempotency_key IS 'The Idempotency-Key the request came with. Belongs to the run: another run''s keys are others.';
COMMENT ON COLUMN requests.accepted_at IS 'The database''s clock in the accepting transaction, by which the window was judged. Never runs backwards along a line.';

CREATE TABLE users (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email_key text NOT NULL UNIQUE,
    email     text NOT NULL,
    name      text NOT NULL
);
COMMENT ON TABLE users IS 'People who ever got a seat, one row per mailbox, as they wrote themselves the first time.';

CREATE TABLE attendances (
    run_id  integer NOT NULL,
    user_id bigint NOT NULL REFERENCES users,
    ticket  bigint NOT NULL,
    PRIMARY KEY (run_id, user_id),
    UNIQUE (run_id, ticket),
    FOREIGN KEY (run_id, ticket) REFERENCES requests
);
COMMENT ON TABLE attendances IS 'Seats that are held: one row per run and user.';
COMMENT ON COLUMN attendances.ticket IS 'The request that won the seat.';

-- +goose StatementBegin
CREATE FUNCTION runs_keep_promises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.slug IS DISTINCT FROM OLD.slug THEN
        RAISE EXCEPTION 'the slug of a run is immutable: it names the run''s queue' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.settled_ticket < OLD.settled_ticket THEN
        RAISE EXCEPTION 'settled_ticket only grows' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_keep_promises BEFORE UPDATE OF slug, settled_ticket ON runs
    FOR EACH ROW WHEN (NEW.slug IS DISTINCT FROM OLD.slug OR NEW.settled_ticket < OLD.settled_ticket)
    EXECUTE FUNCTION runs_keep_promises();
