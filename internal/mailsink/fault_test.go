package mailsink_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/mailsink"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	grace := func(to string) bool { return strings.HasPrefix(to, "grace@") }
	for name, c := range map[string]struct {
		fault mailsink.Fault
		to    []string
		code  int // 0: accepted
	}{
		"MAIL":                             {mailsink.Fault{Mail: &mailsink.Reply{Code: 421, Text: "later"}}, []string{"ada@example.org"}, 421},
		"RCPT for everybody":               {mailsink.Fault{Rcpt: &mailsink.Reply{Code: 550, Text: "nobody"}}, []string{"ada@example.org"}, 550},
		"RCPT for one":                     {mailsink.Fault{Rcpt: &mailsink.Reply{Code: 450, Text: "full"}, For: grace}, []string{"grace@example.org"}, 450},
		"RCPT not for another":             {mailsink.Fault{Rcpt: &mailsink.Reply{Code: 450, Text: "full"}, For: grace}, []string{"ada@example.org"}, 0},
		"a message for everybody":          {mailsink.Fault{Data: &mailsink.Reply{Code: 554, Text: "spam"}}, []string{"ada@example.org"}, 554},
		"a message to one and another":     {mailsink.Fault{Data: &mailsink.Reply{Code: 451, Text: "later"}, For: grace}, []string{"ada@example.org", "grace@example.org"}, 451},
		"a message not to another":         {mailsink.Fault{Data: &mailsink.Reply{Code: 451, Text: "later"}, For: grace}, []string{"ada@example.org"}, 0},
		"nothing when it behaves":          {mailsink.Fault{}, []string{"ada@example.org"}, 0},
		"MAIL whomever the message is for": {mailsink.Fault{Mail: &mailsink.Reply{Code: 451, Text: "later"}, For: grace}, []string{"ada@example.org"}, 451},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Misbehave(c.fault)
			err := s.send("Subject: x\n\n", c.to...)
			var answer *textproto.Error
			if errors.As(err, &answer); answer == nil && (c.code != 0 || err != nil) || answer != nil && answer.Code != c.code {
				t.Errorf("want code %d, got %v", c.code, err)
			}
			if kept := len(s.Messages()); kept != map[bool]int{true: 1, false: 0}[c.code == 0] {
				t.Errorf("%d messages were kept", kept)
			}
			s.Misbehave(mailsink.Fault{})
			if err := s.send("Subject: x\n\n", c.to...); err != nil {
				t.Errorf("after healing: %v", err)
			}
		})
	}
}

func TestTheTextOfARefusalIsSentToTheClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Misbehave(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 550, Text: "no such person here"}})
	var answer *textproto.Error
	if err := s.send("Subject: x\n\n"); !errors.As(err, &answer) || answer.Msg != "5.0.0 no such person here" {
		t.Errorf("got %v", err)
	}
}

func TestHangingSaysNothingUntilHealed(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Misbehave(mailsink.Fault{Hang: true})
	c := s.connect()
	silent(t, c)
	send(t, c, "EHLO me\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n") // does not wait
	s.Misbehave(mailsink.Fault{Hang: true})                                                   // a fault that still hangs
	silent(t, c)
	s.Misbehave(mailsink.Fault{})
	r := bufio.NewReader(c)
	expect(t, r, "220 ", "250-", "250 ", "250 ", "250 ", "354 ")
	send(t, c, "Subject: late\r\n\r\n.\r\n")
	expect(t, r, "250 ")
	if m := s.Messages(); len(m) != 1 || m[0].Subject != "late" {
		t.Errorf("kept: %v", m)
	}
}

func TestHangingInTheMiddleOfASession(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.connect()
	r := bufio.NewReader(c)
	send(t, c, "EHLO me\r\n")
	expect(t, r, "220 ", "250-", "250 ")
	s.Misbehave(mailsink.Fault{Hang: true})
	send(t, c, "NOOP\r\n")
	silent(t, c)
	s.Misbehave(mailsink.Fault{})
	expect(t, r, "250 ")
}

func TestHangingAfterTheFinalDotKeepsTheMessage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Misbehave(mailsink.Fault{HangAfterData: true})
	answered := make(chan error, 1)
	go func() { answered <- s.send("Subject: x\n\n") }()
	s.await(1)
	select {
	case err := <-answered:
		t.Fatalf("it was answered: %v", err)
	case <-time.After(50 * time.Millisecond): // long enough to notice an answer
	}
	s.Misbehave(mailsink.Fault{})
	if err := <-answered; err != nil {
		t.Errorf("after healing: %v", err)
	}
	if n := len(s.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestAClientThatHangsUpWhileTheSinkHangsIsForgotten(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Misbehave(mailsink.Fault{Hang: true})
	c := s.connect()
	silent(t, c)
	// The sink closes its side when we close ours, with or without a fault.
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
}

func TestAClientThatTalksOnWhileTheSinkHangsIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Misbehave(mailsink.Fault{Hang: true})
	c := s.connect()
	go func() {
		for {
			if _, err := io.WriteString(c, strings.Repeat("NOOP\r\n", 1000)); err != nil {
				return
			}
		}
	}()
	closed(t, c)
}

func TestTimingStoppingIsQuickWhateverHangs(t *testing.T) {
	t.Parallel()
	s := start(t)
	idle := s.connect()
	expect(t, bufio.NewReader(idle), "220 ")
	s.Misbehave(mailsink.Fault{HangAfterData: true})
	sent := make(chan error, 1)
	go func() { sent <- s.send("Subject: x\n\n") }()
	s.await(1)
	s.Misbehave(mailsink.Fault{HangAfterData: true, Hang: true})
	silent(t, s.connect())
	s.follow("")

	before := time.Now()
	s.stop()
	testwait.Promised(t, "stopping", time.Since(before), 2*time.Second)
	if err := <-sent; err == nil {
		t.Error("the hanging sender was told that its message arrived")
	}
}

// connect returns a plain connection that is closed when the test ends.
func (s *server) connect() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.smtp)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, lines string) {
	t.Helper()
	if _, err := io.WriteString(c, lines); err != nil {
		t.Fatal(err)
	}
}

// expect reads lines with these beginnings. A beginning that ends in a dash stands
// for any number of lines.
func expect(t *testing.T, r *bufio.Reader, beginnings ...string) {
	t.Helper()
	for _, want := range beginnings {
		line, err := r.ReadString('\n')
		for strings.HasSuffix(want, "-") && strings.HasPrefix(line, want) {
			next, _ := r.Peek(len(want))
			if string(next) != want {
				break
			}
			line, err = r.ReadString('\n')
		}
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("want %q, got %q, %v", want, line, err)
		}
	}
}

// silent fails the test if anything comes within a moment.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Fatal("it answers")
	}
	_ = c.SetReadDeadline(time.Now().Add(testwait.Limit))
}

// closed fails the test unless the other side closes the connection.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(testwait.Limit))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("it was not closed: %v", err)
	}
}
