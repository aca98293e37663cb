-- +goose Up

-- A place is one on a waiting list; where a run is held is its location. Names change and no row is rewritten. If the tables
-- are in use for long, this gives up rather than have every client queue behind it: run `api migrate` again. Programs that
-- were built before know the old name: stop them first.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE runs, run_revisions IN ACCESS EXCLUSIVE MODE;
LOCK TABLE run_changes, mails IN SHARE UPDATE EXCLUSIVE MODE; -- for their comments
SET LOCAL statement_timeout = 0;

-- Checks and the columns of triggers follow by themselves, bodies of functions do not.
ALTER TABLE runs RENAME COLUMN place TO location;
ALTER TABLE runs RENAME CONSTRAINT runs_place_check TO runs_location_check;
ALTER TABLE run_revisions RENAME COLUMN place TO location;
COMMENT ON COLUMN runs.revision IS 'How often time or location were changed: a calendar takes the entry with the highest number.';
COMMENT ON TABLE run_revisions IS 'Time and location of each run, by runs.revision. A trigger writes them, whichever program changes the run.';
COMMENT ON TABLE run_changes IS 'Runs whose time or location was changed, until the notices of it are written. One row a run, and mostly none.';
COMMENT ON COLUMN mails.revision IS 'The revision of the run whose time and location the last attempt told. What a registration was last told stands in the last of its mails that were sent. NULL: none was made, or the kind does not tell it.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION runs_note_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_revisions (run_id, revision, starts_at, ends_at, time_zone, location, changed_at)
    VALUES (NEW.id, NEW.revision, NEW.starts_at, NEW.ends_at, NEW.time_zone, NEW.location, clock_timestamp())
    ON CONFLICT (run_id, revision) DO UPDATE
    SET starts_at = excluded.starts_at, ends_at = excluded.ends_at, time_zone = excluded.time_zone, location = excluded.location,
        changed_at = excluded.changed_at;
    IF TG_OP = 'UPDATE' THEN
        -- It changes the row in any case, so that a worker that writes notices cannot end between this and the commit.
        INSERT INTO run_changes AS c (run_id, since, newest, opened_at)
        VALUES (NEW.id, OLD.revision, NEW.revision, clock_timestamp())
        ON CONFLICT (run_id) DO UPDATE
        SET newest = excluded.newest,
            since = CASE WHEN c.opened_at IS NULL THEN excluded.since ELSE c.since END,
            opened_at = coalesce(c.opened_at, excluded.opened_at);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION runs_check_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.location IS DISTINCT FROM OLD.location THEN
        PERFORM require_value('location', is_one_line(NEW.location) AND NEW.location !~ '^[[:space:]]+$',
            'must be one line without control characters and characters that change the direction of text, and empty rather than blank');
    END IF;
    -- Looking a zone up reads the server's files of all zones, some tens of milliseconds: once in a transaction that writes
    -- many runs. Names that Postgres knows and enroll.ParseTimeZone does not are those of a machine, or not for people.
    IF NEW.time_zone IS DISTINCT FROM OLD.time_zone AND NEW.time_zone IS DISTINCT FROM current_setting('lastseat.known_time_zone', true) THEN
        PERFORM require_value('time_zone', NEW.time_zone !~ '^(posix/|right/|localtime$|posixrules$|Factory$)'
            AND EXISTS (SELECT FROM pg_timezone_names WHERE name = NEW.time_zone),
            'must be the name of a time zone, such as Europe/Berlin, in this spelling');
        PERFORM set_config('lastseat.known_time_zone', NEW.time_zone, true);
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
