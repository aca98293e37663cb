-- +goose Up

-- All at once, and it gives up rather than have every client queue behind it: see 00005. The columns are empty, so no row is
-- rewritten; the index reads the requests once, a second or so for each million.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE requests IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

ALTER TABLE requests ADD account_id integer, ADD token_id integer;
COMMENT ON COLUMN requests.account_id IS 'The account of the organiser that asked for it. NULL = no account did, or it is older than accounts. No foreign key: see 00004.';
COMMENT ON COLUMN requests.token_id IS 'The API token that it came with.';
CREATE INDEX requests_by_account ON requests (accepted_at, run_id, ticket) WHERE account_id IS NOT NULL;

CREATE TABLE audit (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at               timestamptz NOT NULL DEFAULT clock_timestamp(),
    account_id       integer REFERENCES accounts,
    token_id         integer REFERENCES api_tokens,
    client           cidr,
    action           text NOT NULL CHECK (length(action) BETWEEN 1 AND 40),
    course_id        integer REFERENCES courses,
    run_id           integer,
    ticket           bigint,
    about_account_id integer REFERENCES accounts,
    about_token_id   integer REFERENCES api_tokens,
    details          jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT audit_client CHECK (masklen(client) <= CASE family(client) WHEN 4 THEN 24 ELSE 48 END),
    CONSTRAINT audit_actor CHECK ((account_id IS NULL) = (token_id IS NULL))
);
CREATE INDEX audit_at ON audit (at, id);
COMMENT ON TABLE audit IS 'What organisers did that is no request in a line, written in the transaction that it records. Ids, field names and settings only: never names, addresses, answers, search words or texts of people. Rows are only added; `api audit prune` removes old ones.';
COMMENT ON COLUMN audit.account_id IS 'NULL = an operator at the command line.';
COMMENT ON COLUMN audit.client IS 'The network that the request came from: /24 or /48.';
COMMENT ON COLUMN audit.course_id IS 'By which it is readable: the course of the run, if it is about one. NULL = for admins only.';

-- +goose StatementBegin
CREATE FUNCTION audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('lastseat.prune_audit', true) = 'on' THEN
        IF OLD.at < now() - interval '30 days' THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit is only added to: `api audit prune` removes what is old' USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keep();
CREATE TRIGGER audit_keep_all BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();
