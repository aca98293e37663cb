package stack

import (
	"context"
	"net"

	"github.com/lastseat/lastseat/internal/mailsink"
)

// Where the mail sink listens if it can.
const (
	knownMailServer = "127.0.0.1:1025"
	knownMailPage   = "127.0.0.1:8025"
)

// Sink is the mail server of a stack. It lives in this process, so no mail leaves
// the machine.
type Sink struct {
	*mailsink.Sink
	Server, Page string // host:port
	Stop         func()
}

// StartSink starts a mail sink, on the known ports if that is wanted and they are
// free.
func (t *Tool) StartSink(known bool) (*Sink, error) {
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
			t.Log.Printf("the mail sink has ended: %v", err)
		}
	}()
	return &Sink{Sink: received, Server: server.Addr().String(), Page: page.Addr().String(), Stop: func() { cancel(); <-ended }}, nil
}

// listen listens on the known address if that is wanted and possible, else on any
// port.
func (t *Tool) listen(known bool, address, name string) (net.Listener, error) {
	if known {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
		t.Log.Printf("%s is in use: %s gets another port", address, name)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}
