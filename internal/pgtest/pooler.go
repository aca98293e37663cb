package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
	var credential *syscall.Credential
	if os.Geteuid() == 0 { // which it refuses
		credential = notRoot(t)
	}
	dir, err := os.MkdirTemp("", "lastseat-pgbouncer-") // not t.TempDir, which only our own user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := poolerProgram(t)
	password := ""
	if admin.Password != "" { // an empty one is a fault in the file
		password = "password='" + admin.Password + "'"
	}
	for range 10 { // somebody else may take the port meanwhile
		port := freePort(t)
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
		if credential != nil {
			for _, path := range []string{dir, file} {
				if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
					t.Fatal(err)
				}
			}
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if err = runPooler(t, program, file, address, credential); err == nil {
			return address
		}
	}
	t.Fatal(err)
	return ""
}

// runPooler returns when the pooler takes connections.
func runPooler(t testing.TB, program, file, address string, credential *syscall.Credential) error {
	cmd := exec.Command(program, "--quiet", file)
	cmd.Dir = filepath.Dir(file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	for deadline := time.Now().Add(testwait.Limit); time.Now().Before(deadline); {
		select {
		case <-exited:
			return fmt.Errorf("pgbouncer exited: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
		dialer := net.Dialer{Timeout: time.Second}
		if c, err := dialer.DialContext(context.Background(), "tcp", address); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("pgbouncer takes no connections within %s", testwait.Limit)
}

// poolerProgram returns pgbouncer, which packages keep out of many people's PATH.
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
