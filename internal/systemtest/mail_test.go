package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/mailsink"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestTimingARushAndItsMail checks that seats are decided whatever the mail
// server does, and that in the end everybody with a seat has got exactly one
// mail.
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
	s.redis.Kill() // lines still move, but mails cannot leave
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

// TestAWorkerThatIsKilledBeforeItNotesWhatItSent kills a worker in the one
// window in which a mail arrives twice. Both copies have the same Message-ID.
func TestAWorkerThatIsKilledBeforeItNotesWhatItSent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.withMail()
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(1))
	api := s.start("api")
	w := s.start("worker")
	m.Misbehave(mailsink.Fault{HangAfterData: true}) // the server has the mail, but the worker does not know
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
		t.Errorf("these mails arrived: %+v; want one mail twice", letters)
	}
}

// TestAMailThatIsRefusedForGood checks that a refused mail fails alone, and
// that the organiser sees why and can send it again.
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

// TestTheMailsOfAPerson goes through several kinds of mail.
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
	// The confirmation was long ago, so a reminder is due shortly before the
	// start.
	pgtest.Exec(t, s.url, `UPDATE mails SET ended_at = ended_at - interval '2 days', left_at = left_at - interval '2 days'`)
	s.start("worker") // a worker looks at once, and then every minute
	await(5, "Ada+1@xn--strae-oqa.example", "")
	s.waitForMail("sent 5")
}

// BenchmarkRushWithMail compares how fast a rush is decided with the mail
// server up, down, hanging and refusing, in turn. -benchtime 5x means five
// rounds of each.
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
