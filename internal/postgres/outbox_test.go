package postgres_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestClaimMail(t *testing.T) {
	t.Parallel()
	t.Run("says what the mail tells", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.exec(`UPDATE courses SET organiser = 'Ada''s School', reply_to = 'ada@school.example', title = 'Go, "fast"'`)
		o.exec(`UPDATE runs SET language = 'de', location = 'Raum 2'`)
		o.ask(enroll.RegisterInput{Email: " Ada+1@Straße.example"}, enroll.RegisterInput{Email: "bob@example.org", Language: new("en")})
		var mails []enroll.Mail
		for _, d := range o.due(2) {
			mails = append(mails, o.mustClaim(d))
		}
		slices.SortFunc(mails, func(a, b enroll.Mail) int { return int(a.About[0].Ticket - b.About[0].Ticket) })
		m := mails[0]
		if m.Kind != enroll.MailConfirmed || m.Attempt != 1 || m.Language != enroll.German || m.To.Mailbox() != "Ada+1@xn--strae-oqa.example" || m.Now.Before(m.DueAt) {
			t.Errorf("got %+v", m)
		}
		e := m.About[0]
		if len(m.About) != 1 || e.Name != "A Person" || e.Status != enroll.Confirmed || e.Ticket != 1 || e.Run != "a" || e.DecidedAt.IsZero() ||
			e.For.Title != `Go, "fast"` || e.For.Organiser != "Ada's School" || e.For.ReplyTo != "ada@school.example" ||
			e.For.Location != "Raum 2" || e.For.TimeZone != "Europe/Berlin" || e.For.Slug != "a" || e.For.EndsAt.Sub(e.For.StartsAt) != time.Hour {
			t.Errorf("got %+v", m.About)
		}
		if mails[1].Language != enroll.English {
			t.Errorf("the language is %q, asked for was en", mails[1].Language)
		}
	})
	t.Run("gives each attempt to one", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		d := o.due(1)[0]
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch _, err := o.claim(d); enroll.CodeOf(err) {
				case "":
					won.Add(1)
				case enroll.NotFound:
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d have it", won.Load())
		}
		o.due(0)
	})
	t.Run("is free again when who has it dies", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		first := o.due(1)[0]
		died := o.mustClaim(first)
		o.mustNotClaim(enroll.DueMail{ID: first.ID, Attempts: 1})
		o.exec(`UPDATE mails SET claimed_until = now(), next_at = now()`) // the time has passed
		second := o.due(1)[0]
		if second.Attempts != 1 {
			t.Errorf("after %d attempts, want 1", second.Attempts)
		}
		o.mustNotClaim(first) // the task of the first attempt, come back
		heir := o.mustClaim(second)
		o.end(died, enroll.MailAttempt{State: enroll.MailFailed}) // the dead, come back
		o.end(heir, enroll.MailAttempt{State: enroll.MailSent})
		if state := pgtest.Query[string](t, o.url, `SELECT state || ' ' || attempts FROM mails`)[0]; state != "sent 2" {
			t.Errorf("it is %s", state)
		}
	})
	t.Run("sends one mail of a registration at a time", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(1), person(2))
		var one []enroll.DueMail // of the first registration
		for _, id := range pgtest.Query[uuid.UUID](t, o.url, `SELECT id FROM mails WHERE ticket = 1 ORDER BY kind`) {
			one = append(one, enroll.DueMail{ID: id})
		}
		m := o.mustClaim(one[0])
		o.mustNotClaim(one[1])
		for _, d := range o.due(1) {
			o.mustClaim(d) // another registration's does not wait
		}
		o.end(m, enroll.MailAttempt{State: enroll.MailPending, After: time.Hour})
		testwait.Until(t, "one mail is due", func() bool {
			due, err := o.MailsDue(context.Background(), 10)
			return err == nil && len(due) == 1
		})
		if got := o.mustClaim(o.due(1)[0]); got.ID != one[1].ID || got.Attempt != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("of two at once for one registration, one waits", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		for n := range 20 {
			o.exec(`UPDATE runs SET capacity = 100`)
			o.ask(person(n), person(n))
			due := o.due(2)
			var won atomic.Int64
			var wg sync.WaitGroup
			for _, d := range due {
				wg.Go(func() {
					m, err := o.claim(d)
					if err == nil {
						won.Add(1)
						_ = m
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Fatalf("%d of two are being sent", won.Load())
			}
			o.exec(`DELETE FROM mails`)
		}
	})
}

func TestEndMailAttempt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	m := o.mustClaim(o.due(1)[0])
	o.end(m, enroll.MailAttempt{State: enroll.MailPending, After: time.Hour, Problem: "try later"})
	o.due(0)
	mails, err := o.Mails(t.Context(), "a", enroll.MailQuery{Tickets: 10})
	if err != nil || len(mails) != 1 {
		t.Fatalf("got %+v, %v", mails, err)
	}
	if got := mails[0]; got.State != enroll.MailPending || got.Attempts != 1 || got.Problem != "try later" || !got.EndedAt.IsZero() ||
		time.Until(got.NextAt) < 50*time.Minute || got.To != "p1@example.org" || got.Run != "a" || got.Ticket != 1 {
		t.Errorf("got %+v", got)
	}
	o.exec(`UPDATE mails SET next_at = now()`)
	m = o.mustClaim(o.due(1)[0])
	o.end(m, enroll.MailAttempt{State: enroll.MailSent})
	mails, err = o.Mails(t.Context(), "a", enroll.MailQuery{State: enroll.MailSent, Tickets: 10})
	if err != nil || len(mails) != 1 || mails[0].EndedAt.IsZero() || !mails[0].NextAt.IsZero() || mails[0].Problem != "" || mails[0].Attempts != 2 {
		t.Errorf("got %+v, %v", mails, err)
	}
	o.mustNotClaim(enroll.DueMail{ID: m.ID, Attempts: 2})
}

func TestMailsRelayedAreNotDueForAWhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(2))
	due := o.due(2)
	claimed := o.mustClaim(due[1])
	if err := o.MailsRelayed(t.Context(), due, time.Hour); err != nil {
		t.Fatal(err)
	}
	o.due(0)
	o.end(claimed, enroll.MailAttempt{State: enroll.MailPending}) // what was claimed keeps its own time
	if got := o.due(1)[0]; got.ID != claimed.ID {
		t.Errorf("got %+v", got)
	}
	b, err := o.MailBacklog(t.Context())
	if err != nil || b.Pending != 2 || b.Overdue != 0 || b.Oldest <= 0 || b.Oldest > time.Minute {
		t.Errorf("the backlog is %+v (%v)", b, err)
	}
	o.exec(`UPDATE mails SET due_at = due_at - interval '2 hours'`)
	if b, err = o.MailBacklog(t.Context()); err != nil || b.Overdue != 2 || b.Untried != 1 {
		t.Errorf("two hours later the backlog is %+v (%v)", b, err)
	}
}

// TestALateNoteChangesOnlyWhatWasRead: between the look and the note, a mail had
// to wait for another of its registration, or another relay has noted it.
func TestALateNoteChangesOnlyWhatWasRead(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(1)) // two mails of one registration
	due := o.due(2)
	o.mustClaim(due[0])
	o.mustNotClaim(due[1]) // looked at again in a second
	soon := o.nextAt(due[1])
	if err := o.MailsRelayed(t.Context(), due[1:], time.Minute); err != nil {
		t.Fatal(err)
	}
	if after := o.nextAt(due[1]); !after.Equal(soon) {
		t.Errorf("the note moved the next look from %s to %s", soon, after)
	}
	due[1].NextAt = soon
	for _, d := range []time.Duration{time.Minute, time.Hour} { // the second note is of who read the same
		if err := o.MailsRelayed(t.Context(), due[1:], d); err != nil {
			t.Fatal(err)
		}
	}
	if wait := time.Until(o.nextAt(due[1])); wait < 30*time.Second || wait > 2*time.Minute {
		t.Errorf("it is looked at again in %s, want a minute", wait)
	}
}

// nextAt returns when the mail is looked at next.
func (o *office) nextAt(due enroll.DueMail) time.Time {
	o.t.Helper()
	return pgtest.Query[time.Time](o.t, o.url, `SELECT next_at FROM mails WHERE id = $1`, due.ID)[0]
}

func TestReplaceTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(2))
	due := o.due(2)
	var wg sync.WaitGroup
	renamed := make([][]enroll.DueMail, 8)
	for i := range renamed {
		wg.Go(func() {
			var err error
			if renamed[i], err = o.ReplaceTasks(context.Background(), due[:1]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := slices.Concat(renamed...)
	if len(all) != 1 || all[0].ID != due[0].ID || all[0].Replaced != 1 || !all[0].NextAt.Equal(due[0].NextAt) {
		t.Fatalf("of eight at once, these have it: %+v", all)
	}
	o.mustNotClaim(due[0]) // the lost task, come back
	if still := o.due(2); !slices.ContainsFunc(still, func(d enroll.DueMail) bool { return d == all[0] }) {
		t.Errorf("who dies before there is a task leaves %+v due, want %+v", still, all[0])
	}
	if err := o.MailsRelayed(t.Context(), all, time.Hour); err != nil {
		t.Fatal(err)
	}
	o.due(1)
	if m := o.mustClaim(all[0]); m.Attempt != 1 {
		t.Errorf("it is attempt %d, though none was made", m.Attempt)
	}
	if none, err := o.ReplaceTasks(t.Context(), all); err != nil || len(none) > 0 {
		t.Errorf("the task of a mail that is being sent was replaced: %+v, %v", none, err)
	}
}

func TestMendDueTimes(t *testing.T) {
	t.Parallel()
	waits := enroll.MailWaits{Lease: time.Minute, RetryMin: 10 * time.Minute, RetryMax: time.Hour, Held: 10 * time.Minute}
	for name, test := range map[string]struct {
		set    string // of the mail
		mended int
	}{
		"written by a clock that was set back":     {`due_at = now() + interval '20 minutes', next_at = now() + interval '20 minutes'`, 1},
		"deferred by a clock that was set back":    {`attempts = 3, next_at = now() + interval '50 minutes'`, 1},
		"deferred for as long as may be":           {`attempts = 3, next_at = now() + interval '39 minutes'`, 0},
		"deferred for the longest pause":           {`attempts = 30, next_at = now() + interval '59 minutes'`, 0},
		"deferred for longer than that":            {`attempts = 30, next_at = now() + interval '71 minutes'`, 1},
		"deferred for half a minute":               {`attempts = 1, next_at = now() + interval '50 minutes'`, 1},
		"held back for as long as may be":          {`next_at = now() + interval '9 minutes'`, 0},
		"held back by a clock that was set back":   {`next_at = now() + interval '20 minutes'`, 1},
		"being sent when the clock was set back":   {`attempts = 1, due_at = now() + interval '20 minutes', next_at = now() + interval '21 minutes', claimed_until = now() + interval '21 minutes'`, 1},
		"being sent":                               {`attempts = 1, next_at = now() + interval '100 seconds', claimed_until = now() + interval '100 seconds'`, 0},
		"claimed for hours, since it was set back": {`attempts = 1, next_at = now() + interval '3 hours', claimed_until = now() + interval '3 hours'`, 1},
		"due":       {`next_at = now()`, 0},
		"sent once": {`state = 'sent', ended_at = now(), next_at = now() + interval '3 hours'`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.ask(person(1))
			o.exec(`UPDATE mails SET ` + test.set)
			for _, want := range []int{test.mended, 0} {
				if n, err := o.MendDueTimes(t.Context(), waits); err != nil || n != want {
					t.Errorf("mended were %d (%v), want %d", n, err, want)
				}
			}
			if test.mended > 0 && !slices.Equal(pgtest.Query[bool](t, o.url, `
				SELECT due_at <= now() AND next_at <= now() + interval '1 minute' AND (claimed_until IS NULL OR abs(extract(epoch FROM claimed_until - next_at)) < 0.01) FROM mails`), []bool{true}) {
				t.Errorf("it is %v", pgtest.Query[string](t, o.url, `SELECT mails::text FROM mails`))
			}
		})
	}
}
