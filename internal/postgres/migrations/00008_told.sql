-- +goose Up

-- All at once and in the order of accepting and settling: see 00005. The new columns are empty, so nothing is rewritten;
-- the indexes read mails once.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE runs, mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- What a run said of its time and place, by revision: a mail about a change names the old and the new.
CREATE TABLE run_revisions (
    run_id     integer NOT NULL REFERENCES runs ON DELETE CASCADE,
    revision   integer NOT NULL CHECK (revision >= 0),
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL,
    time_zone  text NOT NULL,
    place      text NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, revision)
);
COMMENT ON TABLE run_revisions IS 'Time and place of each run, by runs.revision. A trigger writes them, whichever program changes the run.';
COMMENT ON COLUMN run_revisions.changed_at IS 'Since when. Of the revision that was current when this table was made: since ever.';
INSERT INTO run_revisions SELECT id, revision, starts_at, ends_at, time_zone, place, '-infinity' FROM runs;

CREATE TABLE run_changes (
    run_id    integer PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    since     integer NOT NULL,
    newest    integer NOT NULL,
    opened_at timestamptz,
    after     bigint,
    CHECK (opened_at IS NOT NULL OR after IS NOT NULL)
);
COMMENT ON TABLE run_changes IS 'Runs whose time or place was changed, until the notices of it are written. One row a run, and mostly none.';
COMMENT ON COLUMN run_changes.since IS 'The revision before the first change of the window that is open, or was open last.';
COMMENT ON COLUMN run_changes.newest IS 'The newest revision.';
COMMENT ON COLUMN run_changes.opened_at IS 'When the first change was made that the notices being written do not cover. Later ones do not move it. NULL: no window is open.';
COMMENT ON COLUMN run_changes.after IS 'Notices are written for the tickets up to this one; NULL: none are being written.';

CREATE TABLE run_reminders (
    run_id    integer PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    starts_at timestamptz NOT NULL,
    after     bigint
);
COMMENT ON TABLE run_reminders IS 'For which start of a run reminders are being written, or were written last.';
COMMENT ON COLUMN run_reminders.after IS 'They are written for the tickets up to this one; NULL: for all.';

-- +goose StatementBegin
CREATE FUNCTION runs_note_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_revisions (run_id, revision, starts_at, ends_at, time_zone, place, changed_at)
    VALUES (NEW.id, NEW.revision, NEW.starts_at, NEW.ends_at, NEW.time_zone, NEW.place, clock_timestamp())
    ON CONFLICT (run_id, revision) DO UPDATE
    SET starts_at = excluded.starts_at, ends_at = excluded.ends_at, time_zone = excluded.time_zone, place = excluded.place,
        changed_at = excluded.changed_at;
    IF TG_OP = 'UPDATE' THEN
        -- It changes the row in any case, so that whoever writes notices cannot end between this and the commit.
        INSERT INTO run_changes AS c (run_id, since, newest, opened_at)
        VALUES (NEW.id, OLD.revision, NEW.revision, clock_timestamp())
        ON CONFLICT (run_id) DO UPDATE
        SET newest = excluded.newest,
            since = CASE WHEN c.opened_at IS NULL THEN excluded.since ELSE c.since END,
            opened_at = coalesce(c.opened_at, excluded.opened_at);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_note_first_revision AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION runs_note_revision();
CREATE TRIGGER runs_note_revision AFTER UPDATE OF starts_at, ends_at, time_zone, place ON runs
    FOR EACH ROW WHEN (NEW.revision <> OLD.revision) EXECUTE FUNCTION runs_note_revision();

ALTER TABLE mails
    ADD revision    integer CHECK (revision >= 0),
    ADD told_status text,
    ADD recipient   bigint,
    ADD left_at     timestamptz,
    ADD told_by     uuid,
    DROP CONSTRAINT mails_check,
    -- A mail is about one registration, about all of an address, or, a summary, about those of an address in one run: then
    -- it has the ticket of one of them, by which organisers find it.
    ADD CONSTRAINT mails_about CHECK ((run_id IS NULL) = (ticket IS NULL) AND (run_id IS NOT NULL OR email_key IS NOT NULL)),
    ADD CONSTRAINT mails_left CHECK (left_at IS NULL OR recipient IS NOT NULL);
COMMENT ON COLUMN mails.revision IS 'The revision of the run whose time and place the last attempt told. What a registration was last told stands in the last of its mails that were sent. NULL: none was made, or the kind does not tell it.';
COMMENT ON COLUMN mails.told_status IS 'The status of the registration that the last attempt told; NULL as revision.';
COMMENT ON COLUMN mails.recipient IS 'A hash of the key of the address that the last attempt went to.';
COMMENT ON COLUMN mails.left_at IS 'When that attempt began; NULL if certainly nothing left. By it mails to one address are counted.';
COMMENT ON COLUMN mails.told_by IS 'The summary that tells what this mail would have.';
CREATE INDEX mails_left_at ON mails (recipient, left_at) WHERE left_at IS NOT NULL;
CREATE INDEX mails_told_by ON mails (told_by) WHERE told_by IS NOT NULL;
