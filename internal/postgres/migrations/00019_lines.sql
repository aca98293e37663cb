-- +goose Up

-- If another session writes runs for long, this gives up rather than have every client queue behind it: run `api migrate`
-- again. Reading and accepting go on; settling waits for an instant.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- A run without its line is found by nobody. ON CONFLICT, because statements that insert both are in use.
-- +goose StatementBegin
CREATE FUNCTION runs_add_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lines (run_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_add_line AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION runs_add_line();
COMMENT ON TABLE lines IS 'The head of each run''s line, added by a trigger on runs. The row is locked by whoever accepts requests for the run, apart from the run''s row, so that accepting and settling never wait for each other.';

-- A line that has requests has lost its head by another way. The doctor reports it: tickets must not begin at 1 again.
INSERT INTO lines (run_id)
SELECT id FROM runs r WHERE NOT EXISTS (SELECT FROM lines l WHERE l.run_id = r.id)
    AND NOT EXISTS (SELECT FROM requests q WHERE q.run_id = r.id);
