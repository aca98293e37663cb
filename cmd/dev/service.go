package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// service is a Postgres or a Redis of our own. It can be started again, on the port it had.
type service struct {
	port    string
	log     string // the path of its log
	process *process
	// launch starts it on a port of 127.0.0.1 and returns once it answers. With an error it may return a process that
	// still runs.
	launch func(ctx context.Context, port string, log io.Writer) (*process, error)
}

// start starts it on its port, as a member of family. When it fails, the error carries the end of its log.
func (s *service) start(ctx context.Context, family *family) error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	p, err := s.launch(ctx, s.port, log)
	log.Close() // the child has its own
	if err != nil {
		if p != nil {
			p.halt()
		}
		return withLog(err, s.log)
	}
	s.process = p
	family.adopt(p)
	return nil
}

// startOnFreePort starts it for the first time, and again on another port when somebody else took the first in between.
func (s *service) startOnFreePort(ctx context.Context, family *family) error {
	if err := os.Remove(s.log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for attempt := 1; ; attempt++ {
		var err error
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.start(ctx, family); err == nil || attempt == 5 || !strings.Contains(err.Error(), "ddress already in use") {
			return err
		}
	}
}

// Ports of which systems give none to a connection that is made: what listened on one can come back to it.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// freePort returns a port of 127.0.0.1 on which nobody listens.
func freePort() (string, error) {
	for attempt := 1; ; attempt++ {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort)) //nolint:gosec // nobody gains by guessing it
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
		if attempt == 100 {
			return "", err
		}
	}
}
