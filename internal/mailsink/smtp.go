package mailsink

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/emersion/go-smtp"
)

// The bounds of receiving. The timeout is how long a client may take for a
// command or a message, and to read an answer.
const (
	maxMessageBytes = 10 << 20
	maxRecipients   = 50
	smtpTimeout     = 5 * time.Minute
)

func (s *Sink) serveSMTP(ctx context.Context, mail net.Listener) error {
	l := &listener{Listener: mail, sink: s, conns: make(map[*conn]struct{})}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{sink: s, conn: c.Conn().(*conn)}, nil // the listener returns only these
	}))
	server.Domain = "localhost"
	server.MaxMessageBytes = maxMessageBytes
	server.MaxRecipients = maxRecipients
	server.ReadTimeout = smtpTimeout
	server.WriteTimeout = smtpTimeout
	server.EnableSMTPUTF8 = true
	server.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up are normal

	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	err := server.Serve(l)
	_ = l.Close() // closes the connections if Serve has failed
	// The connections are closed, so the sessions end now. Shutdown waits for
	// them.
	if e := server.Shutdown(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serving SMTP on %s: %w", l.Addr(), err)
}

// session is the conversation on a connection: MAIL, RCPT and DATA, again and
// again.
type session struct {
	sink *Sink
	conn *conn
	from string
	to   []string
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	fault, _ := s.sink.misbehaviour()
	if fault.Mail != nil {
		return fault.Mail.refusal()
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	fault, _ := s.sink.misbehaviour()
	if fault.Rcpt != nil && fault.concerns(to) {
		return fault.Rcpt.refusal()
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err // the message or a line is too long, or the message is incomplete
	}
	fault, _ := s.sink.misbehaviour()
	if fault.Data != nil && fault.concerns(s.to...) {
		return fault.Data.refusal()
	}
	s.sink.keep(s.from, s.to, raw)
	return s.conn.hold(func(f Fault) bool { return f.HangAfterData })
}

func (s *session) Reset() { s.from, s.to = "", nil }

func (s *session) Logout() error { return nil }
