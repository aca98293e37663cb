-- +goose Up

-- One table, and no row is rewritten. If it is in use for long, this gives up rather than have every client queue behind it:
-- run `api migrate` again.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

ALTER TABLE mails ADD seat_told boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN mails.seat_told IS 'An attempt before the last one may have reached the recipient and told of a seat. The other columns say only what the last attempt told.';
