// Package smtp delivers composed messages to one mail server over SMTP. It
// owns the connections to that server, how long they may take and how they are
// used again, and what an answer of the server means for a mail. It must not
// know what a message tells, and not when one is tried again.
package smtp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Options says how to reach the mail server.
type Options struct {
	Address  string // host:port
	TLS      string // "none", "starttls" (never without) or "implicit"
	Username string // empty = no login
	Password string
	Hello    string // what this host calls itself; empty = its name

	ConnectTimeout time.Duration // from dialling to the end of the login
	SendTimeout    time.Duration // from MAIL to the answer to the message
	IdleTimeout    time.Duration // a connection unused for so long is closed

	RootCAs *x509.CertPool // nil = the system's
}

// Client keeps connections to the mail server, at most one for each Send under
// way. It is safe for concurrent use.
type Client struct {
	o    Options
	host string
	tls  *tls.Config

	leaving sync.WaitGroup // connections on which QUIT is being said

	mu     sync.Mutex
	idle   []*session // the last used at the end, so that what is not needed ages
	closed bool
}

// New returns a Client. It connects when something is to be sent.
func New(o Options) (*Client, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("reading the mail server's address: %w", err)
	}
	if !slices.Contains([]string{"none", "starttls", "implicit"}, o.TLS) {
		return nil, fmt.Errorf("TLS for the mail server is %q, want none, starttls or implicit", o.TLS)
	}
	if min(o.ConnectTimeout, o.SendTimeout, o.IdleTimeout) <= 0 {
		return nil, errors.New("a timeout for the mail server is not positive")
	}
	if o.Hello == "" {
		if o.Hello, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("finding the host's name: %w", err)
		}
	}
	return &Client{
		o:    o,
		host: host,
		tls:  &tls.Config{ServerName: host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
	}, nil
}

// message is a message as it is handed over.
type message struct {
	from, to string // in angle brackets
	text     []byte
}

// Send delivers the message to its one recipient. It returns nil once the server
// has taken it, else an *enroll.SendError; it ends when ctx does, which that
// error then wraps. A message whose answer got lost may have been delivered all
// the same.
func (c *Client) Send(ctx context.Context, m *mail.Msg) error {
	msg, err := encode(m)
	if err != nil {
		return &enroll.SendError{Code: enroll.Internal, Err: err}
	}
	if s := c.takeIdle(); s != nil {
		if stale, err := c.deliver(ctx, s, msg); !stale {
			return err
		}
	}
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}
	_, err = c.deliver(ctx, s, msg)
	return err
}

// encode writes the whole message into memory before anything is sent. Its errors
// hold nothing of the message.
func encode(m *mail.Msg) (message, error) {
	from, err := m.GetSender(false)
	if err != nil {
		return message{}, errors.New("the message has no sender")
	}
	to, err := m.GetRecipients()
	if err != nil || len(to) != 1 {
		return message{}, fmt.Errorf("the message has %d recipients, not one", len(to))
	}
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		return message{}, errors.New("the message cannot be written down")
	}
	return message{from, to[0], pullUp(text.Bytes())}, nil
}

// emptyStart is a header whose first line holds its name and nothing else.
var emptyStart = regexp.MustCompile(`(?m)^([!-9;-~]+:)\r\n[ \t]+`)

// pullUp puts the first word of each header on the line of its name. go-mail
// ends the line before a first word that is long, and some mail programs then
// show no sender.
func pullUp(text []byte) []byte {
	head, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	return slices.Concat(emptyStart.ReplaceAll(head, []byte("$1 ")), []byte("\r\n\r\n"), body)
}

// deliver hands the message over, and keeps the connection if it can be used
// again. A failure is stale if it may lie in how old the connection was: servers
// end one that idled, or that has carried many messages, whenever they like.
func (c *Client) deliver(ctx context.Context, s *session, msg message) (stale bool, err error) {
	within, cancel := context.WithTimeout(ctx, c.o.SendTimeout)
	defer cancel()
	release := s.conn.bind(within)
	step, failure := s.transfer(msg)
	var code enroll.Code
	clean := true
	if failure != nil {
		code = codeOf(step, failure)
		err = sendError(ctx, code, step, failure)
		_, answered := errors.AsType[*textproto.Error](failure)
		// Only a session in good order is worth the wait for another answer.
		clean = answered && code != enroll.Unavailable && s.Reset() == nil
		// How a server words that it has had enough of a connection is its own
		// choice, so whatever it says to MAIL counts. A timeout does not: the time
		// is used up.
		stale = (step == mailStep || !answered || code == enroll.Unavailable) && step != textStep &&
			!errors.Is(failure, os.ErrDeadlineExceeded)
	}
	// What came unasked would be taken for the answer to the next command.
	if !release() || !clean || s.Text.R.Buffered() > 0 || !c.putIdle(s) {
		s.conn.Close()
	}
	return stale, err
}

// takeIdle returns the connection used last, or nil.
func (c *Client) takeIdle() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		return nil
	}
	last := len(c.idle) - 1
	s := c.idle[last]
	c.idle = slices.Delete(c.idle, last, last+1)
	s.expiry.Stop()
	return s
}

// putIdle puts the connection aside for the next message, unless there will be none.
func (c *Client) putIdle(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.idle = append(c.idle, s)
	s.expiry = time.AfterFunc(c.o.IdleTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.idle, s); i >= 0 {
			c.idle = slices.Delete(c.idle, i, i+1)
			c.leaving.Go(s.quit)
		}
	})
	return true
}

// Close says goodbye on the idle connections, within a second. One that a Send
// still uses is closed when that ends. The error is always nil.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, s := range c.idle {
		s.expiry.Stop()
		c.leaving.Go(s.quit)
	}
	c.idle = nil
	c.mu.Unlock()
	c.leaving.Wait()
	return nil
}
