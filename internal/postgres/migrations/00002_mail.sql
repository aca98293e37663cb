-- +goose Up

ALTER TABLE courses
    ADD organiser text NOT NULL DEFAULT '' CHECK (length(organiser) <= 200),
    ADD reply_to  text NOT NULL DEFAULT '' CHECK (octet_length(reply_to) <= 254);
COMMENT ON COLUMN courses.organiser IS 'Who sends the mails, by name. Empty: the installation.';
COMMENT ON COLUMN courses.reply_to IS 'Where answers to the mails go. Empty: to the sender.';

ALTER TABLE runs
    ADD language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'de')),
    ADD revision integer NOT NULL DEFAULT 0 CHECK (revision >= 0);
COMMENT ON COLUMN runs.language IS 'Of the mails, unless the request says otherwise.';
COMMENT ON COLUMN runs.revision IS 'How often time or place were changed: a calendar takes the entry with the highest number.';

-- For the reminders: which runs begin soon.
CREATE INDEX runs_starts_at ON runs (starts_at);

-- +goose StatementBegin
CREATE FUNCTION runs_count_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_count_revisions BEFORE UPDATE OF starts_at, ends_at, time_zone, place ON runs
    FOR EACH ROW WHEN ((NEW.starts_at, NEW.ends_at, NEW.time_zone, NEW.place)
        IS DISTINCT FROM (OLD.starts_at, OLD.ends_at, OLD.time_zone, OLD.place))
    EXECUTE FUNCTION runs_count_revisions();

ALTER TABLE requests
    ADD language text CHECK (language IN ('en', 'de')),
    ADD notify   boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN requests.language IS 'Of the mails; NULL = the run''s.';
COMMENT ON COLUMN requests.notify IS 'A refusal is told by mail, too.';

-- For "send me my links".
CREATE INDEX requests_email_key ON requests (email_key);

CREATE TABLE mails (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kind          text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
    run_id        integer,
    ticket        bigint,
    email_key     text CHECK (octet_length(email_key) BETWEEN 3 AND 254),
    sequence      integer NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    state         text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'skipped')),
    attempts      integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_until timestamptz,
    ended_at      timestamptz,
    problem       text NOT NULL DEFAULT '' CHECK (length(problem) <= 1000),
    UNIQUE (run_id, ticket, kind, sequence),
    FOREIGN KEY (run_id, ticket) REFERENCES requests,
    -- A mail is about one registration, or about all of an address.
    CHECK ((run_id IS NULL) = (ticket IS NULL) AND (run_id IS NULL) = (email_key IS NOT NULL)),
    CHECK ((state = 'pending') = (ended_at IS NULL)),
    CHECK (claimed_until IS NULL OR state = 'pending')
) WITH (fillfactor = 70);
CREATE INDEX mails_next_at ON mails (next_at) WHERE state = 'pending';
CREATE INDEX mails_email_key ON mails (email_key, due_at) WHERE email_key IS NOT NULL;
COMMENT ON TABLE mails IS 'The outbox: what is to be told by mail, written in the transaction that makes it due. The queue in Redis only says when to look.';
COMMENT ON COLUMN mails.kind IS 'What it tells; the kinds stand in internal/enroll/mail.go.';
COMMENT ON COLUMN mails.sequence IS 'Tells mails of one kind about one registration apart: it grows when one is asked for again. A reminder begins with the revision of its run.';
COMMENT ON COLUMN mails.due_at IS 'When what it tells happened.';
COMMENT ON COLUMN mails.attempts IS 'How often it was claimed. Together with the id it names the task in the queue.';
COMMENT ON COLUMN mails.next_at IS 'When the relay looks at it next, unless something happens before.';
COMMENT ON COLUMN mails.claimed_until IS 'Somebody is sending it until then at the latest. A claim that ends by itself was somebody''s who died: the mail is sent again.';
COMMENT ON COLUMN mails.ended_at IS 'When it was sent, failed or skipped.';
COMMENT ON COLUMN mails.problem IS 'Why it was not sent the last time it was tried: what the mail server said, which may quote an address, or where it said nothing a plain sentence. For the organiser; never logged.';
