-- +goose Up

-- If another session writes for long, this gives up rather than have everybody queue behind it: run `api migrate` again.
-- Reading goes on, and so does accepting; settling waits for an instant.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, runs IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- These values are parsed only when a mail or a calendar entry is written, long after whoever wrote them has gone. Triggers
-- refuse wrong ones, and only where a statement sets the value to another one. A CHECK would look at old rows, too, each time
-- they are updated: a wrong zone of a year ago would stop a run's line. `api doctor` finds the old ones.

-- +goose StatementBegin
CREATE FUNCTION require_value(of_column text, fine boolean, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT fine THEN
        RAISE EXCEPTION '%', rule USING ERRCODE = 'check_violation', COLUMN = of_column;
    END IF;
END $$;
-- Without control characters, line ends, and characters that change the direction of text: see enroll.CheckLine.
CREATE FUNCTION is_one_line(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value !~ '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]'
$$;
-- Has the form that enroll.ParseAddress accepts. Whether a domain beyond ASCII can exist is not seen here.
CREATE FUNCTION is_address(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT is_one_line(value) AND octet_length(local) <= 64
        AND local ~ '^[-!#$%&''*+/0-9=?A-Z^_`a-z{|}~]+(\.[-!#$%&''*+/0-9=?A-Z^_`a-z{|}~]+)*$'
        AND CASE WHEN domain ~ '^[\u0001-\u007f]+$'
            THEN domain ~ '^([0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?\.)+(?![0-9]+$)[0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?$'
            ELSE domain ~ '^[^][ <>"(),:;@\\]+$' END
    FROM (SELECT split_part(value, '@', 1) AS local, substr(value, strpos(value, '@') + 1) AS domain) parts
$$;
CREATE FUNCTION courses_check_values() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    one_line constant text := 'must be one line without control characters and characters that change the direction of text';
BEGIN
    IF NEW.title IS DISTINCT FROM OLD.title THEN
        PERFORM require_value('title', is_one_line(NEW.title) AND NEW.title ~ '[^[:space:]]', one_line || ', and not blank');
    END IF;
    IF NEW.organiser IS DISTINCT FROM OLD.organiser THEN
        PERFORM require_value('organiser', is_one_line(NEW.organiser) AND NEW.organiser !~ '^[[:space:]]+$', one_line || ', and empty rather than blank');
    END IF;
    IF NEW.description IS DISTINCT FROM OLD.description THEN
        PERFORM require_value('description', is_one_line(translate(NEW.description, E'\t\n\r', '')),
            'must not contain characters that change the direction of text, nor control characters other than tabs and line ends');
    END IF;
    IF NEW.reply_to IS DISTINCT FROM OLD.reply_to THEN
        PERFORM require_value('reply_to', NEW.reply_to = '' OR is_address(NEW.reply_to),
            'must be empty or a plain address like name@example.org, without quotes, brackets, blanks or a display name');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION runs_check_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.place IS DISTINCT FROM OLD.place THEN
        PERFORM require_value('place', is_one_line(NEW.place) AND NEW.place !~ '^[[:space:]]+$',
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
CREATE TRIGGER courses_check_values BEFORE INSERT OR UPDATE OF title, description, organiser, reply_to ON courses
    FOR EACH ROW EXECUTE FUNCTION courses_check_values();
CREATE TRIGGER runs_check_values BEFORE INSERT OR UPDATE OF place, time_zone ON runs
    FOR EACH ROW EXECUTE FUNCTION runs_check_values();
