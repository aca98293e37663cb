-- +goose Up

-- All at once, or not at all: see 00005. Only runs are written.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE runs IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- From now on a waiting list ends when its run begins, unless its run says otherwise. Runs that are there already keep the
-- end they had. NULL is no copy of the begin: a begin that is moved takes the end of the list along.
UPDATE runs SET promote_until = ends_at WHERE promote_until IS NULL;
COMMENT ON COLUMN runs.promote_until IS 'When the waiting list ends by itself; NULL = when the run begins. It ends with the run at the latest.';

-- Only a list with people on it has to be ended by a request. One index where there were two.
CREATE INDEX runs_list_ends_at ON runs (least(coalesce(promote_until, starts_at), ends_at)) WHERE NOT waitlist_ended AND waiting_count > 0;
DROP INDEX runs_promote_until;
DROP INDEX runs_ends_at;

COMMENT ON COLUMN requests.late IS 'The waiting list''s time had come when this was accepted, by the line''s clock: it puts nobody on the list and promotes nobody. Programs before this version set it for a cancel alone, if the run had begun.';
