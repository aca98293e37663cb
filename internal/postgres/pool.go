package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pool is a pool of connections on which every statement runs with our settings.
//
// A session keeps them for as long as it lives. Behind a transaction pooler no
// session is ours, so there they travel in front of each transaction, in the same
// round trip. Everything that Store says goes through the methods of pool, or it
// would run with others' settings.
type pool struct {
	conns *pgxpool.Pool
	set   string // sets the settings for the rest of a transaction; "" = the session has them
}

// newPool returns a pool as the options say. It connects when it is first used.
func newPool(ctx context.Context, c *pgxpool.Config, o Options) (*pool, error) {
	p := &pool{}
	if o.Unprepared {
		configureUnprepared(c.ConnConfig, o)
		p.set = setForTransaction(settings(o))
	} else {
		configure(c.ConnConfig, o)
	}
	var err error
	p.conns, err = pgxpool.NewWithConfig(ctx, c)
	return p, err
}

// setForTransaction returns the statement that sets the settings until the
// transaction ends.
func setForTransaction(settings []setting) string {
	var calls []string
	for _, s := range settings { // names and values are ours, and have no quotes
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', true)", s.name, s.value))
	}
	return "SELECT " + strings.Join(calls, ", ")
}

func (p *pool) Close() { p.conns.Close() }

// Begin begins a transaction.
func (p *pool) Begin(ctx context.Context) (pgx.Tx, error) { return p.BeginTx(ctx, pgx.TxOptions{}) }

// BeginTx is Begin with options.
func (p *pool) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := p.conns.BeginTx(ctx, o)
	if err != nil || p.set == "" {
		return tx, err
	}
	if _, err := tx.Exec(ctx, p.set); err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return tx, nil
}

// Exec runs a statement in a transaction of its own.
func (p *pool) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if p.set == "" {
		return p.conns.Exec(ctx, sql, args...)
	}
	batch := &pgx.Batch{}
	batch.Queue(sql, args...).Exec(func(t pgconn.CommandTag) error {
		tag = t
		return nil
	})
	err = p.SendBatch(ctx, batch).Close()
	return tag, err
}

// Query runs a query in a transaction of its own.
func (p *pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if p.set == "" {
		return p.conns.Query(ctx, sql, args...)
	}
	batch := &pgx.Batch{}
	batch.Queue(p.set)
	batch.Queue(sql, args...)
	results := p.conns.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close()
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, err
	}
	return &lastRows{Rows: rows, results: results}, nil
}

// QueryRow is Query for one row. Its error shows when that is scanned.
func (p *pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if p.set == "" {
		return p.conns.QueryRow(ctx, sql, args...)
	}
	rows, err := p.Query(ctx, sql, args...)
	return onlyRow{rows, err}
}

// batchResults come to the callbacks of a batch, which Close calls.
type batchResults interface{ Close() error }

// SendBatch runs a batch in one transaction.
func (p *pool) SendBatch(ctx context.Context, b *pgx.Batch) batchResults {
	return p.conns.SendBatch(ctx, withFirst(p.set, b))
}

// Acquire returns a connection, which the caller releases.
func (p *pool) Acquire(ctx context.Context) (*conn, error) {
	c, err := p.conns.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c, p.set}, nil
}

// conn is a connection of a pool.
type conn struct {
	conn *pgxpool.Conn
	set  string
}

// Release gives the connection back. One that is in a transaction is closed.
func (c *conn) Release() { c.conn.Release() }

// SendBatch runs a batch in one transaction, or in that which an earlier batch of
// the connection has begun.
func (c *conn) SendBatch(ctx context.Context, b *pgx.Batch) batchResults {
	if c.conn.Conn().PgConn().TxStatus() == 'I' { // idle: in no transaction
		b = withFirst(c.set, b)
	}
	return c.conn.SendBatch(ctx, b)
}

// withFirst returns the batch with a statement in front of it, unless that is "".
func withFirst(first string, b *pgx.Batch) *pgx.Batch {
	if first == "" {
		return b
	}
	all := &pgx.Batch{}
	all.Queue(first)
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	return all
}

// lastRows are the rows of the last query of a batch, which ends with them.
type lastRows struct {
	pgx.Rows
	results pgx.BatchResults
	ended   error // how the batch ended
}

func (r *lastRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *lastRows) Close() {
	r.Rows.Close()
	if err := r.results.Close(); r.ended == nil {
		r.ended = err
	}
}

func (r *lastRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.ended
}

// onlyRow is the first row of a query.
type onlyRow struct {
	rows pgx.Rows
	err  error
}

func (r onlyRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
