package rivals

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// schema is what a web application needs to know who got a seat. It has no foreign
// keys and no more indexes than the answers use: both would cost each of them
// alike.
const schema = `
CREATE TABLE runs (
    id                integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug              text NOT NULL UNIQUE,
    capacity          integer NOT NULL CHECK (capacity >= 0),
    attendances_count integer NOT NULL DEFAULT 0 CHECK (attendances_count >= 0),
    lock_version      integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50); -- room for HOT updates, as Lastseat has it
CREATE TABLE attendances (
    run_id    integer NOT NULL,
    email_key text NOT NULL,
    email     text NOT NULL,
    name      text NOT NULL,
    PRIMARY KEY (run_id, email_key)
);
CREATE TABLE requests (
    id          uuid PRIMARY KEY,
    run_id      integer NOT NULL,
    email_key   text NOT NULL,
    email       text NOT NULL,
    name        text NOT NULL,
    outcome     text NOT NULL,
    accepted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_at  timestamptz NOT NULL
);`

// Run is a run whose seats people can ask for.
type Run struct {
	Slug  string
	Seats int
}

// Prepare makes the tables of the contender in the empty database at url, or in the
// empty schema that its search_path names, with the runs.
func Prepare(ctx context.Context, c Contender, url string, runs []Run) error {
	db, err := openDB(ctx, url, 1, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec(ctx, schema); err != nil {
		return fmt.Errorf("making the tables of %s: %w", c.Name, err)
	}
	slugs, seats := make([]string, len(runs)), make([]int, len(runs))
	for i, r := range runs {
		slugs[i], seats[i] = r.Slug, r.Seats
	}
	if _, err := db.Exec(ctx, `INSERT INTO runs (slug, capacity) SELECT * FROM unnest($1::text[], $2::integer[])`, slugs, seats); err != nil {
		return fmt.Errorf("making the runs of %s: %w", c.Name, err)
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, db); err != nil {
			return fmt.Errorf("preparing %s: %w", c.Name, err)
		}
	}
	_, err = db.Exec(ctx, `VACUUM ANALYZE`)
	return err
}

// db is the database of an answer.
type db struct {
	*pgxpool.Pool
	patience time.Duration // of the people who wait for an answer; 0 = without end
	retries  atomic.Int64  // how often an answer started over

	mu   sync.RWMutex
	runs map[string]int32 // the ids that are known by now
}

// openDB opens a pool of exactly so many connections. If wrap is not nil, it wraps
// their network connections.
func openDB(ctx context.Context, url string, conns int, wrap func(net.Conn) net.Conn) (*db, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.MaxConns, c.MinConns = int32(conns), int32(conns)
	c.MaxConnIdleTime = time.Hour
	// Statements are planned once, as Lastseat's are. Their plans have one shape.
	c.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	c.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	c.ConnConfig.RuntimeParams["jit"] = "off"
	c.ConnConfig.RuntimeParams["application_name"] = "rival"
	if dial := c.ConnConfig.DialFunc; wrap != nil {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return &db{Pool: pool, runs: make(map[string]int32)}, nil
}

// run returns the id of the run, false if there is none. A slug never changes its
// run, so it is read once in the life of a process.
func (d *db) run(ctx context.Context, slug string) (int32, bool, error) {
	d.mu.RLock()
	id, known := d.runs[slug]
	d.mu.RUnlock()
	if known {
		return id, true, nil
	}
	err := d.QueryRow(ctx, `SELECT id FROM runs WHERE slug = $1`, slug).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("looking for run %s: %w", slug, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs[slug] = id
	return id, true, nil
}

// state is the part of a run that the answers read.
type state struct{ capacity, count, version int }

const readRun = `SELECT capacity, attendances_count, lock_version FROM runs WHERE id = $1`

func (s *state) scan(row pgx.Row) error { return row.Scan(&s.capacity, &s.count, &s.version) }

// read reads a run without a lock.
func (d *db) read(ctx context.Context, run int32) (s state, err error) {
	err = s.scan(d.QueryRow(ctx, readRun, run))
	return s, err
}

const (
	insertAttendance = `INSERT INTO attendances (run_id, email_key, email, name) VALUES ($1, $2, $3, $4)`
	countSeat        = `UPDATE runs SET attendances_count = attendances_count + 1 WHERE id = $1`
	insertRequest    = `
INSERT INTO requests (run_id, email_key, email, name, id, outcome, decided_at) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())`
)

// queueSeat queues the statements that give a seat. The counter comes last, because
// all requests wait for its row.
func queueSeat(batch *pgx.Batch, recording bool, run int32, p person) {
	batch.Queue(insertAttendance, run, p.key, p.email, p.name)
	if recording {
		queueRequest(batch, run, p, seated)
	}
	batch.Queue(countSeat, run)
}

func queueRequest(batch *pgx.Batch, run int32, p person, o outcome) {
	batch.Queue(insertRequest, run, p.key, p.email, p.name, p.id, o)
}

// recordIf records a request and its outcome, if the answer records at all.
func (d *db) recordIf(ctx context.Context, recording bool, run int32, p person, o outcome) error {
	if !recording {
		return nil
	}
	_, err := d.Exec(ctx, insertRequest, run, p.key, p.email, p.name, p.id, o)
	return err
}

// isTaken reports whether the error says that the address has a seat already.
func isTaken(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" // unique_violation
}
