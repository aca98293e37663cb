package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// BinVariable names the folder with initdb and postgres for tests that break a
// server of their own; without it they are looked for. `make test` sets it.
const BinVariable = "LASTSEAT_TEST_POSTGRES_BIN"

// Server is a PostgreSQL of the test's own, which it can stop without notice and
// start again.
type Server struct {
	t          testing.TB
	bin        string
	dir        string
	port       string
	credential *syscall.Credential // nil = our own user
	exited     chan struct{}       // of the process of now
	cmd        *exec.Cmd
}

// StartServer returns a server that ends with the test and keeps what is
// committed across Kill and Restart. Its one database, at URL, has the schema.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: binaries(t)}
	if os.Geteuid() == 0 {
		s.credential = notRoot(t)
	}
	// Not t.TempDir, which only our own user may enter.
	var err error
	if s.dir, err = os.MkdirTemp("", "lastseat-postgres-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if s.credential != nil {
		if err := os.Chown(s.dir, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	initdb := s.command("initdb", "--pgdata="+s.data(), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(s.Kill)
	for range 10 { // somebody else may take the port meanwhile
		s.port = freePort(t)
		if err = s.start(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), s.URL(), Options); err != nil {
		t.Fatal(err)
	}
	return s
}

// URL returns the URL of the database.
func (s *Server) URL() string {
	return "postgres://postgres@127.0.0.1:" + s.port + "/postgres?sslmode=disable"
}

// Kill ends the server as a crash does: nobody is told, and what was not
// committed is lost. It returns when nobody listens any more.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // immediate shutdown
	<-s.exited
	s.cmd = nil
}

// Freeze stops the backend with the pid, as a paused machine does, until the
// function that it returns is called.
func (s *Server) Freeze(pid int) (thaw func()) {
	s.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	thaw = sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.t.Cleanup(thaw)
	return thaw
}

// Restart starts the server again. It returns as soon as the server takes
// connections.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) start() error {
	logFile, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer logFile.Close() // the server has its own
	cmd := s.command("postgres", "-D", s.data())
	for _, setting := range []string{
		"port=" + s.port, "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "timezone=UTC",
		// A process that is killed loses nothing by this, only a machine that stops.
		"fsync=off",
	} {
		cmd.Args = append(cmd.Args, "-c", setting)
	}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	s.cmd, s.exited = cmd, exited
	for deadline := time.Now().Add(testwait.Limit); ; {
		if s.answers() {
			return nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(logFile.Name())
			s.cmd = nil
			return fmt.Errorf("postgres exited: %s", text)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("postgres takes no connections within %s", testwait.Limit)
		}
	}
}

func (s *Server) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a program of the server's, run by a user it accepts and
// without what it would take as settings.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.credential}
	return cmd
}

// binaries returns the folder with initdb and postgres.
func binaries(t testing.TB) string {
	t.Helper()
	places := []string{os.Getenv(BinVariable)}
	if path, err := exec.LookPath("initdb"); err == nil {
		places = append(places, filepath.Dir(path))
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		places = append(places, strings.TrimSpace(string(out)))
	}
	elsewhere, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range append(places, elsewhere...) {
		if dir == "" {
			continue
		}
		if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		if _, err := exec.LookPath(filepath.Join(dir, "postgres")); err == nil {
			return dir
		}
	}
	t.Fatalf("initdb and postgres are not to be found: run the tests with `make test`, or set %s to their folder", BinVariable)
	return ""
}

// notRoot returns the user who runs Postgres in place of root, whom it refuses.
func notRoot(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseInt(account.Uid, 10, 64) // macOS gives nobody the id -2
		gid, err2 := strconv.ParseInt(account.Gid, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("postgres refuses to run as root, and this machine has neither a user postgres nor a user nobody")
	return nil
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
