package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/testwait"
)

const (
	// PoolerVariable names pgbouncer's program; without it, it is looked for. `make
	// test` sets it.
	PoolerVariable = "LASTSEAT_TEST_PGBOUNCER"

	// ThroughPoolerVariable holds the host:port of a pooler in front of the server of
	// Variable. Then Open goes through it, without prepared statements.
	ThroughPoolerVariable = "LASTSEAT_TEST_THROUGH_POOLER"
)

// StartPooler starts a pgbouncer in transaction mode, with Debian's defaults and
// the extra settings, in front of the server that Variable names. It returns the
// pooler's host:port; the pooler ends with the test.
func StartPooler(t testing.TB, settings ...string) string {
	t.Helper()
	admin, err := pgx.ParseConfig(os.Getenv(Variable))
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	dir := folder(t, "lastseat-pgbouncer-")
	program := poolerProgram(t)
	password := ""
	if admin.Password != "" { // an empty one is a fault in the file
		password = "password='" + admin.Password + "'"
	}
	for range 10 { // another program may take the port meanwhile
		var port string
		if port, err = proc.FreePort(); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 1000
%s
`, admin.Host, admin.Port, admin.User, password, port, strings.Join(settings, "\n"))
		file := filepath.Join(dir, "pgbouncer.ini")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		own(t, file)
		address := net.JoinHostPort("127.0.0.1", port)
		if err = runPooler(t, program, file, address); err == nil {
			return address
		}
	}
	t.Fatal(err)
	return ""
}

// runPooler returns when the pooler takes connections.
func runPooler(t testing.TB, program, file, address string) error {
	var out bytes.Buffer
	p, err := proc.Start(proc.Command{
		Name: "pgbouncer", Args: []string{program, "--quiet", file}, Dir: filepath.Dir(file), Credential: account(t),
		Stdout: &out, Stderr: &out,
	})
	if err != nil {
		return err
	}
	t.Cleanup(p.Kill)
	var dialer net.Dialer
	err = proc.AwaitReady(t.Context(), p, testwait.Limit, func(ctx context.Context) error {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	if end := (*proc.UnexpectedEnd)(nil); errors.As(err, &end) {
		return fmt.Errorf("%w: %s", err, &out)
	}
	return err
}

// poolerProgram returns pgbouncer, which packages keep outside many users' PATH.
func poolerProgram(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv(PoolerVariable), "pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer", "/usr/local/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("pgbouncer is not to be found: run the tests with `make test`, or set %s to its program", PoolerVariable)
	return ""
}

// Through returns the URL of the same database by way of the host:port.
func Through(t testing.TB, address, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = address
	return u.String()
}

// Way returns the URL by which Open reaches the database: through the pooler of
// ThroughPoolerVariable, unless url leads to a proxy or to a server of the test's
// own.
func Way(t testing.TB, database string) string {
	t.Helper()
	pooler := os.Getenv(ThroughPoolerVariable)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if admin, err := url.Parse(os.Getenv(Variable)); pooler == "" || err != nil || u.Host != admin.Host {
		return database
	}
	return Through(t, pooler, database)
}
