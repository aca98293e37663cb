-- +goose Up

-- Gives up rather than have everybody queue behind it: see 00010.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE mails IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- What is left of an address after a mail to it has ended, in whatever form, goes with it: a hash can be tried with guesses.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mails_forget_mistaken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.email := NULL;
    NEW.email_key := NULL;
    NEW.recipient := NULL;
    NEW.left_at := NULL;
    IF NEW.state = 'failed' THEN
        NEW.problem := 'the mail server did not take this mail'; -- its own words may quote the address
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
-- NOT VALID: there are none yet.
ALTER TABLE mails
    DROP CONSTRAINT mails_mistaken_address,
    ADD CONSTRAINT mails_mistaken_address CHECK (CASE
        WHEN kind <> 'mistaken_address' THEN true
        WHEN state = 'pending' THEN email IS NOT NULL AND email_key IS NOT NULL
        ELSE num_nonnulls(email, email_key, recipient, left_at) = 0 END) NOT VALID;
