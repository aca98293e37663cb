package smtp

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	maxRead  = 64 << 10    // the most bytes read while connecting, or for one message
	farewell = time.Second // how long QUIT and its answer may take
)

// The steps, as errors name them.
const (
	mailStep = "sending MAIL"
	rcptStep = "sending RCPT"
	dataStep = "sending DATA"
	textStep = "sending the message"
)

// session is a connection on which messages can be transferred.
type session struct {
	*smtp.Client
	conn   *conn
	expiry *time.Timer // set while idle
}

// connect returns a session after the login. Its failures are the server's and
// not a mail's, so their code is enroll.Unavailable.
func (c *Client) connect(ctx context.Context) (*session, error) {
	within, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	tcp, err := new(net.Dialer).DialContext(within, "tcp", c.o.Address)
	if err != nil {
		return nil, sendError(ctx, enroll.Unavailable, "connecting", err)
	}
	s := &session{conn: &conn{Conn: tcp}}
	release := s.conn.bind(within)
	step, err := c.greet(within, s)
	if !release() && err == nil {
		err = within.Err()
	}
	if err != nil {
		s.conn.Close()
		return nil, sendError(ctx, enroll.Unavailable, step, err)
	}
	return s, nil
}

// greet does everything from the greeting to the login. It does not use
// go-mail's high-level client, which leaves the connection open when it fails,
// and cannot do implicit TLS on a connection that it has not dialled.
func (c *Client) greet(ctx context.Context, s *session) (step string, err error) {
	var line net.Conn = s.conn
	if c.o.TLS == "implicit" {
		secure := tls.Client(s.conn, c.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return "starting TLS", err
		}
		line = secure
	}
	if s.Client, err = smtp.NewClient(line, c.host); err != nil {
		return "waiting for the greeting", err
	}
	s.SkipSMTPUTF8(true) // addresses are ASCII, and a later server may not support it
	if err := s.Hello(c.o.Hello); err != nil {
		return "sending EHLO", err
	}
	if c.o.TLS == "starttls" {
		if offered, _ := s.Extension("STARTTLS"); !offered {
			return "starting TLS", errNoTLS
		}
		if err := s.StartTLS(c.tls); err != nil {
			return "starting TLS", err
		}
	}
	if c.o.Username == "" {
		return "", nil
	}
	return "logging in", c.login(s)
}

// login uses PLAIN or LOGIN, which go-mail refuses unless the connection is
// encrypted or the server is on this machine. It does not use the mechanisms
// that work without encryption: CRAM-MD5 is broken, and SCRAM lets the server
// choose how long we compute.
func (c *Client) login(s *session) error {
	_, offered := s.Extension("AUTH")
	mechanisms := strings.Fields(offered)
	switch {
	case slices.Contains(mechanisms, "PLAIN"):
		return s.Auth(smtp.PlainAuth("", c.o.Username, c.o.Password, c.host, false))
	case slices.Contains(mechanisms, "LOGIN"):
		return s.Auth(smtp.LoginAuth(c.o.Username, c.o.Password, c.host, false))
	}
	return errNoLogin
}

// transfer transfers the message, and returns the step at which it failed.
// After a failure at textStep without an answer, the caller must close the
// connection and send nothing more on it: a further command would end the
// message first, and a part of it would be delivered.
func (s *session) transfer(msg message) (step string, err error) {
	if err := s.Mail(msg.from); err != nil {
		return mailStep, err
	}
	if err := s.Rcpt(msg.to); err != nil {
		return rcptStep, err
	}
	w, err := s.Data()
	if err != nil {
		return dataStep, err
	}
	if _, err := w.Write(msg.text); err != nil {
		return textStep, err
	}
	if err := w.Close(); err != nil && !accepted(err) {
		return textStep, err
	}
	return "", nil
}

// quit ends the session.
func (s *session) quit() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	release := s.conn.bind(ctx)
	_ = s.Quit() // the answer changes nothing
	release()
	s.conn.Close()
}

// conn bounds how long a conversation takes, and how much it reads.
type conn struct {
	net.Conn
	ctx    context.Context // of the present conversation
	left   int             // bytes that may still be read
	failed error           // the write that failed
}

// bind bounds the connection by ctx, which must have a deadline, until release
// is called. release returns false if ctx has ended, and with it the
// connection.
func (c *conn) bind(ctx context.Context) (release func() bool) {
	c.ctx, c.left = ctx, maxRead
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline) // fails only on a closed connection, as the next read or write will
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// Read reads, but not more than an honest server sends.
func (c *conn) Read(b []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	if c.left == 0 {
		return 0, errEndless
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// Write writes. It checks the clock itself, because in a process that was
// paused the timers of contexts and deadlines fire late. It remembers a
// failure, because go-mail ignores a failure to write the end of a message and
// would wait for the answer.
func (c *conn) Write(b []byte) (n int, err error) {
	if deadline, _ := c.ctx.Deadline(); c.ctx.Err() != nil || time.Now().After(deadline) {
		c.failed = os.ErrDeadlineExceeded
		return 0, c.failed
	}
	n, err = c.Conn.Write(b)
	if err != nil {
		c.failed = err
	}
	return n, err
}
