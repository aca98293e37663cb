// Package redistest gives a test a real Redis of its own, which it can kill,
// freeze and start again. It is for tests only.
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

// Variable names the redis-server binary to test with; without it the one on
// the PATH is used.
const Variable = "LASTSEAT_TEST_REDIS_SERVER"

// Server is a running Redis.
type Server struct {
	t      testing.TB
	addr   string
	dir    string
	cmd    *exec.Cmd
	exited chan struct{} // of the process of now
}

// Start returns an empty Redis on a free port that is killed when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// URL returns the address in the form of redis.url.
func (s *Server) URL() string { return "redis://" + s.addr + "/0" }

// Addr returns host and port.
func (s *Server) Addr() string { return s.addr }

// Restart starts an empty Redis, on the old port if there was one before.
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
	s.t.Fatalf("redis-server does not start: %v", last)
}

// start fails when somebody else took the port meanwhile.
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
			return fmt.Errorf("it does not answer within %s", testwait.Limit)
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

// Kill ends Redis at once; everything in it is lost. It returns when the process
// is gone.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.exited
	s.cmd = nil
}

// Freeze makes Redis hang: it accepts connections and answers nothing.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen Redis go on.
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
