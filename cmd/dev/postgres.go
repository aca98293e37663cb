package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresOptions are what differs between the uses of a Postgres of our own.
type postgresOptions struct {
	durable        bool   // false: faster, and the data is lost if the machine stops
	maxConnections int    //
	database       string // created if it does not exist
}

// startPostgres starts a Postgres on the folder's cluster and returns it with the URL of its database once it answers.
// The process becomes a member of family.
func startPostgres(ctx context.Context, family *family, f *folder, binDir string, o postgresOptions) (*service, string, error) {
	c, err := openCluster(ctx, f, binDir, o.durable, family.log)
	if err != nil {
		return nil, "", err
	}
	address := func(port string) string {
		return (&url.URL{
			Scheme: "postgres", User: url.UserPassword("postgres", c.password),
			Host: "127.0.0.1:" + port, Path: "/postgres", RawQuery: "sslmode=disable",
		}).String()
	}
	s := &service{log: f.join("postgres.log"), launch: func(ctx context.Context, port string, log io.Writer) (*process, error) {
		p, err := startProcess(command{
			name:       "postgres",
			args:       postgresArgs(filepath.Join(binDir, "postgres"), c.data(), port, o),
			dir:        c.path,
			env:        postgresEnv(),
			credential: c.credential,
			stdout:     log,
			stderr:     log,
			stop:       syscall.SIGINT, // "fast": does not wait for its clients
		})
		if err != nil {
			return nil, err
		}
		// A minute, because after a dirty stop it first makes up for what is missing. Nobody else's server can answer
		// here: it would not know the password.
		return p, awaitAnswer(ctx, p, time.Minute, func(ctx context.Context) error { return pingPostgres(ctx, address(port)) })
	}}
	if err := s.startOnFreePort(ctx, family); err != nil {
		return nil, "", err
	}
	database, err := ensureDatabase(ctx, address(s.port), o.database)
	return s, database, err
}

func postgresArgs(program, data, port string, o postgresOptions) []string {
	onOff := map[bool]string{true: "on", false: "off"}[o.durable]
	args := []string{program, "-D", data}
	for _, setting := range []string{
		"port=" + port,
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // the path of a socket has a hundred bytes at most, which a deep folder exceeds
		"max_connections=" + strconv.Itoa(o.maxConnections),
		"shared_buffers=128MB",
		"fsync=" + onOff, "synchronous_commit=" + onOff, "full_page_writes=" + onOff,
		"timezone=UTC", "log_timezone=UTC",
		"logging_collector=off", "log_destination=stderr",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// postgresEnv is our environment without what initdb and postgres would take as settings.
func postgresEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	return append(env, "LC_ALL=C")
}

// pingPostgres reports whether the server at the URL lets us in.
func pingPostgres(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}

// ensureDatabase creates the database on the server at address if it does not exist and returns its URL.
func ensureDatabase(ctx context.Context, address, name string) (string, error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists); err != nil {
		return "", err
	}
	if !exists {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
			return "", fmt.Errorf("creating database %s: %w", name, err)
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// withLog adds the path and the last lines of a log to an error.
func withLog(err error, path string) error {
	content, readErr := os.ReadFile(path)
	if readErr != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-15):]
	return fmt.Errorf("%w\nthe end of %s:\n  %s", err, path, strings.Join(lines, "\n  "))
}
