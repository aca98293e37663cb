package mailqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// queueKeys begins the keys that Asynq has for the queue.
const queueKeys = "asynq:{" + mailqueue.QueueName + "}:"

// relays starts so many relays without deliverers, whose clients for Redis have
// the hooks, and returns a function that stops them.
func (p *place) relays(n int, o mailqueue.Options, hooks ...redis.Hook) (stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	for range n {
		p.metrics = prometheus.NewRegistry()
		common := mailqueue.NewCommon(p.store, o, slog.New(slog.NewTextHandler(p.log, nil)), p.metrics)
		client := p.redis.Client()
		for _, h := range hooks {
			client.AddHook(h)
		}
		relay := mailqueue.NewRelay(common, client)
		g.Go(func() {
			if err := relay.Run(ctx); err != nil {
				p.t.Error(err)
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); g.Wait() })
	p.t.Cleanup(stop)
	return stop
}

// aMinutePasses makes the mails due again that were put on the queue.
func (p *place) aMinutePasses() {
	p.t.Helper()
	pgtest.Exec(p.t, p.url, `UPDATE mails SET next_at = now() WHERE state = 'pending' AND claimed_until IS NULL`)
}

// waitUntilRelayed waits until no mail is due that is due now. Others may become
// due meanwhile: on a busy machine a minute passes before the last is relayed.
func (p *place) waitUntilRelayed() {
	p.t.Helper()
	now := pgtest.Query[time.Time](p.t, p.url, `SELECT now()`)[0]
	testwait.Until(p.t, "no mail is due", func() bool {
		return pgtest.Query[int](p.t, p.url, `SELECT count(*)::int FROM mails WHERE state = 'pending' AND next_at <= $1`, now)[0] == 0
	})
}

// tasks returns the names of the tasks that a server has or will get, by mail.
func tasks(t *testing.T, c redis.UniversalClient) map[string][]string {
	t.Helper()
	byMail := make(map[string][]string)
	var all []*redis.StringSliceCmd
	if _, err := c.TxPipelined(t.Context(), func(r redis.Pipeliner) error {
		for _, list := range []string{"pending", "active"} {
			all = append(all, r.LRange(t.Context(), queueKeys+list, 0, -1))
		}
		for _, set := range []string{"scheduled", "retry"} {
			all = append(all, r.ZRange(t.Context(), queueKeys+set, 0, -1))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, ids := range all {
		for _, id := range ids.Val() {
			mail, _, _ := strings.Cut(id, ":")
			byMail[mail] = append(byMail[mail], id)
		}
	}
	return byMail
}

const listed = "on the list without its key"

// damages are what a partial loss can leave of a task.
var damages = map[string]func(ctx context.Context, c *redis.Client, id string){
	"gone from the list": func(ctx context.Context, c *redis.Client, id string) {
		c.LRem(ctx, queueKeys+"pending", 0, id)
	},
	"active without a lease": func(ctx context.Context, c *redis.Client, id string) {
		c.LRem(ctx, queueKeys+"pending", 0, id)
		c.LPush(ctx, queueKeys+"active", id)
		c.HSet(ctx, queueKeys+"t:"+id, "state", "active")
	},
	"active with a lease that is over": func(ctx context.Context, c *redis.Client, id string) {
		c.LRem(ctx, queueKeys+"pending", 0, id)
		c.LPush(ctx, queueKeys+"active", id)
		c.HSet(ctx, queueKeys+"t:"+id, "state", "active")
		c.ZAdd(ctx, queueKeys+"lease", redis.Z{Score: float64(time.Now().Add(-45 * time.Second).Unix()), Member: id})
	},
	"archived": func(_ context.Context, c *redis.Client, id string) {
		_ = asynq.NewInspectorFromRedisClient(c).ArchiveTask(mailqueue.QueueName, id) // what comes of it is looked at
	},
	"only its key": func(ctx context.Context, c *redis.Client, id string) {
		c.Del(ctx, queueKeys+"pending", queueKeys+"active")
		c.HDel(ctx, queueKeys+"t:"+id, "state")
	},
	listed: func(ctx context.Context, c *redis.Client, id string) {
		c.Del(ctx, queueKeys+"t:"+id)
	},
}

// TestATaskThatIsLostIsReplaced by two relays at once, of which one does it.
func TestATaskThatIsLostIsReplaced(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.redis.Client()
			p.confirm(1, 2)
			stop := p.relays(2, options)
			p.waitUntilRelayed()
			stop()
			before := tasks(t, c)
			lost := slices.Sorted(maps.Keys(before))[0]
			damage(t.Context(), c, before[lost][0])
			p.aMinutePasses()
			stop = p.relays(2, options)
			p.waitUntilRelayed()
			stop()
			for mail, names := range tasks(t, c) {
				if len(names) != 1 && name != listed { // which is on the list twice then
					t.Errorf("mail %s has the tasks %v", mail, names)
				}
			}
			p.worker(p.store, options)
			p.waitFor("sent 2")
			if tried, _ := p.counts(); tried != 2 {
				t.Errorf("%d attempts were made, want 2", tried)
			}
			if name != listed { // of which the second is dropped after minutes
				testwait.Until(t, "no task is left", func() bool { return len(tasks(t, c)) == 0 })
			}
		})
	}
}

// TestATaskThatComesBackAfterItWasReplaced claims nothing: its name is void.
func TestATaskThatComesBackAfterItWasReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1)
	due, err := p.store.MailsDue(t.Context(), 1)
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	if _, err := p.store.ReplaceTasks(t.Context(), due); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, p.url, `UPDATE mails SET next_at = now() + interval '1 hour'`)
	task := asynq.NewTask("mail:send", fmt.Appendf(nil, `{"mail_id": %q, "attempts": 0}`, due[0].ID))
	if err := p.client().Enqueue(t.Context(), task, asynq.Queue(mailqueue.QueueName)); err != nil {
		t.Fatal(err)
	}
	patient := options
	patient.Pace = 2 * time.Hour // no shorter time from the future is mended
	p.worker(p.store, patient)
	testwait.Until(t, "the task was handled", func() bool {
		q, err := asynq.NewInspectorFromRedisClient(p.redis.Client()).GetQueueInfo(mailqueue.QueueName)
		return err == nil && q.Processed == 1 && q.Size == 0
	})
	if tried, _ := p.counts(); tried != 0 {
		t.Errorf("%d attempts were made", tried)
	}
	pgtest.Exec(t, p.url, `UPDATE mails SET next_at = now()`)
	p.waitFor("sent 1")
}

// slowEnqueue is a hook that makes each enqueue take long.
type slowEnqueue struct{ redis.Hook }

func (slowEnqueue) DialHook(next redis.DialHook) redis.DialHook { return next }

func (slowEnqueue) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (slowEnqueue) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if words := cmd.Args(); len(words) > 4 && words[0] == "evalsha" && words[4] == queueKeys+"pending" {
			select {
			case <-time.After(2 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return next(ctx, cmd)
	}
}

// TestALookThatTakesTooLong finds mails whose tasks are on the queue already, more
// than it can ask for in its time. It notes those that it has come to, or every
// look would find the same ones and come no further.
func TestALookThatTakesTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1, 2, 3, 4)
	stop := p.relays(1, options)
	p.waitUntilRelayed()
	stop()
	p.aMinutePasses()
	p.relays(1, options, slowEnqueue{})
	p.waitUntilRelayed()
	for mail, names := range tasks(t, p.redis.Client()) {
		if len(names) != 1 {
			t.Errorf("mail %s has the tasks %v", mail, names)
		}
	}
}

// TestTenThousandMailsAndAServerThatHangs at RCPT for ten minutes: whatever two
// workers do meanwhile, no mail has two tasks.
func TestTenThousandMailsAndAServerThatHangs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const mails, minutes = 10_000, 10
	pgtest.Damage(t, p.url, `
		INSERT INTO requests (run_id, ticket, id, kind, status, name, email, email_key, accepted_at, decided_at)
		SELECT $1, n, gen_random_uuid(), 'register', 'confirmed', 'p', 'p' || n || '@example.org', 'p' || n || '@example.org', now(), now()
		FROM generate_series(1, $2::integer) n`, p.run, mails)
	pgtest.Damage(t, p.url, `INSERT INTO mails (run_id, ticket, kind) SELECT run_id, ticket, 'confirmed' FROM requests`)
	o := options
	o.SendTimeout, o.PerSecond, o.RetryMin, o.RetryMax = 100*time.Millisecond, 100_000, time.Hour, time.Hour
	p.says(func(enroll.Mail) error {
		time.Sleep(o.SendTimeout) //nolint:forbidigo // for so long the server does not answer
		return &enroll.SendError{Code: enroll.MailDeferred}
	})
	p.worker(p.store, o)
	p.worker(p.store, o)
	c := p.redis.Client()
	for minute := range minutes {
		p.waitUntilRelayed()
		onQueue := tasks(t, c)
		attempts := pgtest.Query[string](t, p.url, `SELECT id || ':' || attempts FROM mails`)
		if minute == 0 && len(onQueue) < mails/2 {
			t.Fatalf("only %d mails have a task", len(onQueue))
		}
		for _, made := range attempts {
			mail, _, _ := strings.Cut(made, ":")
			live := slices.DeleteFunc(onQueue[mail], func(id string) bool { return id == made }) // that attempt was made, or is being made
			if len(live) > 1 {
				t.Fatalf("in minute %d the mail %s has the tasks %v", minute, made, live)
			}
		}
		// What was put on the queue first, and what was tried, is looked at again.
		pgtest.Exec(t, p.url, `
			UPDATE mails SET next_at = now() WHERE claimed_until IS NULL
			  AND (attempts > 0 OR id = ANY(ARRAY(SELECT id FROM mails ORDER BY next_at LIMIT 1000)))`)
	}
	if tried, _ := p.counts(); tried == 0 {
		t.Error("nothing was tried")
	}
}

// TestTheClockIsSetBack by half an hour: mails that were written before are sent.
func TestTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confirm(1, 2)
	pgtest.Exec(t, p.url, `UPDATE mails SET due_at = due_at + interval '30 minutes', next_at = next_at + interval '30 minutes'`)
	p.worker(p.store, options)
	p.waitFor("sent 2")
}
