-- +goose Up

-- Foreign keys to courses wait for sessions that write courses. If one writes for long, this gives up rather than have every
-- client queue behind it: run `api migrate` again. Reading, accepting and settling go on.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, runs IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

CREATE TABLE accounts (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email_key  text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(email_key) BETWEEN 3 AND 254),
    email      text NOT NULL CHECK (octet_length(email) BETWEEN 3 AND 254),
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    language   text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'de')),
    disabled   boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE accounts IS 'Organisers who can be given rights. Rows are never deleted: what an account did must stay its own.';
COMMENT ON COLUMN accounts.email_key IS 'What the address is compared by, as in users.';
COMMENT ON COLUMN accounts.disabled IS 'None of its tokens opens anything.';

CREATE TABLE grants (
    account_id integer NOT NULL REFERENCES accounts,
    course_id  integer REFERENCES courses,
    role       text NOT NULL CHECK (role IN ('admin', 'organiser', 'door')),
    UNIQUE NULLS NOT DISTINCT (account_id, course_id),
    CONSTRAINT grants_admin CHECK (role <> 'admin' OR course_id IS NULL)
);
COMMENT ON TABLE grants IS 'What an account may do: one role for each course, and one for all courses.';
COMMENT ON COLUMN grants.course_id IS 'NULL = all courses, those to come as well.';

CREATE TABLE api_tokens (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id   integer NOT NULL REFERENCES accounts,
    name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    hash         bytea NOT NULL CHECK (octet_length(hash) = 32),
    read_only    boolean NOT NULL DEFAULT false,
    course_ids   integer[] CHECK (cardinality(course_ids) BETWEEN 1 AND 100),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    CHECK (expires_at > created_at AND expires_at < created_at + interval '3 years 1 day')
);
CREATE INDEX api_tokens_account_id ON api_tokens (account_id);
COMMENT ON TABLE api_tokens IS 'By which programs act for an account. Rows are never deleted.';
COMMENT ON COLUMN api_tokens.hash IS 'SHA-256 of 256 random bits, which are stored nowhere.';
COMMENT ON COLUMN api_tokens.course_ids IS 'The only courses that it is for; NULL = all courses of its account.';
COMMENT ON COLUMN api_tokens.last_used_at IS 'The hour of the last use.';

CREATE TABLE access_versions (
    single  boolean PRIMARY KEY DEFAULT true CHECK (single),
    version bigint NOT NULL
);
INSERT INTO access_versions (version) VALUES (1);
COMMENT ON TABLE access_versions IS 'One row. Each change of accounts, grants and tokens raises the version, by which API processes learn that what they remember is out of date. Its lock lets such changes happen one at a time.';

-- A change that takes the last admin is refused here, whichever program makes it. The UPDATE waits for other changes to end,
-- and the statement after it sees what they did: of two that would each leave the other's admin, one is refused.
-- +goose StatementBegin
CREATE FUNCTION access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access_versions SET version = version + 1;
    RETURN NULL;
END $$;
CREATE FUNCTION access_keep_admin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access_versions SET version = version + 1;
    IF NOT EXISTS (SELECT FROM grants g JOIN accounts a ON a.id = g.account_id WHERE g.role = 'admin' AND NOT a.disabled) THEN
        RAISE EXCEPTION 'this would leave no admin whose account is not disabled' USING ERRCODE = 'check_violation', CONSTRAINT = 'last_admin';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is immutable', TG_ARGV[0] USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER accounts_changed AFTER INSERT ON accounts FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER accounts_enabled AFTER UPDATE ON accounts
    FOR EACH ROW WHEN (NOT NEW.disabled) EXECUTE FUNCTION access_changed();
CREATE TRIGGER accounts_disabled AFTER UPDATE ON accounts
    FOR EACH ROW WHEN (NEW.disabled) EXECUTE FUNCTION access_keep_admin();
CREATE TRIGGER grants_changed AFTER INSERT ON grants FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER grants_kept AFTER UPDATE OR DELETE ON grants FOR EACH ROW WHEN (OLD.role <> 'admin') EXECUTE FUNCTION access_changed();
CREATE TRIGGER grants_admin_lost AFTER UPDATE OR DELETE ON grants FOR EACH ROW WHEN (OLD.role = 'admin') EXECUTE FUNCTION access_keep_admin();
CREATE TRIGGER api_tokens_changed AFTER INSERT OR UPDATE OF account_id, hash, read_only, course_ids, expires_at, revoked_at ON api_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION access_changed();

-- API processes remember rights by the slug of the course.
CREATE TRIGGER courses_keep_slug BEFORE UPDATE OF slug ON courses
    FOR EACH ROW WHEN (NEW.slug <> OLD.slug) EXECUTE FUNCTION refuse_change('the slug of a course');
CREATE TRIGGER runs_keep_course BEFORE UPDATE OF course_id ON runs
    FOR EACH ROW WHEN (NEW.course_id <> OLD.course_id) EXECUTE FUNCTION refuse_change('the course of a run');
