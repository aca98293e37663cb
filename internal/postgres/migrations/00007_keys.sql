-- +goose Up

-- All at once, and it gives up instead of making others wait: 00005 says why. The requests are read once, a second or two
-- for each million.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, lines, runs, requests, mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- An organiser's key is another one than the same key of the public: what stands before it, no client can send. The column
-- has room for that (NOT VALID: shorter ones are not read again).
ALTER TABLE requests
    DROP CONSTRAINT requests_idempotency_key_check,
    ADD CONSTRAINT requests_idempotency_key_check CHECK (length(idempotency_key) BETWEEN 1 AND 300) NOT VALID;
UPDATE requests SET idempotency_key = '·organiser ' || idempotency_key
WHERE kind = 'register' AND by_organiser AND idempotency_key IS NOT NULL;
COMMENT ON COLUMN requests.idempotency_key IS 'The Idempotency-Key the request came with, after "·organiser " if an organiser sent it, or one of Lastseat''s own, after "·". Belongs to the run: another run''s keys are others.';
COMMENT ON COLUMN requests.by_organiser IS 'An organiser asked for it, and showed the token.';

-- NOT VALID saves reading the whole table: the old rows have none.
ALTER TABLE requests
    ADD digest bytea,
    ADD CONSTRAINT requests_digest CHECK (octet_length(digest) BETWEEN 2 AND 64) NOT VALID;
COMMENT ON COLUMN requests.digest IS 'Of a request with an Idempotency-Key: a keyed hash of everything it said, by which a repetition is compared; its first byte is the version. NULL = compare what stands in the row.';

CREATE TABLE digest_keys (
    version smallint PRIMARY KEY CHECK (version BETWEEN 1 AND 255),
    key     bytea NOT NULL CHECK (octet_length(key) = 32)
);
COMMENT ON TABLE digest_keys IS 'The secret behind requests.digest. Without it, a digest that outlives a correction does not let anybody test guesses at the name and the address that were there before. Keep it out of extracts.';
INSERT INTO digest_keys VALUES (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

CREATE TABLE retired_ids (
    id         uuid PRIMARY KEY,
    run_id     integer NOT NULL,
    ticket     bigint NOT NULL,
    retired_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX retired_ids_ticket ON retired_ids (run_id, ticket);
COMMENT ON TABLE retired_ids IS 'Ids that registrations had before their addresses were corrected. Whoever knows one knew the wrong address, or owns it: it opens nothing any more.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION requests_are_needed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM requests q WHERE q.run_id = OLD.run_id AND q.ticket = OLD.ticket)
        AND (EXISTS (SELECT FROM attendances a WHERE a.run_id = OLD.run_id AND a.ticket = OLD.ticket)
            OR EXISTS (SELECT FROM waiting w WHERE w.run_id = OLD.run_id AND w.ticket = OLD.ticket)
            OR EXISTS (SELECT FROM mails m WHERE m.run_id = OLD.run_id AND m.ticket = OLD.ticket)
            OR EXISTS (SELECT FROM retired_ids i WHERE i.run_id = OLD.run_id AND i.ticket = OLD.ticket)) THEN
        RAISE EXCEPTION 'ticket % of run % has a seat, a place, a mail or a retired id', OLD.ticket, OLD.run_id USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

ALTER TABLE mails
    ADD email text,
    ADD CONSTRAINT mails_email CHECK (octet_length(email) BETWEEN 3 AND 254) NOT VALID,
    ADD CONSTRAINT mails_mistaken_address CHECK (kind <> 'mistaken_address' OR (email IS NOT NULL) = (state = 'pending')) NOT VALID;
COMMENT ON COLUMN mails.email IS 'The address it went to, if the registration has another one since; of a mistaken_address, where it goes, until it has ended. NULL = the registration''s.';
-- +goose StatementBegin
CREATE FUNCTION mails_forget_mistaken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.email := NULL;
    IF NEW.problem <> '' THEN
        NEW.problem := 'the mail server did not take this mail'; -- its own words may quote the address
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
-- A trigger, so that it holds whoever ends the mail, an older program, too.
CREATE TRIGGER mails_forget_mistaken BEFORE UPDATE OF state ON mails
    FOR EACH ROW WHEN (NEW.kind = 'mistaken_address' AND NEW.state <> 'pending')
    EXECUTE FUNCTION mails_forget_mistaken();

-- Triggers on what is new, and no CHECK: an old run with such a slug goes on, and every update of its row would hit a CHECK.
-- +goose StatementBegin
CREATE FUNCTION slugs_are_no_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a slug must not look like a UUID (32 hexadecimal digits, with or without hyphens): that is what the id of a registration looks like'
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_slug_is_no_id BEFORE INSERT ON runs
    FOR EACH ROW WHEN (replace(NEW.slug, '-', '') ~ '^[0-9a-f]{32}$') EXECUTE FUNCTION slugs_are_no_ids();
CREATE TRIGGER courses_slug_is_no_id BEFORE INSERT ON courses
    FOR EACH ROW WHEN (replace(NEW.slug, '-', '') ~ '^[0-9a-f]{32}$') EXECUTE FUNCTION slugs_are_no_ids();
CREATE TRIGGER courses_slug_becomes_no_id BEFORE UPDATE OF slug ON courses
    FOR EACH ROW WHEN (NEW.slug <> OLD.slug AND replace(NEW.slug, '-', '') ~ '^[0-9a-f]{32}$') EXECUTE FUNCTION slugs_are_no_ids();
