// Package load is the crowd in front of whatever is measured: people who ask over
// HTTP/1.1 on kept-alive connections, each connection asking again as soon as it
// has its answer.
//
// It is not net/http's client, because it shares the machine with what it
// measures: that one was seen to take 25 µs of CPU for a request, where Gin takes 20
// to validate and answer it. This one takes 8. It writes bytes that were made before
// and looks at three things of an answer: status, ETag and body. It costs the same
// for every contender, and speaks just enough HTTP for servers that it knows.
package load

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Post returns the bytes of a request with a JSON body.
func Post(path, key, body string) []byte {
	return []byte("POST " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\nContent-Type: application/json\r\nIdempotency-Key: " + key +
		"\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// Get returns the bytes of a request for what has changed since the tag; an empty
// tag is none.
func Get(path, etag string) []byte {
	head := "GET " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"
	if etag != "" {
		head += "If-None-Match: " + etag + "\r\n"
	}
	return []byte(head + "\r\n")
}

// Answer is what became of one request.
type Answer struct {
	Sent     time.Time // before the first byte left
	Received time.Time // when all of the answer was there; zero = it was not sent
	Status   int
}

// Took returns how long the answer took.
func (a Answer) Took() time.Duration { return a.Received.Sub(a.Sent) }

// Client is connections to one server.
type Client struct{ conns []*Conn }

// Dial opens so many connections to the server at host:port.
func Dial(ctx context.Context, address string, conns int) (*Client, error) {
	c := new(Client)
	for range conns {
		one, err := Connect(ctx, address)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, one)
	}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() {
	for _, one := range c.conns {
		one.Close()
	}
}

// Crowd is what a client is to do.
type Crowd struct {
	Requests [][]byte
	// For is how long new requests are sent; 0 = until all have been.
	For time.Duration
	// Each, if there is one, is called with every answer's body, which is the
	// connection's own and only good during the call. Several call at once.
	Each func(request int, a Answer, etag, body []byte) error
}

// Ask sends the requests in order, on all connections at once, and returns what
// became of each. It ends with the first connection that breaks or ctx.
func (c *Client) Ask(ctx context.Context, crowd Crowd) ([]Answer, error) {
	answers := make([]Answer, len(crowd.Requests))
	var end time.Time
	if crowd.For > 0 {
		end = time.Now().Add(crowd.For)
	}
	// Whoever fails first, or ctx, wakes the rest. Not an errgroup, which ends its
	// context when all went well, too.
	living, fail := context.WithCancelCause(ctx)
	wake := context.AfterFunc(living, c.Interrupt)
	var next atomic.Int64
	var people sync.WaitGroup
	for _, one := range c.conns {
		people.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				now := time.Now()
				if i >= len(answers) || !end.IsZero() && now.After(end) {
					return
				}
				if err := one.ask(crowd, i, now, &answers[i]); err != nil {
					fail(fmt.Errorf("request %d: %w", i+1, err))
					return
				}
			}
		})
	}
	people.Wait()
	wake()
	err := context.Cause(living)
	fail(nil)
	return answers, err
}

// ask sends one request of a crowd and notes its answer.
func (c *Conn) ask(crowd Crowd, i int, now time.Time, a *Answer) error {
	a.Sent = now
	status, etag, body, err := c.Do(crowd.Requests[i])
	if err != nil {
		return err
	}
	a.Status, a.Received = status, time.Now()
	if crowd.Each == nil {
		return nil
	}
	return crowd.Each(i, *a, etag, body)
}

// Interrupt wakes everybody who waits for an answer. The connections are of no use
// afterwards.
func (c *Client) Interrupt() {
	for _, one := range c.conns {
		_ = one.SetDeadline(time.Unix(1, 0)) // fails on what is closed
	}
}

// Conn returns one of the connections.
func (c *Client) Conn(i int) *Conn { return c.conns[i] }

// Connect opens one connection. Its Do does not look at a context: whoever closes
// it, or sets a deadline, ends it.
func Connect(ctx context.Context, address string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return newConn(conn), nil
}
