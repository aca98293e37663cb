package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/enroll"
)

// setting is a setting of the server's under which our statements run.
type setting struct{ name, value string }

// settings returns all of them.
func settings(o Options) []setting {
	return []setting{
		{"timezone", "UTC"},
		{"statement_timeout", milliseconds(o.StatementTimeout)},
		{"lock_timeout", milliseconds(o.LockTimeout)},
		{"idle_in_transaction_session_timeout", milliseconds(o.IdleInTransactionTimeout)},
		// A plan is made once and kept, and it may be made while a table is
		// empty and run when it holds millions. So the hot statements are
		// written such that a plan has only one shape (a LATERAL with a LIMIT
		// is always looked up row by row; what is to be changed is found so,
		// and then by its ctid), and scanning a table because it is small just
		// now is ruled out. Scanning a whole index is not: TestPlans looks for
		// it.
		{"plan_cache_mode", "force_generic_plan"},
		{"enable_seqscan", "off"},
		// A scan that is ruled out and happens all the same, as over all runs,
		// counts as infinitely expensive, and compiling it takes 200 ms.
		{"jit", "off"},
	}
}

// configure has a connection's session keep the settings. It must be direct.
func configure(c *pgx.ConnConfig, o Options) {
	configureBoth(c, o)
	for _, s := range settings(o) {
		c.RuntimeParams[s.name] = s.value
	}
}

// configureUnprepared is for a connection that may go through a transaction
// pooler: statements are described once, parsed anew each time and not named, and
// nothing is left behind in a session.
func configureUnprepared(c *pgx.ConnConfig, o Options) {
	configureBoth(c, o)
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
}

func configureBoth(c *pgx.ConnConfig, o Options) {
	c.ConnectTimeout = o.ConnectTimeout
	// Only a server that takes writes is of use: with several hosts in the URL
	// this finds the primary.
	if len(c.Fallbacks) > 0 && c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.RuntimeParams["application_name"] = "lastseat " + o.Name // poolers pass it on
}

// CheckSettings finds out whether statements run with our settings, and the session
// is the one that we connected to if statements are prepared. The error has code
// Internal if postgres.prepared_statements does not fit the way to the server, and
// names what is wrong. With any other, it is not known.
func (s *Store) CheckSettings(ctx context.Context) error {
	const doing = "checking the settings of the database"
	const prepared = "prepared statements (postgres.prepared_statements: true)"
	c, err := s.pool.Acquire(ctx)
	if refusedByPooler(err) {
		return notDirect("postgres.url", prepared, err)
	} else if err != nil {
		return translate(doing, err)
	}
	defer c.Release()
	if !s.options.Unprepared {
		if err := requireDirect(ctx, c.conn.Conn(), "postgres.url", prepared); err != nil {
			return err
		}
	}
	want := settings(s.options)
	names := make([]string, len(want))
	for i, w := range want {
		names[i] = w.name
	}
	got := make(map[string]string)
	batch := &pgx.Batch{}
	batch.Queue(`SELECT lower(name), setting FROM pg_settings WHERE lower(name) = ANY($1)`, names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			got[name] = value
		}
		return rows.Err()
	})
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		return translate(doing, err)
	}
	for _, w := range want {
		if got[w.name] != w.value {
			return enroll.Errorf(enroll.Internal, "postgres.url leads to a server or pooler that does not keep our settings: %s is %q and must be %q",
				w.name, got[w.name], w.value)
		}
	}
	return nil
}

// startTimeout bounds the checks at the start of a process. A database that is away
// does not keep it from starting.
const startTimeout = 5 * time.Second

// RefuseMisfit returns the error of CheckSettings if it has code Internal: with
// these settings the process must not start. A database that is away is no reason.
func (s *Store) RefuseMisfit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return onlyInternal(s.CheckSettings(ctx))
}

// RefuseMisfitLocks is RefuseMisfit for ConnectLaneLocks.
func RefuseMisfitLocks(ctx context.Context, url string, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	l, err := ConnectLaneLocks(ctx, url, o, startTimeout)
	if err == nil {
		l.Close()
	}
	return onlyInternal(err)
}

func onlyInternal(err error) error {
	if enroll.CodeOf(err) == enroll.Internal {
		return err
	}
	return nil
}

// requireDirect returns an error of code Internal if the connection, which the
// setting leads to, is not one session of the server's own: a transaction pooler
// may run each statement in another, and then not even know one that was prepared.
func requireDirect(ctx context.Context, conn *pgx.Conn, setting, why string) error {
	for range 3 {
		var pid uint32
		if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
			return translate("checking that "+setting+" is a direct connection", err)
		}
		if pid != conn.PgConn().PID() {
			return notDirect(setting, why, nil)
		}
	}
	return nil
}

// notDirect is the error about a setting that leads to a pooler.
func notDirect(setting, why string, err error) error {
	return &enroll.Error{Code: enroll.Internal, Message: setting + " goes through a pooler, and " + why + " need a direct connection", Err: err}
}

// refusedByPooler tells whether connecting failed because a pooler does not take
// our settings, as pgbouncer says it: "unsupported startup parameter: …".
func refusedByPooler(err error) bool {
	pg, is := errors.AsType[*pgconn.PgError](err)
	return is && pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter")
}
