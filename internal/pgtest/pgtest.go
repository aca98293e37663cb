// Package pgtest gives each test a database of its own on a real PostgreSQL,
// and connections that break on demand. It is for tests only.
package pgtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// Variable names the URL of a superuser's database on the server to test with.
// `make test` sets it.
const Variable = "LASTSEAT_TEST_POSTGRES_URL"

// Options are generous enough for a busy machine and short enough for a test.
var Options = postgres.Options{
	Name:                     "test",
	MaxConns:                 8,
	ConnectTimeout:           5 * time.Second,
	StatementTimeout:         30 * time.Second,
	LockTimeout:              15 * time.Second,
	IdleInTransactionTimeout: 4 * time.Second,
}

// templateLock serialises the making of the template over all test processes.
const templateLock = 7_000_001

var template = sync.OnceValues(func() (string, error) {
	admin := os.Getenv(Variable)
	if admin == "" {
		return "", fmt.Errorf("%s is not set: run the tests with `make test`, or set it to the URL of a superuser's database", Variable)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	name, err := templateName()
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", fmt.Errorf("connecting to %s: %w", Variable, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil {
		return "", err
	}
	if there {
		return name, nil
	}
	// Built under another name first: a process that dies here leaves no
	// template that is half done.
	building := name + "_building"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + building, "CREATE DATABASE " + building} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if _, err := postgres.Migrate(ctx, inDatabase(admin, building), Options); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+building+" RENAME TO "+name)
	return name, err
})

// templateName changes when a migration does.
func templateName() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(postgres.Migrations(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(postgres.Migrations(), path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(b), b)
		return err
	})
	return fmt.Sprintf("lastseat_template_%x", sum.Sum(nil)[:8]), err
}

func inDatabase(raw, name string) string {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err) // it connected before
	}
	u.Path = "/" + name
	return u.String()
}

// URL returns the URL of a new, migrated, empty database that is dropped when
// the test ends, after its counters were compared with its rows.
func URL(t testing.TB) string {
	t.Helper()
	from, err := template()
	if err != nil {
		t.Fatal(err)
	}
	url := create(t, "TEMPLATE "+from)
	t.Cleanup(func() { requireCounters(t, url) })
	return url
}

// EmptyURL returns the URL of a new database without a schema.
func EmptyURL(t testing.TB) string {
	t.Helper()
	if _, err := template(); err != nil {
		t.Fatal(err)
	}
	return create(t, "")
}

func create(t testing.TB, options string) string {
	t.Helper()
	admin := os.Getenv(Variable)
	name := fmt.Sprintf("test_%x", [16]byte(uuid.New()))
	exec := func(sql string) {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		conn, err := pgx.Connect(ctx, admin)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("CREATE DATABASE " + name + " " + options)
	t.Cleanup(func() { exec("DROP DATABASE " + name + " WITH (FORCE)") })
	return inDatabase(admin, name)
}

// Open returns a store on the database at url that is closed when the test ends.
func Open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return OpenWith(t, url, Options)
}

// OpenWith is Open with other options.
func OpenWith(t testing.TB, url string, o postgres.Options) *postgres.Store {
	t.Helper()
	o.Unprepared = o.Unprepared || os.Getenv(ThroughPoolerVariable) != ""
	url = Way(t, url)
	s, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Store returns a store on a database of its own.
func Store(t testing.TB) *postgres.Store {
	t.Helper()
	return Open(t, URL(t))
}

// Query returns the first column of the rows, read with a connection of its own.
func Query[T any](t testing.TB, url, sql string, args ...any) []T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

// Exec runs a statement with a connection of its own.
func Exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Hold runs a statement in a transaction that stays open until the function that
// it returns is called.
func Hold(t testing.TB, url, sql string, args ...any) (release func()) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = conn.Close(ctx) }) // the server rolls back
	t.Cleanup(release)
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
	return release
}

// LockWaiters returns how many sessions of the database wait for a lock.
func LockWaiters(t testing.TB, url string) int64 {
	t.Helper()
	return Query[int64](t, url, `
		SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0]
}

// AwaitLockWaiters waits until n sessions of the database wait for a lock.
func AwaitLockWaiters(t testing.TB, url string, n int64) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%d sessions wait for a lock", n), func() bool { return LockWaiters(t, url) == n })
}
