-- +goose Up

-- If another session writes runs for long, this gives up rather than have every client queue behind it: run `api migrate`
-- again. Reading and accepting go on; settling waits for an instant.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- Reminders that were skipped while a run was put off are due again when it moves back to the start for which they count as
-- written.
-- +goose StatementBegin
CREATE FUNCTION runs_forget_reminders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_reminders WHERE run_id = NEW.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_forget_reminders AFTER UPDATE OF starts_at ON runs
    FOR EACH ROW WHEN (NEW.starts_at <> OLD.starts_at) EXECUTE FUNCTION runs_forget_reminders();
COMMENT ON TABLE run_reminders IS 'For which start of a run reminders are being written, or were written last. A trigger forgets it when the start changes.';
