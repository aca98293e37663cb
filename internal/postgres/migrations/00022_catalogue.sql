-- +goose Up

-- Constant defaults rewrite no row. If the tables are in use for long, this gives up rather than have every client queue behind
-- it: run `api migrate` again. Programs that were built before show drafts to everybody: stop them before you create one.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, runs IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

ALTER TABLE courses ADD version bigint NOT NULL DEFAULT 1;
ALTER TABLE runs
    ADD version bigint NOT NULL DEFAULT 1,
    ADD state   text NOT NULL DEFAULT 'published' CHECK (state IN ('draft', 'published', 'archived'));
COMMENT ON COLUMN courses.version IS 'Raised by a trigger when a column changes that organisers edit. The ETag of the settings.';
COMMENT ON COLUMN runs.version IS 'Raised by a trigger when a column changes that organisers edit, and not by settling. The ETag of the settings.';
COMMENT ON COLUMN runs.state IS 'draft: for organisers of the course only. archived: over or called off, and in no list. It never goes back.';

-- +goose StatementBegin
CREATE FUNCTION count_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    RETURN NEW;
END $$;
CREATE FUNCTION runs_keep_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (('draft', 'published'), ('published', 'archived')) THEN
        RAISE EXCEPTION 'a run goes from draft to published to archived, and never back' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state = 'archived' AND NOT NEW.called_off AND NEW.ends_at > now() THEN
        RAISE EXCEPTION 'a run is archived when it is over or called off' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER courses_count_version BEFORE UPDATE OF title, description, organiser, reply_to ON courses
    FOR EACH ROW WHEN ((NEW.title, NEW.description, NEW.organiser, NEW.reply_to) IS DISTINCT FROM (OLD.title, OLD.description, OLD.organiser, OLD.reply_to))
    EXECUTE FUNCTION count_version();
CREATE TRIGGER runs_count_version BEFORE UPDATE OF location, time_zone, starts_at, ends_at, opens_at, closes_at, promote_until, language, state ON runs
    FOR EACH ROW WHEN ((NEW.location, NEW.time_zone, NEW.starts_at, NEW.ends_at, NEW.opens_at, NEW.closes_at, NEW.promote_until, NEW.language, NEW.state)
        IS DISTINCT FROM (OLD.location, OLD.time_zone, OLD.starts_at, OLD.ends_at, OLD.opens_at, OLD.closes_at, OLD.promote_until, OLD.language, OLD.state))
    EXECUTE FUNCTION count_version();
CREATE TRIGGER runs_keep_state BEFORE UPDATE OF state ON runs
    FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION runs_keep_state();
