// Package smtp delivers composed messages to one mail server. It owns the
// connections to that server, their time limits and their reuse, and what the
// server's answers mean for a mail. It must not know what a message says, or
// when it is tried again.
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

// Options says how to reach the mail server, and how long it may take.
type Options struct {
	Address  string // host:port
	TLS      string // "none", "starttls" (fails without it) or "implicit"
	Username string // empty = no login
	Password string
	Hello    string // the name in EHLO; empty = the host's name

	ConnectTimeout time.Duration // from dialling to the end of the login
	SendTimeout    time.Duration // from MAIL to the answer to the message
	IdleTimeout    time.Duration // after which an unused connection is closed

	RootCAs *x509.CertPool // nil = the system's
}

// Client keeps connections to the mail server, at most one for each Send under
// way. It is safe for concurrent use.
type Client struct {
	o    Options
	host string
	tls  *tls.Config

	leaving sync.WaitGroup // of connections that are sending QUIT

	mu     sync.Mutex
	idle   []*session // the last used is last and is reused first, so that surplus connections expire
	closed bool
}

// New returns a Client, which connects when it has something to send.
func New(o Options) (*Client, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("parsing the mail server's address: %w", err)
	}
	if !slices.Contains([]string{"none", "starttls", "implicit"}, o.TLS) {
		return nil, fmt.Errorf("TLS for the mail server is %q, want none, starttls or implicit", o.TLS)
	}
	if min(o.ConnectTimeout, o.SendTimeout, o.IdleTimeout) <= 0 {
		return nil, errors.New("the timeouts for the mail server must be positive")
	}
	if o.Hello == "" {
		if o.Hello, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("looking up the host's name: %w", err)
		}
	}
	return &Client{
		o:    o,
		host: host,
		tls:  &tls.Config{ServerName: host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
	}, nil
}

// message is a message in the form in which it is transferred.
type message struct {
	from, to string // in angle brackets
	text     []byte
}

// Send delivers the message to its only recipient. It returns nil once the
// server has accepted it, else an *enroll.SendError, which wraps ctx's error if
// ctx has ended. A message whose answer was lost may have been delivered
// nevertheless.
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

// encode writes the whole message into memory before anything is sent. Its
// errors quote nothing of the message.
func encode(m *mail.Msg) (message, error) {
	from, err := m.GetSender(false)
	if err != nil {
		return message{}, errors.New("the message has no sender")
	}
	to, err := m.GetRecipients()
	if err != nil || len(to) != 1 {
		return message{}, fmt.Errorf("the message must have one recipient, not %d", len(to))
	}
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		return message{}, errors.New("the message cannot be encoded")
	}
	return message{from, to[0], pullUp(text.Bytes())}, nil
}

// emptyStart matches a header whose first line holds only its name.
var emptyStart = regexp.MustCompile(`(?m)^([!-9;-~]+:)\r\n[ \t]+`)

// pullUp moves the first word of each header to the line of its name. go-mail
// ends the line before a long first word, and some mail programs then show no
// sender.
func pullUp(text []byte) []byte {
	head, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	return slices.Concat(emptyStart.ReplaceAll(head, []byte("$1 ")), []byte("\r\n\r\n"), body)
}

// deliver transfers the message, and keeps the connection if it can be reused.
// A failure is stale if the age of the connection may be the cause: servers end
// idle connections, and connections that have carried many messages, whenever
// they like.
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
		// RSET is worth another answer only if the session is in order.
		clean = answered && code != enroll.Unavailable && s.Reset() == nil
		// Servers end connections with different answers, so any answer to MAIL
		// counts as stale. A timeout does not, because it has used up the time
		// for another attempt.
		stale = (step == mailStep || !answered || code == enroll.Unavailable) && step != textStep &&
			!errors.Is(failure, os.ErrDeadlineExceeded)
	}
	// Unread bytes would be taken for the answer to the next command.
	if !release() || !clean || s.Text.R.Buffered() > 0 || !c.putIdle(s) {
		s.conn.Close()
	}
	return stale, err
}

// takeIdle returns the idle connection that was used last, or nil.
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

// putIdle keeps the connection for the next message, unless the client is
// closed.
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

// Close sends QUIT on the idle connections, within a second. A connection that
// a Send still uses is closed when that Send ends. The error is always nil.
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
