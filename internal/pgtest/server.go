package pgtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
	"github.com/lastseat/lastseat/internal/postgres"
)

// BinVariable names the folder with initdb and postgres for tests that break a
// server of their own; without it, they are looked for. `make test` sets it.
const BinVariable = "LASTSEAT_TEST_POSTGRES_BIN"

// Server is a PostgreSQL of the test's own, which it can stop without notice and
// start again.
type Server struct {
	t      testing.TB
	group  *proc.Group
	server *cluster.Server
}

// StartServer returns a server that ends with the test and keeps what is
// committed across Kill and Restart. Its one database, at URL, has the schema.
func StartServer(t testing.TB) *Server {
	t.Helper()
	// The test's context ends before its cleanups, which stop the server.
	ctx := context.WithoutCancel(t.Context())
	dir := folder(t, "lastseat-postgres-")
	log := proc.NewConsole(io.Discard, os.Getenv)
	c, err := cluster.Open(ctx, cluster.Location{
		Bin: binaries(t), Home: dir, Log: filepath.Join(dir, "initdb.log"), Credential: account(t),
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t}
	s.group, _ = proc.NewGroup(ctx, log)
	t.Cleanup(s.group.Stop)
	s.server, err = c.Start(ctx, s.group, filepath.Join(dir, "log"), cluster.Options{
		MaxConnections: 60,
		// Without fsync, the death of a process loses nothing, only that of a machine
		// does. Without the others, it would lose commits.
		Settings: []string{"synchronous_commit=on", "full_page_writes=on"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(ctx, s.URL(), Options); err != nil {
		t.Fatal(err)
	}
	return s
}

// URL returns the URL of the database.
func (s *Server) URL() string { return s.server.URL() }

// Kill ends the server as a crash does: clients get no notice, and what was not
// committed is lost. It returns when nothing listens any more.
func (s *Server) Kill() { s.server.Process.Quit() }

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
	if err := s.server.Start(context.WithoutCancel(s.t.Context()), s.group); err != nil {
		s.t.Fatal(err)
	}
}

// binaries returns the folder with initdb and postgres.
func binaries(t testing.TB) string {
	t.Helper()
	path := append([]string{os.Getenv(BinVariable)}, filepath.SplitList(os.Getenv("PATH"))...)
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		path = append(path, strings.TrimSpace(string(out)))
	}
	dir, err := provide.FindPostgres(path, provide.PostgresFolders)
	if errors.Is(err, provide.ErrMissing) {
		t.Fatalf("initdb and postgres are not to be found: run the tests with `make test`, or set %s to their folder", BinVariable)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// account returns the user that runs Postgres and its pooler in place of root,
// which they refuse; nil for an ordinary user.
func account(t testing.TB) *syscall.Credential {
	t.Helper()
	credential, err := cluster.Account("")
	if err != nil {
		t.Fatal(err)
	}
	return credential
}

// folder returns an empty folder that ends with the test and that belongs to
// account, unlike t.TempDir's, which only our own user may enter.
func folder(t testing.TB, prefix string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	own(t, dir)
	return dir
}

// own makes the path belong to account.
func own(t testing.TB, path string) {
	t.Helper()
	if credential := account(t); credential != nil {
		if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}
