// Package postgres is the ledger: it keeps courses, runs, lines and attendances
// in PostgreSQL 15 or later.
//
// Every exported method is one unit of work with a transaction of its own.
// Locks are taken in the order lines, runs, users, the rest. The package
// translates errors of the database into codes of the domain; it must not know
// who calls it, nor anything of HTTP or queues.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Options bound what a pool may use and how long anything may take.
type Options struct {
	Name                     string // application_name, seen in pg_stat_activity
	MaxConns                 int
	ConnectTimeout           time.Duration
	StatementTimeout         time.Duration
	LockTimeout              time.Duration
	IdleInTransactionTimeout time.Duration // ends the transaction of a frozen process
	// Unprepared is for a pool behind a transaction pooler: no statement is
	// prepared, and settings last for a transaction. Connections that have to be
	// direct, for lane locks and migrations, do without it.
	Unprepared bool
}

// errURL stands for errors about a URL, which would quote its password.
var errURL = errors.New("the URL, or a parameter in it, is not understood")

// Store is a pool of connections to the ledger.
type Store struct {
	pool    *pool
	options Options
	fits    atomic.Bool // CheckSettings has succeeded
}

// Open returns a store for the database at url. It connects when it is first
// used, so that a process can start before its database; the error is about the
// url alone and does not repeat it.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	c.MaxConns = int32(o.MaxConns)
	c.MaxConnIdleTime = 5 * time.Minute
	c.PingTimeout = time.Second // a dead connection must not use up the caller's time
	pool, err := newPool(ctx, c, o)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return &Store{pool: pool, options: o}, nil
}

// milliseconds returns the duration as the server's settings take it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close closes all connections and waits for those in use.
func (s *Store) Close() { s.pool.Close() }

// Ready returns nil if the database answers with our settings, and its schema is at
// least as new as this program; newer is fine, since migrations only add or loosen what
// older programs rely on.
func (s *Store) Ready(ctx context.Context) error {
	if !s.fits.Load() { // it was away when the process started
		if err := s.CheckSettings(ctx); err != nil {
			return err
		}
		s.fits.Store(true)
	}
	var version int64
	err := s.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&version)
	if pg, is := errors.AsType[*pgconn.PgError](err); is && pg.Code == "42P01" { // undefined_table
		err = nil
	}
	if err != nil {
		return translate("asking the database", err)
	}
	if want := newestMigration(); version < want {
		return enroll.Errorf(enroll.Unavailable, "the schema is at version %d and this program needs %d: run `api migrate`", version, want)
	}
	return nil
}

// boundStatements bounds how long each of the next statements of a transaction may
// run.
const boundStatements = `SELECT set_config('statement_timeout', $1, true)`

// queueLock queues a statement that only locks rows and ends within lock_timeout,
// however many it locks and however many sessions wait for them, too. The setting of that name
// counts for each lock by itself, and a row costs two when others wait for it: the
// head of the queue, then the holder's transaction. So behind waiters of other
// processes the server's answer would come when its client has given up. The result
// says, after the batch, whether the rows were locked.
func (s *Store) queueLock(batch *pgx.Batch, sql string, arg any) (locked *bool) {
	locked = new(bool)
	batch.Queue(boundStatements, milliseconds(s.options.LockTimeout))
	batch.Queue(sql, arg).Exec(func(pgconn.CommandTag) error {
		*locked = true
		return nil
	})
	batch.Queue(boundStatements, milliseconds(s.options.StatementTimeout))
	return locked
}

// collect runs a query and returns its rows as read by scan.
func collect[T any](ctx context.Context, s *Store, doing string, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, translate(doing, err)
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, translate(doing, err)
	}
	return found, nil
}
