package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations returns the SQL files that make the schema, in name order.
func Migrations() fs.FS {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// newestMigration returns the version of the schema that this program needs.
var newestMigration = sync.OnceValue(func() int64 {
	files, err := fs.Glob(Migrations(), "*.sql")
	if err != nil || len(files) == 0 {
		panic("no migrations are embedded")
	}
	version, err := goose.NumericComponent(files[len(files)-1])
	if err != nil {
		panic(err) // the name of a file above
	}
	return version
})

// Migrate brings the schema of the database at url up to date and returns the
// names of the migrations that it applied. Several may run at once: a session
// lock lets one work and the others find nothing left to do. It needs a direct
// connection, not one through a transaction pooler.
func Migrate(ctx context.Context, url string, o Options) ([]string, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", errURL)
	}
	o.StatementTimeout, o.LockTimeout, o.IdleInTransactionTimeout = 0, 0, 0 // building an index takes what it takes
	configure(c, o)
	conn, err := pgx.ConnectConfig(ctx, c)
	if refusedByPooler(err) {
		return nil, notDirect(lockURL, "migrations", err)
	} else if err != nil {
		return nil, translate("migrating", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := requireDirect(ctx, conn, lockURL, "migrations"); err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*c)
	defer db.Close()
	return migrate(ctx, db)
}

func migrate(ctx context.Context, db *sql.DB) ([]string, error) {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, Migrations(), goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	results, err := p.Up(ctx)
	if pg, is := errors.AsType[*pgconn.PgError](err); is && (pg.Code == "57014" || pg.Code == "55P03") { // query_canceled, lock_not_available
		return nil, fmt.Errorf("migrating: the tables are in use, and nobody is made to wait for long: run it again in a quiet moment: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	var done []string
	for _, r := range results {
		done = append(done, r.Source.Path)
	}
	return done, nil
}
