package mailsink_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/smtp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/mailsink"
)

func TestAMessageIsKeptAsItCame(t *testing.T) {
	t.Parallel()
	s := start(t)
	message := "Subject: Hello\n\n.a line that begins with a dot\nthe end\n"
	before := time.Now()
	if err := s.send(message, "ada@example.org", "grace@example.org"); err != nil {
		t.Fatal(err)
	}
	kept := s.Messages()
	if len(kept) != 1 {
		t.Fatalf("%d messages", len(kept))
	}
	m := kept[0]
	if m.Number != 1 || m.From != "courses@example.com" || !slices.Equal(m.To, []string{"ada@example.org", "grace@example.org"}) {
		t.Errorf("number %d from %q to %q", m.Number, m.From, m.To)
	}
	if !bytes.Equal(m.Raw, crlf(message)) {
		t.Errorf("it came as %q", m.Raw)
	}
	if m.ReceivedAt.Before(before) || m.ReceivedAt.After(time.Now()) {
		t.Errorf("received at %s", m.ReceivedAt)
	}
	if m.Subject != "Hello" {
		t.Errorf("subject %q", m.Subject)
	}
}

func TestSeveralMessagesOnOneConnectionAreNotMixed(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.dial()
	for i := range 3 {
		deliver(t, c, fmt.Sprintf("p%d@example.org", i), fmt.Sprintf("Subject: %d\n\n", i))
	}
	for i, m := range s.Messages() {
		if m.Number != i+1 || m.Subject != fmt.Sprint(i) || len(m.To) != 1 {
			t.Errorf("message %d: %d, %q, %q", i, m.Number, m.Subject, m.To)
		}
	}
}

func TestManyClientsAtOnceGetNumbersWithoutAGap(t *testing.T) {
	t.Parallel()
	s := start(t)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for range 5 {
				if err := s.send("Subject: x\n\n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s.await(100)
	clients.Wait()
	for i, m := range s.Messages() {
		if m.Number != i+1 {
			t.Fatalf("message %d has the number %d", i, m.Number)
		}
	}
}

func TestClearForgetsMessagesAndNotTheirNumbers(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("Subject: 1\n\n")
	s.Clear()
	if n := len(s.Messages()); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	if m := s.receive("Subject: 2\n\n"); m.Number != 2 {
		t.Errorf("the next number is %d", m.Number)
	}
}

func TestOversizedMessagesAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.connect()
	send(t, c, "EHLO me\r\nMAIL FROM:<a@example.com> SIZE=11000000\r\n")
	expect(t, bufio.NewReader(c), "220 ", "250-", "250 ", "552 ")
	if err := s.send(strings.Repeat("x", 5000)); err == nil {
		t.Error("a line of 5000 bytes was accepted")
	}
	if err := s.send("", slices.Repeat([]string{"a@example.org"}, 51)...); err == nil || !strings.HasPrefix(err.Error(), "452 ") {
		t.Errorf("51 recipients: %v", err)
	}
	if n := len(s.Messages()); n != 0 {
		t.Errorf("%d messages were kept", n)
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	t.Run("asks at once", func(t *testing.T) {
		t.Parallel()
		if !mailsink.New().Await(t.Context(), func([]mailsink.Message) bool { return true }) {
			t.Error("it returned false")
		}
	})
	t.Run("notices a message that comes later", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		asked := make(chan struct{}, 10)
		heard := make(chan bool)
		go func() {
			heard <- s.Await(t.Context(), func(m []mailsink.Message) bool {
				asked <- struct{}{}
				return len(m) == 1
			})
		}()
		<-asked
		s.receive("Subject: x\n\n")
		if !<-heard {
			t.Error("it did not notice the message")
		}
	})
	t.Run("gives up with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if mailsink.New().Await(ctx, func([]mailsink.Message) bool { return false }) {
			t.Error("it returned true")
		}
	})
}

func TestServeWithoutAPageCanBeStoppedAndStartedAgain(t *testing.T) {
	t.Parallel()
	s := &server{Sink: mailsink.New(), t: t}
	for i := range 3 {
		l := listen(t, "127.0.0.1:0")
		s.smtp = l.Addr().String()
		stop := serve(t, s.Sink, l, nil)
		if m := s.receive("Subject: x\n\n"); m.Number != i+1 {
			t.Errorf("number %d in round %d", m.Number, i)
		}
		stop()
		if err := s.send("Subject: x\n\n"); err == nil {
			t.Error("it accepts mail after it stopped")
		}
	}
}

func TestAFailureToServeEndsBothServers(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]int{"mail": 0, "page": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mail, page := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
			if which == 0 {
				mail.Close()
			} else {
				page.Close()
			}
			if err := mailsink.New().Serve(t.Context(), mail, page); err == nil {
				t.Error("Serve on a closed listener returned nil")
			}
		})
	}
}

// dial returns a client that is closed when the test ends.
func (s *server) dial() *smtp.Client {
	s.t.Helper()
	c, err := smtp.Dial(s.smtp)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func deliver(t *testing.T, c *smtp.Client, to, message string) {
	t.Helper()
	if err := c.Mail("courses@example.com"); err != nil {
		t.Fatal(err)
	}
	if err := c.Rcpt(to); err != nil {
		t.Fatal(err)
	}
	w, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(crlf(message)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
