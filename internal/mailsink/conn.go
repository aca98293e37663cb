package mailsink

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// maxEarly is the most bytes that a client may send while it gets no answer.
const maxEarly = 64 << 10

// listener closes its connections when it is closed, because a session that
// hangs does not end by itself.
type listener struct {
	net.Listener
	sink *Sink

	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	accepted := &conn{Conn: c, listener: l}
	l.conns[accepted] = struct{}{}
	return accepted, nil
}

// Close closes the listener and its connections. Closing it again does nothing.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for c := range l.conns {
		c.Conn.Close()
	}
	return l.Listener.Close()
}

// conn sends nothing while the sink hangs. One goroutine at a time calls Read,
// Write and hold.
type conn struct {
	net.Conn
	listener *listener
	early    []byte // read while it hung, for Read to return
}

func (c *conn) Read(b []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.early)
	c.early = c.early[n:]
	return n, nil
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.hold(func(f Fault) bool { return f.Hang }); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// hold waits until hangs returns false for the sink's fault. It returns an
// error if the connection ends first.
func (c *conn) hold(hangs func(Fault) bool) error {
	for {
		fault, healed := c.listener.sink.misbehaviour()
		if !hangs(fault) {
			return nil
		}
		if err := c.wait(healed); err != nil {
			c.Conn.Close()
			return err
		}
	}
}

// wait returns nil when healed is closed. It reads meanwhile, because only a
// reader notices when the client hangs up.
func (c *conn) wait(healed <-chan struct{}) error {
	_ = c.SetReadDeadline(time.Time{}) // if it fails, so does the read
	read := make(chan struct{})
	interrupted := make(chan struct{})
	go func() {
		defer close(interrupted)
		select {
		case <-healed:
			_ = c.SetReadDeadline(time.Unix(1, 0)) // ends the Read below
		case <-read:
		}
	}()
	err := c.listen()
	close(read)
	<-interrupted
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return c.SetDeadline(time.Now().Add(smtpTimeout))
}

// listen reads ahead until reading fails.
func (c *conn) listen() error {
	b := make([]byte, 4<<10)
	for {
		n, err := c.Conn.Read(b)
		c.early = append(c.early, b[:n]...)
		if err != nil {
			return err
		}
		if len(c.early) > maxEarly {
			return errors.New("the client does not wait for answers")
		}
	}
}
