-- +goose Up

-- One table, and no row is rewritten. If somebody reads or writes it for long, this gives up rather than have everybody
-- queue behind it: run `api migrate` again. Older programs name tasks without the new column, and its default goes with
-- those names.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

ALTER TABLE mails ADD replaced integer NOT NULL DEFAULT 0 CHECK (replaced >= 0);
COMMENT ON COLUMN mails.replaced IS 'How often the queue had lost its task, so that another took its place. A task by an older name claims nothing.';
COMMENT ON COLUMN mails.attempts IS 'How often it was claimed. Together with the id, and with replaced, it names the task in the queue.';
