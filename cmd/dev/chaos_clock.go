package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// settableClock gives a new database a clock that can be set. What asks for
// clock_timestamp() or now() finds these before those of Postgres, since
// pg_catalog is looked through last. A clock set back for all of Postgres would
// need a library below it (libfaketime), which reads a file in signal handlers.
// So the timers of Postgres itself keep the right time here.
const settableClock = `
CREATE SCHEMA chaos;
CREATE TABLE chaos.clock (behind interval NOT NULL);
INSERT INTO chaos.clock VALUES ('0');
CREATE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS
	'SELECT pg_catalog.clock_timestamp() - (SELECT behind FROM chaos.clock)';
CREATE FUNCTION chaos.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS
	'SELECT pg_catalog.now() - (SELECT behind FROM chaos.clock)';
`

// giveClock gives the database at url, in which nothing is yet, such a clock.
func giveClock(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	database := pgx.Identifier{conn.Config().Database}.Sanitize()
	_, err = conn.Exec(ctx, settableClock+"ALTER DATABASE "+database+" SET search_path = public, chaos, pg_catalog")
	return wrap("making a clock that can be set", err)
}

// clockSetBack sets the ledger's clock back, and leaves it so. What is due is due
// hours later from then on, by times that were written before.
func clockSetBack(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	back := between(r, 2*time.Hour, 3*time.Hour).Round(time.Second)
	tell("by %s", back)
	_, err = conn.Exec(ctx, `UPDATE chaos.clock SET behind = behind + $1`, back)
	return err
}
