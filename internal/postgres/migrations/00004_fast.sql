-- +goose Up

-- All at once and in the order of accepting and settling, or they and this could wait for each other in a circle. They go
-- on meanwhile, except for an instant. If somebody reads for long, this gives up rather than have everybody queue behind
-- it: run `api migrate` again.
SET LOCAL lock_timeout = '3s';
LOCK TABLE lines, runs, users, requests, attendances, waiting, mails IN ACCESS EXCLUSIVE MODE;

-- A foreign key looks its parent up for every row that is written, and locks it, which writes the parent, too: a fifth of
-- what accepting and settling cost. What they write they have read in the same transaction, under the lock of the line or
-- of the run. What is left to guard against is that a parent goes: the triggers below do, except against TRUNCATE.
ALTER TABLE requests DROP CONSTRAINT requests_run_id_fkey;
ALTER TABLE attendances
    DROP CONSTRAINT attendances_user_id_fkey,
    DROP CONSTRAINT attendances_run_id_ticket_fkey;
ALTER TABLE waiting
    DROP CONSTRAINT waiting_user_id_fkey,
    DROP CONSTRAINT waiting_run_id_ticket_fkey;
ALTER TABLE mails DROP CONSTRAINT mails_run_id_ticket_fkey;

-- +goose StatementBegin
CREATE FUNCTION requests_are_needed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM requests q WHERE q.run_id = OLD.run_id AND q.ticket = OLD.ticket)
        AND (EXISTS (SELECT FROM attendances a WHERE a.run_id = OLD.run_id AND a.ticket = OLD.ticket)
            OR EXISTS (SELECT FROM waiting w WHERE w.run_id = OLD.run_id AND w.ticket = OLD.ticket)
            OR EXISTS (SELECT FROM mails m WHERE m.run_id = OLD.run_id AND m.ticket = OLD.ticket)) THEN
        RAISE EXCEPTION 'ticket % of run % has a seat, a place or a mail', OLD.ticket, OLD.run_id USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION lines_are_needed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM lines l WHERE l.run_id = OLD.run_id) AND EXISTS (SELECT FROM requests q WHERE q.run_id = OLD.run_id) THEN
        RAISE EXCEPTION 'the line of run % has requests', OLD.run_id USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION users_are_needed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM users u WHERE u.id = OLD.id)
        AND (EXISTS (SELECT FROM attendances a WHERE a.user_id = OLD.id) OR EXISTS (SELECT FROM waiting w WHERE w.user_id = OLD.id)) THEN
        RAISE EXCEPTION 'user % has a seat or a place', OLD.id USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- Deferred like the check of a foreign key that may be put off: who takes away both need not know the order.
CREATE CONSTRAINT TRIGGER requests_are_needed AFTER DELETE OR UPDATE OF run_id, ticket ON requests
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION requests_are_needed();
CREATE CONSTRAINT TRIGGER lines_are_needed AFTER DELETE OR UPDATE OF run_id ON lines
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lines_are_needed();
CREATE CONSTRAINT TRIGGER users_are_needed AFTER DELETE OR UPDATE OF id ON users
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION users_are_needed();
COMMENT ON COLUMN attendances.ticket IS 'The request that won the seat. It cannot go while this is here: see requests_are_needed.';
