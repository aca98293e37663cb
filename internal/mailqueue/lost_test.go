package mailqueue_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

// brittle is an outbox of which one conversation, the first of its kind that is
// about a mail, goes through a proxy that loses it.
type brittle struct {
	*postgres.Store
	proxied *postgres.Store
	at      string
	cut     func()
	done    atomic.Bool
	lost    chan error // has room for one: with which it ended
}

// converse has the conversation: by way of the proxy, if it is the one to be lost.
// That has another one before, about nothing, so that the connection stands, the
// statements are prepared, and the fault hits their execution.
func (b *brittle) converse(at string, prepare, ask func(*postgres.Store) error) error {
	if b.at != at || !b.done.CompareAndSwap(false, true) {
		return ask(b.Store)
	}
	if err := prepare(b.proxied); err != nil {
		return err
	}
	b.cut()
	err := ask(b.proxied)
	b.lost <- err
	return err
}

func (b *brittle) MailsDue(ctx context.Context, most int) (due []enroll.DueMail, err error) {
	ask := func(s *postgres.Store) error { due, err = s.MailsDue(ctx, most); return err }
	if err := ask(b.Store); err != nil || len(due) == 0 {
		return nil, err
	}
	err = b.converse("MailsDue", ask, ask)
	return due, err
}

func (b *brittle) MailsRelayed(ctx context.Context, relayed []enroll.DueMail, d time.Duration) error {
	return b.converse("MailsRelayed",
		func(s *postgres.Store) error { return s.MailsRelayed(ctx, nil, d) },
		func(s *postgres.Store) error { return s.MailsRelayed(ctx, relayed, d) })
}

func (b *brittle) ClaimMail(ctx context.Context, due enroll.DueMail, limits enroll.ClaimLimits) (m enroll.Mail, err error) {
	err = b.converse("ClaimMail",
		func(s *postgres.Store) error {
			_, err := s.ClaimMail(ctx, enroll.DueMail{ID: uuid.New()}, limits)
			if enroll.CodeOf(err) == enroll.NotFound {
				return nil
			}
			return errors.Join(err, errors.New("there is such a mail"))
		},
		func(s *postgres.Store) error { m, err = s.ClaimMail(ctx, due, limits); return err })
	return m, err
}

func (b *brittle) EndMailAttempt(ctx context.Context, id uuid.UUID, attempt int, end enroll.MailAttempt) error {
	return b.converse("EndMailAttempt",
		func(s *postgres.Store) error { return s.EndMailAttempt(ctx, uuid.New(), attempt, end) },
		func(s *postgres.Store) error { return s.EndMailAttempt(ctx, id, attempt, end) })
}

// TestTimingAWordToTheOutboxIsLost, said or answered: each mail is sent once. What was
// claimed without anybody knowing is sent when the claim is over.
func TestTimingAWordToTheOutboxIsLost(t *testing.T) {
	t.Parallel()
	short := options
	short.SendTimeout = 200 * time.Millisecond
	const claim = 3*time.Second + 2*200*time.Millisecond // lasts so long with it
	const slack = 3 * time.Second                        // for a busy machine
	for _, test := range []struct {
		at     string
		fault  pgtest.Fault
		within time.Duration
	}{
		{"MailsDue", pgtest.CutRequest, 0},
		{"MailsDue", pgtest.CutReply, 0},
		{"MailsRelayed", pgtest.CutRequest, 0},
		{"MailsRelayed", pgtest.CutReply, 0},
		{"ClaimMail", pgtest.CutRequest, time.Minute}, // it is looked at again when the relay's note is over
		{"ClaimMail", pgtest.CutReply, claim},
		{"EndMailAttempt", pgtest.CutRequest, 0},
		{"EndMailAttempt", pgtest.CutReply, 0},
		{"MailsDue", pgtest.LoseReply, 5 * time.Second},     // of silence are enough for a look
		{"MailsRelayed", pgtest.LoseReply, 5 * time.Second}, // until the test knows that it was lost
		{"ClaimMail", pgtest.LoseReply, claim},
		{"EndMailAttempt", pgtest.LoseReply, 3 * time.Second}, // and so many for an attempt
	} {
		name := map[pgtest.Fault]string{
			pgtest.CutRequest: " is not said", pgtest.CutReply: " is not answered", pgtest.LoseReply: " is answered into nothing",
		}[test.fault]
		t.Run(test.at+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			proxy := pgtest.NewProxy(t, p.url)
			outbox := &brittle{
				Store: p.store, proxied: pgtest.Open(t, proxy.URL()), at: test.at,
				cut: func() { proxy.Set(test.fault) }, lost: make(chan error, 1),
			}
			p.worker(outbox, short)
			p.confirm(1)
			began := time.Now()
			if err := <-outbox.lost; err == nil {
				t.Error("nothing was lost")
			}
			if test.within == time.Minute {
				// A minute passes.
				testwait.Until(t, "the mail is on the queue", func() bool {
					return pgtest.Query[int64](t, p.url, `WITH w AS (UPDATE mails SET next_at = now() WHERE next_at > now() + interval '30 seconds' RETURNING 1) SELECT count(*) FROM w`)[0] == 1
				})
			}
			p.waitFor("sent 1")
			testwait.Promised(t, "from the fault until it was sent", time.Since(began), test.within+slack)
			if tried, sent := p.counts(); tried != 1 || sent != 1 {
				t.Errorf("it was tried %d times and sent %d times", tried, sent)
			}
			p.confirm(2)
			p.waitFor("sent 2")
			proxy.Set(pgtest.Refuse) // or what is deaf would take long to close
		})
	}
}

// TestAWordToTheQueueIsLost, said or answered: each mail is sent once. A task that
// was handed out to nobody comes again when Asynq's lease is over, after a minute
// or two.
func TestAWordToTheQueueIsLost(t *testing.T) {
	t.Parallel()
	const mail = "asynq:{" + mailqueue.QueueName + "}:"
	enqueues := func(command []string) bool {
		return command[0] == "evalsha" && command[2] == "2" && command[4] == mail+"pending"
	}
	dequeues := func(command []string) bool {
		return command[0] == "evalsha" && command[2] == "4" && command[4] == mail+"paused"
	}
	acknowledges := func(command []string) bool {
		return command[0] == "evalsha" && command[2] == "5" && strings.HasPrefix(command[6], mail+"processed:")
	}
	for _, test := range []struct {
		name     string
		is       func([]string) bool
		fault    pgtest.Fault
		orphaned string // the outbox, while a task is handled by nobody
	}{
		{"the relay puts a mail on it", enqueues, pgtest.CutRequest, ""},
		{"the relay is answered", enqueues, pgtest.CutReply, ""},
		{"the deliverer asks for a task", dequeues, pgtest.CutRequest, ""},
		{"the deliverer gets a task", dequeues, pgtest.CutReply, "pending 1, sent 1"},
		{"the deliverer acknowledges a task", acknowledges, pgtest.CutRequest, "sent 2"},
		{"the acknowledgement is answered", acknowledges, pgtest.CutReply, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			detour, c := new(redistest.Detour), p.redis.Client()
			p.hook = detour
			p.worker(p.store, options)
			p.confirm(1) // Redis knows the scripts
			p.waitFor("sent 1")
			queue := func() *asynq.QueueInfo {
				info, err := asynq.NewInspectorFromRedisClient(c).GetQueueInfo(mailqueue.QueueName)
				if err != nil {
					t.Fatal(err)
				}
				return info
			}
			testwait.Until(t, "the queue is empty", func() bool { return queue().Size == 0 })
			proxy := pgtest.NewProxy(t, p.redis.URL())
			r, err := taskqueue.ParseRedis(proxy.URL(), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			brittle := r.Open()
			t.Cleanup(func() { _ = brittle.Close() })
			detour.Set(func(command []string) bool {
				// The deliverer asks all the time, and only an answer with a task in it matters.
				return test.is(command) && (!dequeues(command) || c.LLen(t.Context(), command[3]).Val() > 0)
			}, func(ctx context.Context, cmd redis.Cmder) error {
				if err := brittle.Ping(ctx).Err(); err != nil { // the connection stands
					return err
				}
				proxy.Set(test.fault)
				return brittle.Process(ctx, cmd)
			})
			p.confirm(2)
			testwait.Until(t, "the command took the detour", detour.Taken)
			if test.orphaned != "" {
				p.waitFor(test.orphaned)
				testwait.Until(t, "the task is active", func() bool { return queue().Active == 1 })
				p.confirm(3) // goes past it
				p.waitFor(strings.NewReplacer("sent 2", "sent 3", "sent 1", "sent 2").Replace(test.orphaned))
				testwait.Until(t, "one task is left", func() bool { return queue().Size == 1 })
				// A minute passes, and a worker is started: it looks at once, others every minute.
				leases, err := c.ZRange(t.Context(), mail+"lease", 0, -1).Result()
				if err != nil || len(leases) != 1 {
					t.Fatalf("%d leases: %v", len(leases), err)
				}
				past := redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: leases[0]}
				if err := c.ZAddXX(t.Context(), mail+"lease", past).Err(); err != nil {
					t.Fatal(err)
				}
				p.hook = nil
				p.worker(p.store, options)
				p.waitFor("sent 3")
			} else {
				p.waitFor("sent 2")
			}
			testwait.Until(t, "the queue is empty", func() bool { return queue().Size == 0 })
			seen := make(map[uuid.UUID]bool)
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, m := range p.tried {
				if seen[m.ID] {
					t.Errorf("mail %s was sent twice", m.ID)
				}
				seen[m.ID] = true
			}
		})
	}
}
