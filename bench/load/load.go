// Package load sends the requests of a benchmark: over HTTP/1.1 on kept-alive
// connections, each of which sends the next request as soon as it has an answer.
//
// It does not use net/http's client, because it shares the machine with what it
// measures: that client took 25 µs of CPU for a request, where Gin takes 20 to
// validate and answer it. This one takes 8. It writes bytes that were made before
// and reads three things of an answer: status, ETag and body. It costs the same for
// every contender, and speaks just enough HTTP for servers that it knows.
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

// Get returns the bytes of a request for what has changed since the ETag, if it is
// not empty.
func Get(path, etag string) []byte {
	head := "GET " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"
	if etag != "" {
		head += "If-None-Match: " + etag + "\r\n"
	}
	return []byte(head + "\r\n")
}

// Answer is the answer to one request.
type Answer struct {
	Sent     time.Time // before the first byte left
	Received time.Time // when the answer was complete; zero = the request was not sent
	Status   int
}

// Took returns how long the answer took.
func (a Answer) Took() time.Duration { return a.Received.Sub(a.Sent) }

// Client has connections to one server.
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

// Job is what a client is to send.
type Job struct {
	Requests [][]byte
	// For is how long new requests are sent; 0 = until all have been.
	For time.Duration
	// Each, unless nil, is called with every answer. The tag and the body belong to
	// the connection and are valid during the call only. Several connections call at
	// the same time.
	Each func(request int, a Answer, etag, body []byte) error
}

// Ask sends the requests in order, on all connections at once, and returns their
// answers. It ends with ctx, or with the first connection that breaks.
func (c *Client) Ask(ctx context.Context, j Job) ([]Answer, error) {
	answers := make([]Answer, len(j.Requests))
	var end time.Time
	if j.For > 0 {
		end = time.Now().Add(j.For)
	}
	// The first connection that fails, or ctx, wakes the rest. Not an errgroup, which
	// also ends its context after a success.
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
				if err := one.ask(j, i, now, &answers[i]); err != nil {
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

// ask sends one request of a job and notes its answer.
func (c *Conn) ask(j Job, i int, now time.Time, a *Answer) error {
	a.Sent = now
	status, etag, body, err := c.Do(j.Requests[i])
	if err != nil {
		return err
	}
	a.Status, a.Received = status, time.Now()
	if j.Each == nil {
		return nil
	}
	return j.Each(i, *a, etag, body)
}

// Interrupt ends every wait for an answer. The connections are of no use
// afterwards.
func (c *Client) Interrupt() {
	for _, one := range c.conns {
		_ = one.SetDeadline(time.Unix(1, 0)) // fails if it is closed
	}
}

// Conn returns one of the connections.
func (c *Client) Conn(i int) *Conn { return c.conns[i] }

// Connect opens one connection. Its Do has no context: closing the connection, or
// setting a deadline, ends it.
func Connect(ctx context.Context, address string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return newConn(conn), nil
}
