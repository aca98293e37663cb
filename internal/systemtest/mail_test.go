package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/mailsink"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// mailbox is the mail server of a site. It can be taken off the network.
type mailbox struct {
	*mailsink.Sink
	t       testing.TB
	address string
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// withMail gives the site a mail server. Its programs must be started after
// that.
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

// letter is a mail as it arrived.
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

// mailStates returns how many mails are in which state.
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

// requireConfirmations asserts that exactly those who hold a seat got exactly
// one mail each.
func (s *site) requireConfirmations(m *mailbox, seats int) {
	s.t.Helper()
	var got []string
	for _, l := range m.letters() {
		if !strings.HasPrefix(l.subject, "You have a seat") {
			s.t.Errorf("somebody was told %q", l.subject)
		}
		got = append(got, l.to)
	}
	want := pgtest.Query[string](s.t, s.url, `SELECT email FROM requests WHERE status = 'confirmed'`)
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != seats || !slices.Equal(got, want) {
		s.t.Errorf("%d seats are held, %d were to be, and %d confirmations arrived: %v, want %v", len(want), seats, len(got), got, want)
	}
}

// TestTimingARushAndItsMail: whatever becomes of the mail server, seats are decided,
// and in the end everybody who has one got exactly one mail.
func TestTimingARushAndItsMail(t *testing.T) {
	t.Parallel()
	const mailSeats = 20
	hang := func(m *mailbox) { m.Misbehave(mailsink.Fault{Hang: true}) }
	heal := func(m *mailbox) { m.Misbehave(mailsink.Fault{}) }
	for _, test := range []struct {
		name       string
		fault      func(*mailbox)
		heal       func(*mailbox)
		undelivers bool // nothing arrives while the fault lasts
	}{
		{"all is well", func(*mailbox) {}, func(*mailbox) {}, false},
		{"the mail server is down", (*mailbox).down, (*mailbox).up, true},
		{"the mail server hangs", hang, heal, true},
		{"the mail server refuses for now", func(m *mailbox) {
			m.Misbehave(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 451, Text: "try again later"}})
		}, heal, true},
		{"the mail server refuses everybody", func(m *mailbox) {
			m.Misbehave(mailsink.Fault{Mail: &mailsink.Reply{Code: 421, Text: "closing"}})
		}, heal, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			m := s.withMail()
			enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(mailSeats))
			api := s.start("api")
			s.start("worker")
			test.fault(m)
			answers := s.rush("a", 500, []*process{api}, func() {})
			s.promised = 3 * time.Second
			s.requireSettled("a", mailSeats, answers)
			if test.undelivers {
				if states := s.mailStates(); states != "pending 20" {
					t.Errorf("without a mail server the outbox says %s", states)
				}
			}
			test.heal(m)
			s.waitForMail("sent 20")
			s.requireConfirmations(m, mailSeats)
		})
	}
}

func TestAWorkerThatIsKilledBeforeItsMailIsOnTheQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.withMail()
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(3))
	api := s.start("api")
	s.redis.Kill() // lines move all the same, and mails cannot leave
	w := s.start("worker")
	answers := s.rush("a", 10, []*process{api}, func() {})
	s.requireSettled("a", 3, answers)
	w.signal(syscall.SIGKILL)
	<-w.exited
	if states := s.mailStates(); states != "pending 3" {
		t.Fatalf("the outbox says %s", states)
	}
	s.redis.Restart()
	s.start("worker")
	s.waitForMail("sent 3")
	s.requireConfirmations(m, 3)
}

// TestAWorkerThatIsKilledBeforeItNotesWhatItSent is the one window in which a
// mail is sent twice. Both have one Message-ID.
func TestAWorkerThatIsKilledBeforeItNotesWhatItSent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.withMail()
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(1))
	api := s.start("api")
	w := s.start("worker")
	m.Misbehave(mailsink.Fault{HangAfterData: true}) // it has the mail, and the worker does not know
	s.rush("a", 2, []*process{api}, func() {})
	if !m.Await(t.Context(), func(all []mailsink.Message) bool { return len(all) == 1 }) {
		t.Fatal("nothing arrived")
	}
	w.signal(syscall.SIGKILL)
	<-w.exited
	m.Misbehave(mailsink.Fault{})
	s.start("worker")
	s.waitForMail("sent 1")
	letters := m.letters()
	if len(letters) != 2 || letters[0] != letters[1] {
		t.Errorf("arrived has %+v, want one mail twice", letters)
	}
}

// TestAMailThatIsRefusedForGood: it fails alone, the organiser sees why, and has
// it sent again.
func TestAMailThatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.withMail()
	pgtest.AddAdmin(t, s.url)
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(5))
	m.Misbehave(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 550, Text: "no such user"}, For: func(to string) bool { return strings.HasPrefix(to, "p2@") }})
	api := s.start("api")
	s.start("worker")
	s.rush("a", 4, []*process{api}, func() {})
	s.waitForMail("failed 1, sent 3")

	ask := func(method, path string, want int, v any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+api.API+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+pgtest.AdminToken)
		if err := do(r, want, v); err != nil {
			t.Fatal(err)
		}
	}
	var failed struct {
		Mails []struct{ ID, Email, Problem string }
	}
	ask(http.MethodGet, "/v1/runs/a/mails?state=failed", http.StatusOK, &failed)
	if len(failed.Mails) != 1 || failed.Mails[0].Email != "p2@example.org" || !strings.Contains(failed.Mails[0].Problem, "no such user") {
		t.Fatalf("the organiser sees %+v", failed)
	}
	m.Misbehave(mailsink.Fault{})
	var again map[string]any
	ask(http.MethodPost, "/v1/runs/a/mails/"+failed.Mails[0].ID+"/resend", http.StatusAccepted, &again)
	s.waitForMail("failed 1, sent 4")
	s.requireConfirmations(m, 4)
}

// TestTheMailsOfAPerson goes through all kinds.
func TestTheMailsOfAPerson(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.withMail()
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(1))
	api := s.start("api")
	worker := s.start("worker", "LASTSEAT_MAIL_REMIND_BEFORE=0s") // the run begins in two hours
	post := func(path, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+api.API+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		var v map[string]any
		if err := do(r, http.StatusAccepted, &v); err != nil {
			t.Fatal(err)
		}
	}
	await := func(n int, to, subject string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		if !m.Await(ctx, func(all []mailsink.Message) bool { return len(all) >= n }) {
			t.Fatalf("mail %d did not arrive", n)
		}
		if l := m.letters()[n-1]; l.to != to || !strings.HasPrefix(l.subject, subject) {
			t.Errorf("mail %d is %+v, want %q to %s", n, l, subject, to)
		}
	}
	const ask = "/v1/runs/a/registrations"
	post(ask, `{"name": "Ada", "email": "Ada+1@Straße.example", "language": "de"}`)
	await(1, "Ada+1@xn--strae-oqa.example", "Sie haben einen Platz")
	post(ask, `{"name": "Eve", "email": "ada+1@straße.example"}`)
	await(2, "Ada+1@xn--strae-oqa.example", "Ihre E-Mail-Adresse ist bereits angemeldet")
	post(ask, `{"name": "Bob", "email": "bob@example.org", "notify": true}`)
	await(3, "bob@example.org", "No seat")
	post("/v1/links", `{"email": "bob@example.org"}`)
	await(4, "bob@example.org", "Your ")
	worker.stop()
	// What was told long ago is told again shortly before the start.
	pgtest.Exec(t, s.url, `UPDATE mails SET ended_at = ended_at - interval '2 days', left_at = left_at - interval '2 days'`)
	s.start("worker") // a worker looks at once, and then every minute
	await(5, "Ada+1@xn--strae-oqa.example", "")
	s.waitForMail("sent 5")
}

// BenchmarkRushWithMail compares how fast a rush is decided with the mail server
// up, down, hanging and refusing, in turn: -benchtime 5x is five rounds of each.
func BenchmarkRushWithMail(b *testing.B) {
	const rushSeats, crowd = 20, 500
	faults := []struct {
		name  string
		fault func(*mailbox)
		heal  func(*mailbox)
	}{
		{"up", func(*mailbox) {}, func(*mailbox) {}},
		{"down", (*mailbox).down, (*mailbox).up},
		{"hanging", func(m *mailbox) { m.Misbehave(mailsink.Fault{Hang: true}) }, func(m *mailbox) { m.Misbehave(mailsink.Fault{}) }},
		{"refusing", func(m *mailbox) { m.Misbehave(mailsink.Fault{Mail: &mailsink.Reply{Code: 550, Text: "no"}}) }, func(m *mailbox) { m.Misbehave(mailsink.Fault{}) }},
	}
	s := newSite(b)
	m := s.withMail()
	store := pgtest.Open(b, s.url)
	api := s.start("api")
	s.start("worker")
	took := make(map[string][]float64)
	for round := 0; b.Loop(); round++ {
		for i := range faults {
			f := faults[(i+round)%len(faults)]
			run := fmt.Sprintf("run-%d-%s", round, f.name)
			enrolltest.OpenRun(b, store, run, enrolltest.Seats(rushSeats))
			f.fault(m)
			s.rush(run, crowd, []*process{api}, func() {})
			decided := func() bool {
				return pgtest.Query[bool](b, s.url, `SELECT l.last_ticket = r.settled_ticket FROM runs r JOIN lines l ON l.run_id = r.id WHERE slug = $1`, run)[0]
			}
			testwait.Until(b, "the line is decided", decided)
			took[f.name] = append(took[f.name], pgtest.Query[float64](b, s.url, `
				SELECT extract(epoch FROM max(decided_at) - min(accepted_at))::float8 * 1000
				FROM requests q JOIN runs r ON r.id = q.run_id WHERE slug = $1`, run)[0])
			f.heal(m)
			testwait.Until(b, "no mail is pending", func() bool { return !strings.Contains(s.mailStates(), string(enroll.MailPending)) })
		}
	}
	for _, f := range faults {
		slices.Sort(took[f.name])
		b.ReportMetric(took[f.name][len(took[f.name])/2], f.name+"-ms")
	}
}
