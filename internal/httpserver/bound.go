package httpserver

import (
	"container/list"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// Refusing is the most connections beyond the bound that are open at once
	// to be answered 503.
	Refusing = 32

	// refusal is that answer. Its Retry-After varies, so that clients that were
	// refused together do not come back together.
	refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Retry-After: %d\r\nConnection: close\r\n\r\n503 Service Unavailable: too many connections"

	// refusalTime is how long a client may take to read the answer. Closing at
	// once could lose it: the system drops it if the client sends more.
	refusalTime = 500 * time.Millisecond

	// quietTime is how long a connection without a request is safe from being
	// replaced. Its request may have arrived and wait for a processor.
	quietTime = time.Second
)

// bound is a listener that bounds its open connections. A new connection beyond
// the bound replaces the connection that has been without a request for
// longest; if there is none, the new one is answered 503. A request counts once
// its header is complete, so neither idle nor slow clients keep others out.
type bound struct {
	net.Listener
	most     int
	refused  func()
	refusing chan struct{} // of capacity Refusing
	refusals sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]*list.Element // the element in quiet; nil during a request
	quiet *list.List                 // of quietConn, longest without a request first
}

// quietConn is a connection without a request.
type quietConn struct {
	net.Conn
	since time.Time
}

func newBound(l net.Listener, most int, refused func()) *bound {
	return &bound{
		Listener: l, most: most, refused: refused,
		refusing: make(chan struct{}, Refusing),
		conns:    make(map[net.Conn]*list.Element), quiet: list.New(),
	}
}

// Accept returns the next connection within the bound.
func (b *bound) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil || b.makeRoom() {
			return c, err
		}
		b.refuse(c)
	}
}

// makeRoom closes a quiet connection if that is necessary, and tells whether
// another connection may be open. The server calls note with that connection
// before it accepts the next one.
func (b *bound) makeRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.conns) < b.most {
		return true
	}
	first := b.quiet.Front()
	if first == nil || time.Since(first.Value.(quietConn).since) < quietTime {
		return false
	}
	c := b.quiet.Remove(first).(quietConn).Conn
	delete(b.conns, c)
	_ = c.Close() // its reader gets an error
	return true
}

// note tracks the state of a connection. It is the server's ConnState.
func (b *bound) note(c net.Conn, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	element, known := b.conns[c]
	if !known && state != http.StateNew {
		return // makeRoom has closed it
	}
	if element != nil {
		b.quiet.Remove(element)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		b.conns[c] = b.quiet.PushBack(quietConn{c, time.Now()})
	case http.StateActive:
		b.conns[c] = nil
	case http.StateClosed, http.StateHijacked:
		delete(b.conns, c)
	}
}

// refuse answers 503 and closes the connection.
func (b *bound) refuse(c net.Conn) {
	if b.refused != nil {
		b.refused()
	}
	select {
	case b.refusing <- struct{}{}:
	default:
		_ = c.Close() // too many clients are reading their answer
		return
	}
	b.refusals.Go(func() {
		defer func() { <-b.refusing }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(refusalTime))                     // if it fails, so does the write
		if _, err := fmt.Fprintf(c, refusal, 1+rand.IntN(5)); err != nil { //nolint:gosec // not a secret
			return
		}
		if half, is := c.(interface{ CloseWrite() error }); is {
			_ = half.CloseWrite() // if it fails, so does the read
		}
		_, _ = io.Copy(io.Discard, c) // until the client closes it, or the time is up
	})
}
