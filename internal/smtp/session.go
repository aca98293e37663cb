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
	maxRead  = 64 << 10    // bytes, read while connecting or for one message
	farewell = time.Second // for QUIT and its answer
)

// The steps, as errors tell them.
const (
	mailStep = "saying MAIL"
	rcptStep = "saying RCPT"
	dataStep = "saying DATA"
	textStep = "handing over the message"
)

// session is a connection on which messages can be handed over.
type session struct {
	*smtp.Client
	conn   *conn
	expiry *time.Timer // set while idle
}

// connect returns a session, logged in. Its failures are those of the server and
// of no mail in particular: enroll.Unavailable.
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

// greet speaks from the greeting to the login. go-mail's own way from dialling to
// login is not taken: it leaves the connection open when it fails, and knows no
// implicit TLS on a connection that somebody else has dialled.
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
	s.SkipSMTPUTF8(true) // addresses are ASCII, and a server on the way may lack it
	if err := s.Hello(c.o.Hello); err != nil {
		return "saying EHLO", err
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
// encrypted or the host is this one. What would do without encryption is left
// out: CRAM-MD5 is broken, and SCRAM lets the server choose for how long we
// compute.
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

// transfer hands the message over and returns the step it failed at. After a
// failure of textStep without an answer, the connection must be closed and
// nothing more be said on it: a further command would first end the message, and
// a part of it would be delivered.
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
	_ = s.Quit() // what the server says to that changes nothing
	release()
	s.conn.Close()
}

// conn bounds how long is spoken and how much is read.
type conn struct {
	net.Conn
	ctx    context.Context // of what is under way
	left   int             // bytes that may still be read
	failed error           // the write that failed
}

// bind bounds the connection by ctx, which has a deadline, until release is
// called; that returns false if ctx has ended, and with it the connection.
func (c *conn) bind(ctx context.Context) (release func() bool) {
	c.ctx, c.left = ctx, maxRead
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline) // fails only on a closed connection, as does what follows
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// Read reads, unless more has been read than an honest server says.
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

// Write writes. It looks at the clock itself, because the timers behind contexts
// and deadlines run late in a process that was paused, and it remembers a failure,
// because go-mail overlooks that of the end of a message and would wait for the
// answer.
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
