package stack

import (
	"context"

	"github.com/lastseat/lastseat/internal/mailsink"
)

// Sink is the mail server of a stack. It lives in this process, so no mail leaves
// the machine.
type Sink struct {
	*mailsink.Sink
	Server, Page string // host:port
	Stop         func()
}

// StartSink starts a mail sink on its ports.
func (t *Tool) StartSink(o Options) (*Sink, error) {
	server, err := t.listen(o.port(portMailServer))
	if err != nil {
		return nil, err
	}
	page, err := t.listen(o.port(portMailPage))
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
