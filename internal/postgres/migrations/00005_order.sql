-- +goose Up

-- All at once. If somebody reads or writes for long, this gives up rather than have everybody queue behind it, and before
-- those who wait for it can be told that they are in a circle with it (deadlock_timeout, a second by default): run
-- `api migrate` again. The indexes of these columns are built anew, a few seconds for each million requests, in which
-- everybody waits. A program that runs meanwhile has one error on each of its connections afterwards, where a statement
-- that it has prepared returns such a column.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, lines, runs, users, requests, attendances, waiting, mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- Settling changes all the rows of a page in one transaction, and what it leaves behind can only be cleared after that: for
-- all of them to be HOT, the page has to have room for each row twice. With 70 it was 44 % of them, and the others got five
-- new index entries each. A table whose rows move elsewhere is no smaller. It counts for pages that are new.
ALTER TABLE requests SET (fillfactor = 45);

-- Keys are bytes. Comparing them as words of a language takes a sixth of the time of accepting; and a new version of the
-- operating system that has another order for such words breaks the indexes, and with them uniqueness.
DROP TRIGGER runs_keep_promises ON runs;
ALTER TABLE courses  ALTER slug TYPE text COLLATE "C";
ALTER TABLE runs     ALTER slug TYPE text COLLATE "C";
ALTER TABLE users    ALTER email_key TYPE text COLLATE "C";
ALTER TABLE requests ALTER email_key TYPE text COLLATE "C", ALTER idempotency_key TYPE text COLLATE "C";
ALTER TABLE mails    ALTER email_key TYPE text COLLATE "C", ALTER kind TYPE text COLLATE "C";
CREATE TRIGGER runs_keep_promises BEFORE UPDATE OF slug, settled_ticket ON runs
    FOR EACH ROW WHEN (NEW.slug IS DISTINCT FROM OLD.slug OR NEW.settled_ticket < OLD.settled_ticket)
    EXECUTE FUNCTION runs_keep_promises();
