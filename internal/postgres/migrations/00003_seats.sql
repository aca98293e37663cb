-- +goose Up

ALTER TABLE runs
    ADD waitlist_capacity integer DEFAULT 0 CHECK (waitlist_capacity >= 0),
    ADD waiting_count     integer NOT NULL DEFAULT 0 CHECK (waiting_count >= 0),
    ADD promote_until     timestamptz CHECK (promote_until < '9999-01-01 00:00:00+00' AND promote_until >= '1970-01-01 00:00:00+00'),
    ADD waitlist_ended    boolean NOT NULL DEFAULT false,
    ADD called_off        boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN runs.waitlist_capacity IS 'Places on the waiting list; 0 = there is none, NULL = unlimited. May be lowered below waiting_count, which takes nobody''s place away.';
COMMENT ON COLUMN runs.waiting_count IS 'People on the waiting list: the number of the run''s rows in waiting.';
COMMENT ON COLUMN runs.promote_until IS 'When the waiting list ends by itself, through the line; NULL = when the run ends.';
COMMENT ON COLUMN runs.waitlist_ended IS 'Nobody is promoted any more, nor put on the list.';
COMMENT ON COLUMN runs.called_off IS 'The run does not take place.';
-- What the line began with: `api doctor` settles it again from there.
ALTER TABLE runs
    ADD first_capacity          integer CHECK (first_capacity >= 0),
    ADD first_waitlist_capacity integer CHECK (first_waitlist_capacity >= 0);
UPDATE runs SET first_capacity = capacity, first_waitlist_capacity = waitlist_capacity;
COMMENT ON COLUMN runs.first_capacity IS 'The capacity when the run was created. Later ones stand in the line: see requests.change.';
COMMENT ON COLUMN runs.first_waitlist_capacity IS 'The same of waitlist_capacity.';
-- +goose StatementBegin
CREATE FUNCTION runs_remember_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.first_capacity := NEW.capacity;
    NEW.first_waitlist_capacity := NEW.waitlist_capacity;
    RETURN NEW;
END $$;
-- +goose StatementEnd
-- A trigger, so that it holds for whoever creates a run, with an older program, too. A row that says it already is
-- being restored.
CREATE TRIGGER runs_remember_first BEFORE INSERT ON runs
    FOR EACH ROW WHEN (NEW.first_capacity IS NULL AND NEW.first_waitlist_capacity IS NULL)
    EXECUTE FUNCTION runs_remember_first();
-- For those whose waiting list has to end.
CREATE INDEX runs_promote_until ON runs (promote_until) WHERE NOT waitlist_ended AND promote_until IS NOT NULL;
CREATE INDEX runs_ends_at ON runs (ends_at) WHERE NOT waitlist_ended AND waiting_count > 0;

ALTER TABLE requests
    ALTER name DROP NOT NULL,
    ALTER email DROP NOT NULL,
    ALTER email_key DROP NOT NULL,
    ADD waitlist_limit integer CHECK (waitlist_limit >= 0),
    ADD target         bigint,
    ADD late           boolean NOT NULL DEFAULT false,
    ADD by_organiser   boolean NOT NULL DEFAULT false,
    ADD change         jsonb,
    ADD changed_at     timestamptz,
    ADD corrected_after bigint,
    DROP CONSTRAINT requests_kind_check,
    ADD CONSTRAINT requests_kind_check CHECK (kind IN ('register', 'cancel', 'resize', 'close_waitlist', 'call_off')),
    DROP CONSTRAINT requests_status_check,
    ADD CONSTRAINT requests_status_check CHECK (CASE WHEN kind = 'register'
        THEN status IN ('queued', 'confirmed', 'waitlisted', 'rejected', 'cancelled', 'not_promoted') ELSE status IN ('queued', 'done') END),
    DROP CONSTRAINT requests_reason_check,
    ADD CONSTRAINT requests_reason_check CHECK (CASE status
        WHEN 'rejected' THEN reason IN ('full', 'already_registered', 'waitlist_too_long', 'called_off')
        WHEN 'cancelled' THEN reason IN ('called_off', 'removed')
        WHEN 'done' THEN reason = 'no_effect'
        ELSE reason IS NULL END),
    DROP CONSTRAINT requests_check1,
    ADD CONSTRAINT requests_reason_of_rejection CHECK (status <> 'rejected' OR reason IS NOT NULL),
    ADD CONSTRAINT requests_person CHECK ((kind = 'register') = (name IS NOT NULL) AND (kind = 'register') = (email IS NOT NULL)
        AND (kind = 'register') = (email_key IS NOT NULL)),
    ADD CONSTRAINT requests_target CHECK ((kind = 'cancel') = (target IS NOT NULL) AND target < ticket),
    ADD CONSTRAINT requests_change CHECK ((kind = 'resize') = (change IS NOT NULL)),
    ADD CONSTRAINT requests_changed_at CHECK (changed_at >= decided_at),
    ADD FOREIGN KEY (run_id, target) REFERENCES requests;
COMMENT ON COLUMN requests.waitlist_limit IS 'The last place on the waiting list that is wanted; 0 = a seat or nothing, NULL = any.';
COMMENT ON COLUMN requests.target IS 'Of a cancel: the ticket of the registration.';
COMMENT ON COLUMN requests.late IS 'Of a cancel: accepted when the run had begun, so that nobody is promoted.';
COMMENT ON COLUMN requests.by_organiser IS 'An organiser asked for it, or for it to be accepted outside of the registration window.';
COMMENT ON COLUMN requests.change IS 'Of a resize: the new capacity and waitlist_capacity; null = unlimited, left out = as it is.';
COMMENT ON COLUMN requests.changed_at IS 'When a later request changed the status. What is confirmed was promoted then.';
COMMENT ON COLUMN requests.corrected_after IS 'The run''s settled_ticket when the address was corrected last: up to that ticket the line was settled with another one, which is not kept.';
-- Settling asks whether there is anything but registrations among the next requests.
CREATE INDEX requests_others ON requests (run_id, ticket) WHERE kind <> 'register';
CREATE INDEX requests_target ON requests (run_id, target) WHERE target IS NOT NULL;

CREATE TABLE waiting (
    run_id  integer NOT NULL,
    user_id bigint NOT NULL REFERENCES users,
    ticket  bigint NOT NULL,
    PRIMARY KEY (run_id, user_id),
    UNIQUE (run_id, ticket),
    FOREIGN KEY (run_id, ticket) REFERENCES requests
);
COMMENT ON TABLE waiting IS 'The waiting lists, in ticket order: one row per run and user.';
COMMENT ON COLUMN waiting.ticket IS 'The request that won the place.';
