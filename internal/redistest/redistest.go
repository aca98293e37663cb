// Package redistest starts a real Redis for a test, which the test can kill,
// freeze and restart. It is for tests only.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/testwait"
)

// Variable is the environment variable that names the redis-server binary. If
// it is unset, the tests use the one on the PATH.
const Variable = "LASTSEAT_TEST_REDIS_SERVER"

// Server is a running Redis.
type Server struct {
	t      testing.TB
	addr   string
	dir    string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the present process has exited
}

// Start starts an empty Redis on a free port. It is killed when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// URL returns the address in the form of the setting redis.url.
func (s *Server) URL() string { return "redis://" + s.addr + "/0" }

// Addr returns host and port.
func (s *Server) Addr() string { return s.addr }

// Restart starts an empty Redis, on the same port as before if there was one.
func (s *Server) Restart() {
	s.t.Helper()
	binary := os.Getenv(Variable)
	if binary == "" {
		var err error
		if binary, err = exec.LookPath("redis-server"); err != nil {
			s.t.Fatalf("%s is not set and redis-server is not on the PATH: run the tests with `make test`", Variable)
		}
	}
	var last error
	for range 10 {
		addr := s.addr
		if addr == "" {
			addr = freeAddr(s.t)
		}
		if last = s.start(binary, addr); last == nil {
			s.addr = addr
			return
		}
	}
	s.t.Fatalf("starting redis-server: %v", last)
}

// start starts Redis on the address. It fails if another process has taken the
// port.
func (s *Server) start(binary, addr string) error {
	_, port, _ := net.SplitHostPort(addr)
	logFile := filepath.Join(s.dir, "redis.log")
	cmd := exec.Command(binary, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--dir", s.dir, "--logfile", logFile)
	if err := proc.StartGuarded(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = proc.WaitGuarded(cmd); close(exited) }()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	deadline := time.After(testwait.Limit)
	for {
		if client.Ping(context.Background()).Err() == nil {
			s.cmd, s.exited = cmd, exited
			return nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(logFile)
			return fmt.Errorf("it exited: %s", text)
		case <-deadline:
			_ = cmd.Process.Kill()
			<-exited
			return fmt.Errorf("it did not answer within %s", testwait.Limit)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Kill kills Redis, which loses all its data. It returns when the process is
// gone.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.exited
	s.cmd = nil
}

// Freeze makes Redis hang: it accepts connections but answers nothing.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen Redis.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

// Client returns a client that is closed when the test ends.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}
