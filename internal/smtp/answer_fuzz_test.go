package smtp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// script is a connection to a server that sends fixed text, whatever it
// receives.
type script struct {
	net.Conn
	answers []byte
	endless bool // repeat the text for ever
	next    int
	read    int
	heard   bytes.Buffer
}

func (s *script) Read(b []byte) (int, error) {
	if s.next == len(s.answers) && s.endless {
		s.next = 0
	}
	if s.next == len(s.answers) {
		return 0, io.EOF
	}
	n := copy(b, s.answers[s.next:])
	s.next += n
	s.read += n
	return n, nil
}

func (s *script) Write(b []byte) (int, error)      { return s.heard.Write(b) }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }

// told matches the errors that are allowed: nothing of the server's words but a
// reply code.
var told = regexp.MustCompile(`^(unavailable|mail_deferred|mail_refused|internal)(: the mail server answered [0-9]{3})?: ` +
	`(waiting for the greeting|sending EHLO|starting TLS|logging in|sending MAIL|sending RCPT|sending DATA|sending the message)` +
	`(: (the server does not offer STARTTLS|the server offers neither PLAIN nor LOGIN|the server sends too much|the server does not speak SMTP|` +
	`the server does not speak TLS on this port|unencrypted connection|EOF|unexpected EOF))?$`)

// FuzzAnswers checks that, whatever a mail server answers, the mail is sent or
// the error has a useful code and none of the server's words, and that the
// client does not read for ever.
func FuzzAnswers(f *testing.F) {
	const greeting = "220 hello\r\n250-fake\r\n250-8BITMIME\r\n250 AUTH LOGIN PLAIN\r\n"
	for _, seed := range []string{
		"", "220 hello\r\n", greeting, greeting + "250 fine\r\n250 fine\r\n354 go on\r\n250 taken\r\n",
		greeting + "235 welcome\r\n250 fine\r\n251 fine\r\n354 go on\r\n299 taken\r\n221 bye\r\n",
		greeting + "235 welcome\r\n550-5.1.1 no\r\n550 ann@example.org\r\n250 reset\r\n",
		greeting + "250 fine\r\n552 too large\r\n", greeting + "421 bye\r\n", greeting + "250 fine\r\n452 later\r\n", greeting + "535 hunter2\r\n",
		greeting + "250 fine\r\n250 fine\r\n354 go on\r\n554 spam\r\n", greeting + "250 fine\r\n250 fine\r\n354 go on\r\n", "250 fine\r\n", "220-\r\n", "554 no\r\n",
		"220 hello\r\n250-fake\r\n250-STARTTLS\r\n250 AUTH CRAM-MD5\r\n220 go on\r\n\x16\x03\x01", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x15\x03\x01\x00\x02", "220 \xff\r\n99 x\r\n", "1000 x\r\n",
		"220 hello\r\n250 AUTH LOGIN\r\n334 VXNlcm5hbWU6\r\n334 UGFzc3dvcmQ6\r\n235 in\r\n", "220 hello\r\n250 AUTH LOGIN\r\n334 !\r\n334\r\n",
	} {
		for mode := range byte(6) {
			f.Add([]byte(seed), mode)
		}
	}
	f.Fuzz(func(t *testing.T, answers []byte, mode byte) {
		o := Options{Address: "localhost:25", TLS: []string{"none", "starttls"}[mode%2], Hello: "lastseat.test", ConnectTimeout: time.Hour, SendTimeout: time.Hour, IdleTimeout: time.Hour}
		if mode/2%3 == 1 {
			o.Username, o.Password = "seats", "open-sesame"
		}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		server := &script{answers: answers, endless: mode/2%3 == 2 && len(answers) > 0}
		msg := message{"<school@example.com>", "<ann@example.org>", []byte("Subject: x\r\n\r\n.\r\nthe end\r\n")}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		s := &session{conn: &conn{Conn: server}}
		release := s.conn.bind(ctx)
		step, err := c.greet(ctx, s)
		release()
		if err != nil {
			err = sendError(ctx, enroll.Unavailable, step, err)
		} else {
			_, err = c.deliver(ctx, s, msg)
		}
		_ = c.Close() // sends QUIT on a connection that was kept
		if most := 3 * maxRead; server.read > most {
			t.Errorf("%d bytes were read", server.read)
		}

		if err == nil {
			if !bytes.Contains(server.heard.Bytes(), []byte("\r\n..\r\nthe end\r\n.\r\n")) || !strings.Contains(string(answers), "354") {
				t.Errorf("the mail counts as sent after %q; the server got %q", answers, server.heard.String())
			}
			return
		}
		e, is := errors.AsType[*enroll.SendError](err)
		if !is || !told.MatchString(e.Error()) {
			t.Fatalf("%q: %v", answers, err)
		}
		if whole := bytes.HasSuffix(server.heard.Bytes(), []byte("\r\n.\r\n")); e.Unanswered && !whole || e.Unanswered && e.Status != 0 {
			t.Errorf("%q: %+v, and the server heard %q", answers, e, server.heard.String())
		}
		for line := range strings.SplitSeq(e.Reply, "\n") { // the server's own words
			if e.Status == 0 && e.Reply != "" || !server.endless && !bytes.Contains(answers, []byte(line)) {
				t.Errorf("%q: %+v", answers, e)
			}
		}
	})
}
