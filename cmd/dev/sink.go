package main

import (
	"context"
	"net"
	"sync"

	"github.com/lastseat/lastseat/internal/mailsink"
)

// Where the mail sink listens if it can.
const (
	knownMailServer = "127.0.0.1:1025"
	knownMailPage   = "127.0.0.1:8025"
)

// sink is the mail server of a stack. It lives in this process: nothing that is sent leaves the machine.
type sink struct {
	*mailsink.Sink
	server, page string     // host:port
	turn         sync.Mutex // of who has it misbehave
	stop         func()
}

// startSink starts a mail sink, on the known ports if they are wanted and free.
func (t *tool) startSink(known bool) (*sink, error) {
	server, err := t.listen(known, knownMailServer, "the mail sink")
	if err != nil {
		return nil, err
	}
	page, err := t.listen(known, knownMailPage, "the mail sink's page")
	if err != nil {
		server.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	received := mailsink.New()
	go func() {
		defer close(ended)
		if err := received.Serve(ctx, server, page); err != nil {
			t.log.printf("the mail sink has ended: %v", err)
		}
	}()
	return &sink{Sink: received, server: server.Addr().String(), page: page.Addr().String(), stop: func() { cancel(); <-ended }}, nil
}

// listen listens on the known address if that is wanted and possible, else on any port.
func (t *tool) listen(known bool, address, name string) (net.Listener, error) {
	if known {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
		t.log.printf("%s is in use: %s gets another port", address, name)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}
