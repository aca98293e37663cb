package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// Service is a child that listens on a port of 127.0.0.1 and can be started
// again, on the same port.
type Service struct {
	Port    string
	LogFile string // its path
	Process *Process
	// Launch starts the child on the port and returns once it answers. Besides an
	// error, it may return a process that still runs.
	Launch func(ctx context.Context, port string, log io.Writer) (*Process, error)
}

// Start starts the service on its port, as a member of the group. On failure,
// the error carries the end of the log.
func (s *Service) Start(ctx context.Context, g *Group) error {
	log, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	p, err := s.Launch(ctx, s.Port, log)
	log.Close() // the child has its own
	if err != nil {
		if p != nil {
			p.Stop()
		}
		return WithLog(err, s.LogFile)
	}
	s.Process = p
	g.Add(p)
	return nil
}

// StartOnFreePort starts the service for the first time. If another program
// takes the port first, it tries again on another port.
func (s *Service) StartOnFreePort(ctx context.Context, g *Group) error {
	if err := os.Remove(s.LogFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for attempt := 1; ; attempt++ {
		var err error
		if s.Port, err = FreePort(); err != nil {
			return err
		}
		if err = s.Start(ctx, g); err == nil || attempt == 5 || !strings.Contains(err.Error(), "ddress already in use") {
			return err
		}
	}
}

// Systems give no port of this range to an outgoing connection, so a service that
// is started again finds its port free.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// FreePort returns a port of 127.0.0.1 on which no program listens.
func FreePort() (string, error) {
	for attempt := 1; ; attempt++ {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort)) //nolint:gosec // it need not be hard to guess
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
		if attempt == 100 {
			return "", err
		}
	}
}

// WithLog adds the path and the last lines of a log to an error.
func WithLog(err error, path string) error {
	content, readErr := os.ReadFile(path)
	if readErr != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-15):]
	return fmt.Errorf("%w\nthe end of %s:\n  %s", err, path, strings.Join(lines, "\n  "))
}
