package systemtest

import (
	"bytes"
	"context"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/mailsink"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// mailbox is the mail server of a site. A test can take it off the network.
type mailbox struct {
	*mailsink.Sink
	t       testing.TB
	address string
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// withMail gives the site a mail server. Call it before you start the programs.
func (s *site) withMail() *mailbox {
	s.t.Helper()
	m := &mailbox{Sink: mailsink.New(), t: s.t, address: "127.0.0.1:0"}
	m.up()
	s.t.Cleanup(m.down)
	s.env = append(s.env, "LASTSEAT_MAIL_SERVER="+m.address, "LASTSEAT_MAIL_PER_SECOND=1000",
		"LASTSEAT_MAIL_CONNECT_TIMEOUT=2s", "LASTSEAT_MAIL_SEND_TIMEOUT=3s", // or a busy machine has mails sent twice
		"LASTSEAT_MAIL_RETRY_MIN=100ms", "LASTSEAT_MAIL_RETRY_MAX=500ms",
		"LASTSEAT_MAIL_PACE=0s", "LASTSEAT_MAIL_CHANGE_WINDOW=1s",
		"LASTSEAT_WORKER_SWEEP_INTERVAL=200ms")
	return m
}

func (m *mailbox) up() {
	m.t.Helper()
	l, err := net.Listen("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.serving.Go(func() {
		if err := m.Serve(ctx, l, nil); err != nil {
			m.t.Error(err)
		}
	})
}

func (m *mailbox) down() {
	m.cancel()
	m.serving.Wait()
}

// letter is a mail that arrived.
type letter struct {
	to, id, subject string
}

func (m *mailbox) letters() (all []letter) {
	m.t.Helper()
	for _, each := range m.Messages() {
		parsed, err := mail.ReadMessage(bytes.NewReader(each.Raw))
		if err != nil {
			m.t.Error(err)
			continue
		}
		all = append(all, letter{strings.Join(each.To, " "), parsed.Header.Get("Message-ID"), parsed.Header.Get("Subject")})
	}
	return all
}

// mailStates returns how many mails are in each state.
func (s *site) mailStates() string {
	s.t.Helper()
	return strings.Join(pgtest.Query[string](s.t, s.url, `SELECT state || ' ' || count(*) FROM mails GROUP BY state ORDER BY state`), ", ")
}

func (s *site) waitForMail(states string) {
	s.t.Helper()
	var got string
	defer func() {
		if got != states {
			s.t.Logf("the outbox says %q", got)
		}
	}()
	testwait.Until(s.t, "the outbox says "+states, func() bool { got = s.mailStates(); return got == states })
}

// requireConfirmations asserts that everybody with a seat, and nobody else, got
// exactly one mail.
func (s *site) requireConfirmations(m *mailbox, seats int) {
	s.t.Helper()
	var got []string
	for _, l := range m.letters() {
		if !strings.HasPrefix(l.subject, "You have a seat") {
			s.t.Errorf("a mail has the subject %q", l.subject)
		}
		got = append(got, l.to)
	}
	want := pgtest.Query[string](s.t, s.url, `SELECT email FROM requests WHERE status = 'confirmed'`)
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != seats || !slices.Equal(got, want) {
		s.t.Errorf("%d seats are held, want %d, and %d confirmations arrived: %v, want %v", len(want), seats, len(got), got, want)
	}
}
