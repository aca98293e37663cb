package mailqueue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) {
	taskqueue.LogRedis(slog.New(slog.DiscardHandler))
	testwait.Main(m)
}

// place is a database and a Redis, and a mail server of which only the answers
// are played.
type place struct {
	t     *testing.T
	url   string
	store *postgres.Store
	redis *redistest.Server
	run   enroll.RunID
	log   *logBook
	hook  redis.Hook // of the clients of the next worker, unless it is nil
	// metrics are those of the worker that was started last.
	metrics *prometheus.Registry

	mu     sync.Mutex
	answer func(enroll.Mail) error
	sent   []enroll.Mail // taken by the server
	tried  []enroll.Mail
}

func newPlace(t *testing.T) *place {
	t.Helper()
	url := pgtest.URL(t)
	p := &place{t: t, url: url, store: pgtest.Open(t, url), redis: redistest.Start(t), log: &logBook{}}
	p.run = enrolltest.OpenRun(t, p.store, "a", nil)
	return p
}

// says changes what the mail server answers; nil = it takes everything.
func (p *place) says(answer func(enroll.Mail) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *place) send(_ context.Context, m enroll.Mail) error {
	p.mu.Lock()
	p.tried = append(p.tried, m)
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		if err := answer(m); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	return nil
}

func (p *place) counts() (tried, sent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tried), len(p.sent)
}

// confirm has people with these numbers confirmed, which makes a mail due for
// each.
func (p *place) confirm(people ...int) {
	p.t.Helper()
	var all []enroll.Submission
	for _, n := range people {
		all = append(all, enrolltest.Person("a", n))
	}
	if _, err := p.store.Accept(p.t.Context(), all); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.store.Settle(p.t.Context(), []enroll.RunID{p.run}, enrolltest.SettleLimits(1000)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) states() string {
	p.t.Helper()
	return strings.Join(pgtest.Query[string](p.t, p.url, `SELECT state || ' ' || count(*) FROM mails GROUP BY state ORDER BY state`), ", ")
}

// problem is what the organiser reads of the only mail.
func (p *place) problem() string {
	p.t.Helper()
	return pgtest.Query[string](p.t, p.url, `SELECT problem FROM mails`)[0]
}

// measured returns the value of a metric, with these labels if it has some.
func (p *place) measured(name string, labels ...string) float64 {
	p.t.Helper()
	families, err := p.metrics.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(got, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() // it is one of the two
			}
		}
	}
	return 0
}

func (p *place) waitFor(states string) {
	p.t.Helper()
	var got string
	defer func() {
		if got != states {
			p.t.Logf("the outbox says %q, and the log:\n%s", got, p.log)
		}
	}()
	testwait.Until(p.t, "the outbox says "+states, func() bool { got = p.states(); return got == states })
}

func (p *place) client() *taskqueue.Client {
	c := p.redis.Client()
	return taskqueue.NewClient(c)
}

// options are fast.
var options = mailqueue.Options{
	Server: "mail.example.org:25", Concurrency: 4, PerSecond: 1000, SendTimeout: 2 * time.Second, Interval: 50 * time.Millisecond,
	RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond, GiveUpAfter: time.Hour, RemindBefore: time.Hour, ShutdownTimeout: time.Millisecond,
}

// worker starts the relay and the deliverer, if they are wanted, and returns a
// function that stops them.
func (p *place) worker(outbox mailqueue.Outbox, o mailqueue.Options) (stop func()) {
	p.t.Helper()
	r, err := taskqueue.ParseRedis(p.redis.URL(), time.Second)
	if err != nil {
		p.t.Fatal(err)
	}
	messages, queues := r.Open(), r.OpenForServers()
	if p.hook != nil {
		messages.AddHook(p.hook)
		queues.AddHook(p.hook)
	}
	log := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.metrics = prometheus.NewRegistry()
	common := mailqueue.NewCommon(outbox, o, log, p.metrics)
	relay, deliverer := mailqueue.NewRelay(common, messages), mailqueue.NewDeliverer(common, queues, p.send)
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	for _, run := range []func(context.Context) error{relay.Run, deliverer.Run} {
		g.Go(func() {
			if err := run(ctx); err != nil {
				p.t.Error(err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		g.Wait()
		messages.Close()
		queues.Close()
	})
	p.t.Cleanup(stop)
	return stop
}

func TestMailsAreSentOnceEach(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	stop := p.worker(p.store, options)
	p.worker(p.store, options) // of two workers, too
	for n := range 5 {
		p.confirm(10*n, 10*n+1, 10*n+2)
	}
	p.waitFor("sent 15")
	stop()
	seen := make(map[uuid.UUID]bool)
	for _, m := range p.sent {
		if seen[m.ID] || m.Attempt != 1 {
			t.Errorf("mail %s was sent twice", m.ID)
		}
		seen[m.ID] = true
	}
	if len(seen) != 15 {
		t.Errorf("%d mails were sent, want 15", len(seen))
	}
}

func TestWhatTheMailServerSaysDecides(t *testing.T) {
	t.Parallel()
	t.Run("refused for good: failed, and the others go on", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.says(func(m enroll.Mail) error {
			if m.About[0].Ticket == 2 {
				return &enroll.SendError{Code: enroll.MailRefused, Status: 550, Reply: "5.1.1 <" + m.To.Mailbox() + "> is unknown here"}
			}
			return nil
		})
		p.worker(p.store, options)
		p.confirm(1, 2, 3)
		p.waitFor("failed 1, sent 2")
		if problem := pgtest.Query[string](t, p.url, `SELECT problem FROM mails WHERE state = 'failed'`)[0]; problem != "5.1.1 <p2@example.org> is unknown here" {
			t.Errorf("the organiser reads %q", problem)
		}
		if text := p.log.String(); strings.Contains(text, "@example.org") || !strings.Contains(text, "a mail has failed for good") {
			t.Errorf("the log says %s", text)
		}
		p.says(nil)
		mails, err := p.store.Mails(t.Context(), "a", enroll.MailQuery{State: enroll.MailFailed, Tickets: 10})
		if err != nil || len(mails) != 1 {
			t.Fatal(mails, err)
		}
		if _, err := p.store.ResendMail(t.Context(), access.Operator, "a", mails[0].ID); err != nil {
			t.Fatal(err)
		}
		p.waitFor("failed 1, sent 3")
	})
	t.Run("deferred: again, until it is taken", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.says(func(m enroll.Mail) error {
			if m.Attempt < 4 {
				return &enroll.SendError{Code: enroll.MailDeferred, Status: 451, Reply: "4.7.1 greylisted"}
			}
			return nil
		})
		p.worker(p.store, options)
		p.confirm(1, 2)
		p.waitFor("sent 2")
		if attempts := pgtest.Query[int](t, p.url, `SELECT attempts FROM mails`); attempts[0] != 4 || attempts[1] != 4 {
			t.Errorf("taken after %v attempts, want 4 each", attempts)
		}
	})
	t.Run("deferred for too long: failed", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.says(func(enroll.Mail) error {
			return &enroll.SendError{Code: enroll.MailDeferred, Status: 452, Reply: "mailbox full"}
		})
		p.confirm(1)
		pgtest.Exec(t, p.url, `UPDATE mails SET due_at = due_at - interval '1 hour'`)
		p.worker(p.store, options)
		p.waitFor("failed 1")
	})
	t.Run("what the organiser reads is one line of bounded length", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.says(func(m enroll.Mail) error {
			return &enroll.SendError{Code: enroll.MailRefused, Status: 550, Reply: "no\x00such\x1b[31m \xff\xfe\tuser\r\n\u202e\u2028here\n" + strings.Repeat("ß", 5000)}
		})
		p.worker(p.store, options)
		p.confirm(1)
		p.waitFor("failed 1")
		want := "no such [31m \uFFFD user here " + strings.Repeat("ß", 500)
		if got := p.problem(); got != string([]rune(want)[:500]) {
			t.Errorf("the organiser reads %q", got)
		}
	})
	t.Run("without a word of the server the organiser reads a sentence", func(t *testing.T) {
		t.Parallel()
		secret := errors.New("dial tcp 10.0.0.1:25: " + strings.Repeat("x", 5000))
		for want, err := range map[string]error{
			"the mail server cannot be reached":           &enroll.SendError{Code: enroll.Unavailable, Err: secret},
			"the mail server does not take this mail now": &enroll.SendError{Code: enroll.MailDeferred, Err: secret},
			"the mail server does not take this mail":     &enroll.SendError{Code: enroll.MailRefused, Reply: "\r\n", Err: secret},
			"the mail cannot be written":                  secret,
			"4.3.2 closing":                               &enroll.SendError{Code: enroll.Unavailable, Status: 421, Reply: "4.3.2 closing", Err: secret},
		} {
			t.Run(want, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.says(func(enroll.Mail) error { return err })
				p.worker(p.store, options)
				p.confirm(1)
				testwait.Until(t, "a problem is noted", func() bool { return p.problem() != "" })
				if got := p.problem(); got != want {
					t.Errorf("the organiser reads %q, want %q", got, want)
				}
			})
		}
	})
	t.Run("a defect of ours: again, and loudly", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.says(func(m enroll.Mail) error {
			if m.Attempt == 1 {
				return errors.New("no such template")
			}
			return nil
		})
		p.worker(p.store, options)
		p.confirm(1)
		p.waitFor("sent 1")
		if text := p.log.String(); !strings.Contains(text, "level=ERROR") {
			t.Errorf("the log says %s", text)
		}
	})
}

func TestMailServerThatIsAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(func(enroll.Mail) error {
		return &enroll.SendError{Code: enroll.Unavailable, Err: errors.New("connection refused")}
	})
	slow := options
	slow.RetryMin, slow.RetryMax = 300*time.Millisecond, 300*time.Millisecond
	p.worker(p.store, slow)
	var people []int
	for n := range 200 {
		people = append(people, n)
	}
	p.confirm(1000)
	testwait.Until(t, "a mail was tried", func() bool { tried, _ := p.counts(); return tried > 0 })
	p.confirm(people...)
	testwait.Until(t, "ten attempts were made", func() bool { tried, _ := p.counts(); return tried >= 10 })
	before, _ := p.counts()
	if before > 60 {
		t.Errorf("%d attempts were made to reach a server that is away", before)
	}
	if text := p.log.String(); strings.Count(text, "the mail server takes no mail: mails wait") != 1 || !strings.Contains(text, "server=mail.example.org:25") {
		t.Errorf("the log says %s", text)
	}
	if p.measured("lastseat_mail_server_away") != 1 {
		t.Error("no metric says so")
	}
	p.says(nil)
	p.waitFor("sent 201")
	if p.measured("lastseat_mail_server_away") != 0 {
		t.Error("a metric says that it is still away")
	}
	if tried, sent := p.counts(); sent != 201 || tried > 201+before+8 {
		t.Errorf("%d mails in %d attempts", sent, tried)
	}
}

func TestAttemptsAreCountedByResult(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(func(m enroll.Mail) error {
		if m.Attempt > 1 && m.About[0].Ticket != 6 {
			return nil
		}
		switch m.About[0].Ticket {
		case 2, 6: // 6 is made old below
			return &enroll.SendError{Code: enroll.MailDeferred, Status: 451}
		case 3:
			return &enroll.SendError{Code: enroll.Unavailable}
		case 4:
			return &enroll.SendError{Code: enroll.MailRefused, Status: 550}
		case 5:
			return errors.New("no such template")
		}
		return nil
	})
	p.confirm(1, 2, 3, 4, 5, 6, 7)
	pgtest.Exec(t, p.url, `UPDATE mails SET due_at = due_at - interval '1 hour' WHERE ticket = 6`)
	pgtest.Exec(t, p.url, `UPDATE requests SET status = 'rejected', reason = 'full' WHERE ticket = 7`)
	p.worker(p.store, options)
	p.waitFor("failed 2, sent 4, skipped 1")
	for result, want := range map[string]float64{"sent": 4, "deferred": 3, "unreachable": 1, "refused": 1, "given_up": 1, "skipped": 1, "defect": 1} {
		if got := p.measured("lastseat_mail_attempts_total", "confirmed", result); got != want {
			t.Errorf("%s: %v, want %v", result, got, want)
		}
	}
}

func TestWhatWasSupersededIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1, 2)
	pgtest.Exec(t, p.url, `UPDATE requests SET status = 'rejected', reason = 'full' WHERE ticket = 1`)
	p.worker(p.store, options)
	p.waitFor("sent 1, skipped 1")
	if len(p.sent) != 1 || p.sent[0].About[0].Ticket != 2 {
		t.Errorf("sent were %+v", p.sent)
	}
}

func TestRemindersAreWrittenAndSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1, 2)
	pgtest.Exec(t, p.url, `UPDATE mails SET state = 'sent', ended_at = now() - interval '2 hours'`)
	pgtest.Exec(t, p.url, `UPDATE runs SET starts_at = now() + interval '59 minutes'`)
	pgtest.Exec(t, p.url, `DELETE FROM run_changes`)
	p.worker(p.store, options)
	p.waitFor("sent 4")
	for _, m := range p.sent {
		if m.Kind != enroll.MailReminder {
			t.Errorf("sent was %s", m.Kind)
		}
	}
}

// TestAMoveIsTold: whoever has a seat hears of it when the window is over.
func TestAMoveIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	window := options
	window.ChangeWindow = time.Second
	p.worker(p.store, window)
	p.confirm(1, 2)
	p.waitFor("sent 2")
	pgtest.Exec(t, p.url, `UPDATE runs SET starts_at = starts_at + interval '30 days', ends_at = ends_at + interval '30 days'`)
	pgtest.Exec(t, p.url, `UPDATE runs SET location = 'Room 2'`)
	p.waitFor("sent 4")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.sent[2:] {
		if e := m.About[0]; m.Kind != enroll.MailChanged || e.For.Revision != 2 || !e.Moved() || e.For.Location != "Room 2" {
			t.Errorf("sent was %s of %+v", m.Kind, e)
		}
	}
}

// TestMailOfARunThatIsOverIsNotSent: the mail server was away until then.
func TestMailOfARunThatIsOverIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1)
	pgtest.Exec(t, p.url, `UPDATE runs SET starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour'`)
	p.worker(p.store, options)
	p.waitFor("skipped 1")
	if got := p.problem(); got != "overdue: the run is over" {
		t.Errorf("the organiser reads %q", got)
	}
	if n := p.measured("lastseat_mail_attempts_total", "confirmed", "overdue"); n != 1 {
		t.Errorf("counted were %v", n)
	}
	id := pgtest.Query[uuid.UUID](t, p.url, `SELECT id FROM mails`)[0]
	if _, err := p.store.ResendMail(t.Context(), access.Operator, "a", id); enroll.CodeOf(err) != enroll.Obsolete {
		t.Errorf("sent again, it is answered %v", err)
	}
}

func TestRedisMayLoseEverything(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	taken := make(chan struct{})
	var once sync.Once
	p.says(func(enroll.Mail) error {
		once.Do(func() { close(taken) })
		return &enroll.SendError{Code: enroll.MailDeferred, Status: 451}
	})
	p.worker(p.store, options)
	p.confirm(1, 2, 3)
	<-taken
	p.redis.Kill()
	p.confirm(4, 5)
	p.says(nil)
	p.redis.Restart()
	p.waitFor("sent 5")
	if _, sent := p.counts(); sent != 5 {
		t.Errorf("%d mails were sent, want 5", sent)
	}
}

// TestATaskThatComesTwice: Asynq gives a task again when its acknowledgement was
// lost, and the relay may put one on the queue that is there.
func TestATaskThatComesTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.worker(p.store, options)
	p.confirm(1)
	p.waitFor("sent 1")
	id := p.sent[0].ID
	for attempts := range 3 {
		task := asynq.NewTask("mail:send", fmt.Appendf(nil, `{"mail_id": %q, "attempts": %d}`, id, attempts))
		if err := p.client().Enqueue(t.Context(), task, asynq.Queue(mailqueue.QueueName)); err != nil {
			t.Fatal(err)
		}
	}
	p.confirm(2) // goes behind them
	p.waitFor("sent 2")
	if _, sent := p.counts(); sent != 2 {
		t.Errorf("%d mails were sent, want 2", sent)
	}
}

func TestATaskThatIsNotOurs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.worker(p.store, options)
	for _, task := range []*asynq.Task{
		asynq.NewTask("mail:send", []byte("{")), asynq.NewTask("other", []byte("{}")), asynq.NewTask("mail:send", []byte(`{"attempts": -1}`)),
	} {
		if err := p.client().Enqueue(t.Context(), task, asynq.Queue(mailqueue.QueueName)); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "three tasks are logged as not ours", func() bool { return strings.Count(p.log.String(), "a task on the mail queue is not ours") == 3 })
	p.confirm(1)
	p.waitFor("sent 1")
}

// forgetful is an outbox that cannot be written to for a while.
type forgetful struct {
	*postgres.Store
	mu    sync.Mutex
	fails int
}

func (f *forgetful) EndMailAttempt(ctx context.Context, id uuid.UUID, attempt int, end enroll.MailAttempt) error {
	f.mu.Lock()
	f.fails--
	fail := f.fails >= 0
	f.mu.Unlock()
	if fail {
		return &enroll.Error{Code: enroll.Unavailable}
	}
	return f.Store.EndMailAttempt(ctx, id, attempt, end)
}

func TestWhatWasSentIsNotedAsSoonAsThatIsPossible(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.worker(&forgetful{Store: p.store, fails: 4}, options)
	p.confirm(1)
	p.waitFor("sent 1")
	if tried, _ := p.counts(); tried != 1 {
		t.Errorf("it was sent %d times", tried)
	}
}

// TestTheDocumentedWindow: a worker that dies between sending a mail and noting
// that has it sent once more, after its claim is over, as the same mail.
func TestTheDocumentedWindow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	short := options
	short.SendTimeout = 200 * time.Millisecond
	stop := p.worker(&forgetful{Store: p.store, fails: 1_000_000}, short) // never notes anything, as if it were dead
	p.confirm(1)
	testwait.Until(t, "a mail was sent", func() bool { _, sent := p.counts(); return sent == 1 })
	stop()
	p.worker(p.store, short)
	p.waitFor("sent 1")
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.sent[0]
	for i, m := range p.sent {
		if m.ID != first.ID || m.Attempt != i+1 {
			t.Errorf("sent as %s, attempt %d; the first was %s", m.ID, m.Attempt, first.ID)
		}
	}
}

// late is an outbox whose answer to a claim comes when the claim is over.
type late struct {
	*postgres.Store
	pause func() // the process, once
}

func (l *late) ClaimMail(ctx context.Context, due enroll.DueMail, terms enroll.ClaimLimits) (enroll.Mail, error) {
	m, err := l.Store.ClaimMail(ctx, due, terms)
	l.pause()
	return m, err
}

func TestWhoeverWasPausedDoesNotSendWhatIsSomebodyElsesByNow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	short := options
	short.SendTimeout = 200 * time.Millisecond
	claimed, resume := make(chan struct{}), make(chan struct{})
	p.worker(&late{Store: p.store, pause: sync.OnceFunc(func() { close(claimed); <-resume })}, short)
	p.confirm(1)
	testwait.Receive(t, "the mail is claimed", claimed)
	testwait.Until(t, "the claim is over", func() bool { return !p.claimed() })
	close(resume)
	p.waitFor("sent 1")
	if _, sent := p.counts(); sent != 1 {
		t.Errorf("it was sent %d times", sent)
	}
}

// claimed tells whether the only mail is claimed now.
func (p *place) claimed() bool {
	p.t.Helper()
	return pgtest.Query[bool](p.t, p.url, `SELECT claimed_until > clock_timestamp() FROM mails`)[0]
}

func TestPostgresMayBeAwayForLongAfterSending(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	proxy := pgtest.NewProxy(t, p.url)
	short := options
	short.SendTimeout = 100 * time.Millisecond // a claim lasts for little more than three seconds
	sent := make(chan struct{})
	p.says(func(enroll.Mail) error {
		proxy.Set(pgtest.Refuse)
		close(sent)
		return nil
	})
	p.worker(pgtest.Open(t, proxy.URL()), short)
	p.confirm(1)
	<-sent
	testwait.Until(t, "the claim is over", func() bool { return !p.claimed() })
	p.says(nil)
	proxy.Set(pgtest.None)
	p.waitFor("sent 1")
	if tried, _ := p.counts(); tried != 1 {
		t.Errorf("it was sent %d times:\n%s", tried, p.log)
	}
}

func TestAPanicIsADefectLikeOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(func(m enroll.Mail) error {
		if m.Attempt == 1 {
			panic("a template of one's own")
		}
		return nil
	})
	p.worker(p.store, options)
	p.confirm(1)
	p.waitFor("sent 1")
	if text := p.log.String(); !strings.Contains(text, "a mail cannot be written") {
		t.Errorf("the log says %s", text)
	}
}

// TestAMailThatCannotSayTheTime: trying again would not help, and somebody has to
// hear of it.
func TestAMailThatCannotSayTheTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(func(m enroll.Mail) error {
		_, err := enroll.ParseTimeZone(m.About[0].For.TimeZone)
		return err
	})
	pgtest.Exec(t, p.url, `SET session_replication_role = replica; UPDATE runs SET time_zone = 'Europe/Berln'`) // as in an old database
	p.confirm(1)
	p.worker(p.store, options)
	p.waitFor("failed 1")
	if got := p.problem(); !strings.Contains(got, `time_zone "Europe/Berln" is not the name of a time zone`) {
		t.Errorf("the organiser reads %q", got)
	}
	for _, want := range []string{"level=ERROR", "a mail has failed for good", "kind=confirmed", "run=a", "Europe/Berln"} {
		if text := p.log.String(); !strings.Contains(text, want) {
			t.Errorf("the log lacks %q: %s", want, text)
		}
	}
	if got := p.measured("lastseat_mail_attempts_total", "confirmed", "invalid"); got != 1 {
		t.Errorf("%v attempts are counted, want 1", got)
	}

	pgtest.Exec(t, p.url, `UPDATE runs SET time_zone = 'Europe/Berlin'`)
	id := pgtest.Query[uuid.UUID](t, p.url, `SELECT id FROM mails`)[0]
	if _, err := p.store.ResendMail(t.Context(), access.Operator, "a", id); err != nil {
		t.Fatal(err)
	}
	p.waitFor("failed 1, sent 1")
}

func TestAMailThatMayHaveArrivedIsNotSentForEver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(func(enroll.Mail) error { return &enroll.SendError{Code: enroll.MailDeferred, Unanswered: true} })
	p.worker(p.store, options)
	p.confirm(1)
	p.waitFor("failed 1")
	if tried, _ := p.counts(); tried != 5 {
		t.Errorf("it was sent %d times, want 5", tried)
	}
}

func TestAReminderOfARunThatWasPutOffIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1)
	pgtest.Exec(t, p.url, `UPDATE mails SET kind = 'reminder'`)
	pgtest.Exec(t, p.url, `UPDATE runs SET starts_at = now() + interval '30 days', ends_at = now() + interval '31 days'`)
	p.worker(p.store, options)
	p.waitFor("sent 1, skipped 1") // and told that it was
}

func TestATaskThatRedisLostAfterItWasNotedComesAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1)
	// As the relay leaves it, with nothing on the queue.
	pgtest.Exec(t, p.url, `UPDATE mails SET next_at = now() + interval '1 second'`)
	p.worker(p.store, options)
	p.waitFor("sent 1")
}

func TestStoppingFinishesWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	p.says(func(enroll.Mail) error { close(begun); <-finish; return nil })
	stop := p.worker(p.store, options)
	p.confirm(1)
	<-begun
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
		t.Error("it stopped in the middle of a mail")
	case <-time.After(300 * time.Millisecond):
	}
	close(finish)
	<-stopped
	if states := p.states(); states != "sent 1" {
		t.Errorf("the outbox says %s", states)
	}
}

func TestNoMoreThanSoManyInASecond(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	slow := options
	slow.PerSecond = 40
	for n := range 40 {
		p.confirm(n)
	}
	began := time.Now()
	p.worker(p.store, slow)
	p.waitFor("sent 40")
	if took := time.Since(began); took < 850*time.Millisecond { // four may begin at once
		t.Errorf("40 mails took %v at 40 a second", took)
	}
}

// logBook keeps what was logged.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
