package cluster

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

	"github.com/lastseat/lastseat/internal/dev/proc"
)

const superuser = "postgres"

// Options are what differs between the uses of a server.
type Options struct {
	Durable        bool // false: faster, and the data is lost if the machine stops
	MaxConnections int
	Settings       []string // more settings, as name=value
}

// Server is a Postgres on a cluster. It can be started again.
type Server struct {
	*proc.Service
	cluster *Cluster
}

// URL returns the URL of the superuser's database postgres.
func (s *Server) URL() string { return s.cluster.url(s.Port) }

func (c *Cluster) url(port string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, c.password),
		Host: "127.0.0.1:" + port, Path: "/postgres", RawQuery: "sslmode=disable",
	}).String()
}

// Start starts a server on the cluster, as a member of the group, and returns it
// once it answers. Its output goes to the log file.
func (c *Cluster) Start(ctx context.Context, g *proc.Group, logFile string, o Options) (*Server, error) {
	s := &Server{cluster: c, Service: &proc.Service{LogFile: logFile}}
	s.Launch = func(ctx context.Context, port string, log io.Writer) (*proc.Process, error) {
		p, err := proc.Start(proc.Command{
			Name:       string(proc.PartPostgres),
			Args:       serverArgs(filepath.Join(c.bin, "postgres"), c.data(), port, o),
			Dir:        c.Path,
			Env:        environment(),
			Credential: c.credential,
			Stdout:     log,
			Stderr:     log,
			StopSignal: syscall.SIGINT, // "fast": does not wait for clients to leave
		})
		if err != nil {
			return nil, err
		}
		// Another program's server cannot answer in its place: it does not have this
		// password.
		return p, proc.AwaitReady(ctx, p, startLimit, func(ctx context.Context) error { return Ping(ctx, c.url(port)) })
	}
	return s, s.StartOnFreePort(ctx, g)
}

// startLimit is how long a server may take to answer: recovery after a dirty stop
// takes a while, and the machine may be busy.
const startLimit = 2 * time.Minute

func serverArgs(program, data, port string, o Options) []string {
	onOff := map[bool]string{true: "on", false: "off"}[o.Durable]
	args := []string{program, "-D", data}
	for _, setting := range append([]string{
		"port=" + port,
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // a socket's path is limited to a hundred bytes, which deep folders exceed
		"max_connections=" + strconv.Itoa(o.MaxConnections),
		"shared_buffers=128MB",
		"fsync=" + onOff, "synchronous_commit=" + onOff, "full_page_writes=" + onOff,
		"timezone=UTC", "log_timezone=UTC",
		"logging_collector=off", "log_destination=stderr",
	}, o.Settings...) {
		args = append(args, "-c", setting)
	}
	return args
}

// environment is our environment without the variables that initdb and postgres
// take as settings.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	return append(env, "LC_ALL=C")
}

// Ping connects to the server at the URL and makes a round trip.
func Ping(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}

// EnsureDatabase creates the database on the server at address unless it exists,
// and returns its URL.
func EnsureDatabase(ctx context.Context, address, name string) (string, error) {
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
