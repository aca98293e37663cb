package lane_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

// The conversations with Redis, by the words of their commands. Asynq's are
// scripts, told apart by their keys.
func publishes(command []string) bool { return command[0] == "publish" }
func enqueues(command []string) bool {
	return command[0] == "evalsha" && command[2] == "2" && strings.HasSuffix(command[4], ":pending")
}
func dequeues(command []string) bool {
	return command[0] == "evalsha" && command[2] == "4" && strings.HasSuffix(command[4], ":paused")
}
func acknowledges(command []string) bool {
	return command[0] == "evalsha" && command[2] == "5" && strings.HasSuffix(command[7], ":processed")
}

// loses has the next command that is the one meant meet a fault on a connection of
// its own.
func (p *place) loses(detour *redistest.Detour, is func([]string) bool, fault pgtest.Fault) {
	p.t.Helper()
	proxy := pgtest.NewProxy(p.t, p.redis.URL())
	r, err := taskqueue.ParseRedis(proxy.URL(), time.Second)
	if err != nil {
		p.t.Fatal(err)
	}
	c := r.Open()
	p.t.Cleanup(func() { _ = c.Close() })
	detour.Set(is, func(ctx context.Context, cmd redis.Cmder) error {
		if err := c.Ping(ctx).Err(); err != nil { // the connection stands
			return err
		}
		proxy.Set(fault)
		return c.Process(ctx, cmd)
	})
}

// TestTimingANotificationIsLost: whatever of it gets through, requests are decided,
// and nothing stays on the queue.
func TestTimingANotificationIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		is    func([]string) bool
		fault pgtest.Fault
		sweep bool // nobody else can have it settled
	}{
		{"the task, on its way", enqueues, pgtest.CutRequest, true},
		{"the answer to the task", enqueues, pgtest.CutReply, false},
		{"the wake-up, on its way", publishes, pgtest.CutRequest, false},
		{"the answer to the wake-up", publishes, pgtest.CutReply, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(2))
			w := p.worker(p.store, attentive)
			detour := new(redistest.Detour)
			p.client.AddHook(detour) // which is the sender's, too
			p.ask("a", 1)            // Redis knows the script
			p.waitUntilDrained()
			testwait.Until(t, "no lane is left", func() bool { return w.lanes() == 0 })
			p.loses(detour, test.is, test.fault)
			byTask := w.settled("task")
			p.ask("a", 2)
			p.waitUntilDrained()
			if !detour.Taken() {
				t.Error("nothing was lost")
			}
			waitUntilSettled(t, 2, w)
			if test.sweep && w.settled("task") != byTask {
				t.Error("it was settled by a task that nobody can have")
			}
			p.askUntil("a", 3, func() bool { return p.queue("a").Size == 0 })
			p.promiseNobodyWaited()
			pgtest.RequireSound(t, p.url)
		})
	}
}

// askUntil has people from n on ask, one after the other, until it is so, and
// returns who is next. Often the first suffices: but a lane that does not get a
// turn on a busy machine may end before it has served a task, and if the sweep has
// settled the line meanwhile, only the next request brings another lane.
func (p *place) askUntil(slug string, n int, is func() bool) int {
	p.t.Helper()
	asking := true
	testwait.Until(p.t, "what a request brings about", func() bool {
		if asking {
			p.ask(slug, n)
			n++
			p.waitUntilDrained()
		}
		done := is()
		asking = p.laneLocks() == 0
		return done
	})
	return n
}

// promiseNobodyWaited asserts that every request was decided as soon as the sweep
// of an attentive worker finds it.
func (p *place) promiseNobodyWaited() {
	p.t.Helper()
	const longest = time.Second + 500*time.Millisecond + slack
	took := pgtest.Query[float64](p.t, p.url, `SELECT max(extract(epoch FROM decided_at - accepted_at))::float8 FROM requests`)[0]
	testwait.Promised(p.t, "the slowest decision", time.Duration(took*float64(time.Second)), longest)
}

// TestTimingAWordBetweenALaneAndItsQueueIsLost: a task that was handed out to nobody, or
// not acknowledged, holds up nobody and comes again a minute later.
func TestTimingAWordBetweenALaneAndItsQueueIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		is     func([]string) bool
		fault  pgtest.Fault
		orphan bool // the task is left as if somebody handled it
	}{
		{"the lane asks for a task", dequeues, pgtest.CutRequest, false},
		{"the lane gets a task", dequeues, pgtest.CutReply, true},
		{"the lane acknowledges a task", acknowledges, pgtest.CutRequest, true},
		{"the acknowledgement is answered", acknowledges, pgtest.CutReply, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(2))
			detour := new(redistest.Detour)
			p.queues = p.connector().OpenForServers()
			p.queues.AddHook(detour)
			w := p.worker(p.store, func(o *lane.Options) { attentive(o); o.LaneIdle = time.Second })
			empty := func() bool { return p.queue("a").Size == 0 }
			n := p.askUntil("a", 1, empty) // Redis knows the scripts
			p.loses(detour, func(command []string) bool {
				// Lanes ask all the time, and only an answer with a task in it matters.
				return test.is(command) && (!dequeues(command) || p.client.LLen(t.Context(), command[3]).Val() > 0)
			}, test.fault)
			n = p.askUntil("a", n, detour.Taken)
			if test.orphan {
				// It is all that is left. A task that was just handled looks like it for an
				// instant, in which its lease is gone already.
				const leases = "asynq:{run:a}:lease"
				var tasks []string
				n = p.askUntil("a", n, func() bool {
					tasks = p.client.ZRange(t.Context(), leases, 0, -1).Val()
					q := p.queue("a")
					return q.Size == 1 && q.Active == 1 && len(tasks) == 1
				})
				// A minute passes.
				over := redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: tasks[0]}
				if err := p.client.ZAddXX(t.Context(), leases, over).Err(); err != nil {
					t.Fatal(err)
				}
			}
			n = p.askUntil("a", n, empty)
			waitUntilSettled(t, float64(n-1), w) // each of them once
			p.promiseNobodyWaited()
			pgtest.RequireSound(t, p.url)
		})
	}
}
