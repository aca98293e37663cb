package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/faultproxy"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// fault is one way in which something can break.
type fault struct {
	kind string
	// do breaks something, says what by tell once it is broken, and heals it before it returns, also when ctx ends.
	do func(ctx context.Context, s *site, r *rand.Rand, tell teller) error
}

// frozen is longer than any timeout of ours.
const frozen = 12 * time.Second

// faults are all of them.
var faults = []fault{
	{"api_killed", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return killed(ctx, r, s.anAPI(r), tell)
	}},
	{"worker_killed", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return killed(ctx, r, s.aWorker(r), tell)
	}},
	{"api_frozen", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return frozenFor(ctx, s.anAPI(r), tell)
	}},
	{"worker_frozen", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return frozenFor(ctx, s.aWorker(r), tell)
	}},
	{"rolling_restart", rollingRestart},

	{"redis_killed", redisKilled},
	{"redis_frozen", redisFrozen},
	{"redis_flushed", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return s.tellRedis(ctx, tell, "FLUSHALL")
	}},
	{"redis_clients_killed", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return s.tellRedis(ctx, tell, "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub")
	}},
	{"redis_full", redisFull},
	{"postgres_restarted", postgresRestarted},

	{"cut", func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		m, way, name := s.aWay(r)
		defer m.Unlock()
		tell("%s", name)
		way.Cut()
		return nil
	}},
	{"black_holed", lasting(faultproxy.BlackHole)},
	{"refused", lasting(faultproxy.Refuse)},
	{"delayed", delayed},
	{"reply_cut", once(faultproxy.CutReply)},
	{"reply_lost", once(faultproxy.LoseReply)},
	{"request_cut", once(faultproxy.CutRequest)},

	{"mail_hanging", misbehaving(mailsink.Fault{Hang: true})},
	{"mail_deferred", misbehaving(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 451, Text: "try again later"}})},
	{"mail_unanswered", misbehaving(mailsink.Fault{HangAfterData: true})},
}

// teller says what has been broken.
type teller = func(format string, args ...any)

// between draws a time.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// anAPI and aWorker return one that no other fault has hold of until it is
// unlocked.
func (s *site) anAPI(r *rand.Rand) *member   { return hold(s.members[r.IntN(chaosAPIs)]) }
func (s *site) aWorker(r *rand.Rand) *member { return hold(s.members[chaosAPIs+r.IntN(chaosWorkers)]) }

func hold(m *member) *member {
	m.Lock()
	return m
}

// aWay returns the way of a program to a service, and what to call it. The
// program is to be unlocked.
func (s *site) aWay(r *rand.Rand) (*member, *faultproxy.Proxy, string) {
	m := hold(s.members[r.IntN(len(s.members))])
	if r.IntN(2) == 0 {
		return m, m.toLedger, m.name + " to Postgres"
	}
	return m, m.toRedis, m.name + " to Redis"
}

func killed(ctx context.Context, r *rand.Rand, m *member, tell teller) error {
	defer m.Unlock()
	m.process.kill()
	tell("%s", m.name)
	sleep(ctx, between(r, 200*time.Millisecond, 2*time.Second))
	return m.start()
}

func frozenFor(ctx context.Context, m *member, tell teller) error {
	defer m.Unlock()
	m.process.freeze()
	defer m.process.thaw()
	tell("%s for %s", m.name, frozen)
	sleep(ctx, frozen)
	return nil
}

// rollingRestart stops one program after the other in order, and starts it again.
func rollingRestart(ctx context.Context, s *site, _ *rand.Rand, tell teller) error {
	tell("one program after the other")
	for _, m := range s.members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := restart(ctx, hold(m)); err != nil {
			return err
		}
	}
	return nil
}

func restart(ctx context.Context, m *member) error {
	defer m.Unlock()
	// One that was started this instant cannot know yet what SIGTERM means.
	if err := awaitAnswer(ctx, m.process, 10*time.Second, m.alive); err != nil {
		return err
	}
	if !m.process.halt() || m.process.err != nil {
		return fmt.Errorf("%s was told to stop and did not end as it should: %w", m.name, errOr(m.process.err, "it took too long"))
	}
	if err := m.start(); err != nil {
		return err
	}
	// What it needs may be away just now. It comes back.
	_ = within(ctx, 10*time.Second, func(ctx context.Context) error { return awaitAnswer(ctx, m.process, time.Minute, m.ready) })
	return nil
}

func redisKilled(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.process.kill()
	away := between(r, 500*time.Millisecond, 3*time.Second)
	tell("and empty %s later", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.redis.start(context.WithoutCancel(ctx), s.family)
}

func redisFrozen(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.process.freeze()
	defer s.redis.process.thaw()
	away := between(r, 2*time.Second, 6*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}

// tellRedis has Redis do something by itself.
func (s *site) tellRedis(ctx context.Context, tell teller, commands ...string) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	tell("%s", strings.Join(commands, ", "))
	return s.command(ctx, commands...)
}

// command sends Redis commands, past the proxies. The caller has hold of it.
func (s *site) command(ctx context.Context, commands ...string) error {
	o, err := redis.ParseURL(s.redisURL)
	if err != nil {
		return err
	}
	client := redis.NewClient(o)
	defer client.Close()
	for _, c := range commands {
		var words []any
		for _, word := range strings.Fields(c) {
			words = append(words, word)
		}
		if err := client.Do(context.WithoutCancel(ctx), words...).Err(); err != nil {
			return fmt.Errorf("telling Redis %s: %w", c, err)
		}
	}
	return nil
}

func redisFull(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	if err := s.command(ctx, "CONFIG SET maxmemory 1"); err != nil {
		return err
	}
	away := between(r, 2*time.Second, 5*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.command(ctx, "CONFIG SET maxmemory 0")
}

// postgresRestarted stops Postgres as `pg_ctl stop -m immediate` does, which to
// it is a crash.
func postgresRestarted(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	p := s.postgres.process
	p.stopping.Store(true)
	if err := syscall.Kill(p.pid, syscall.SIGQUIT); err != nil { // the postmaster, which tells its children
		return err
	}
	<-p.ended
	away := between(r, 100*time.Millisecond, 2*time.Second)
	tell("immediately, and back %s later", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.postgres.start(context.WithoutCancel(ctx), s.family)
}

// lasting is a fault of a way that lasts for a while.
func lasting(f faultproxy.Fault) func(context.Context, *site, *rand.Rand, teller) error {
	return func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		m, way, name := s.aWay(r)
		defer m.Unlock()
		away := between(r, time.Second, 6*time.Second)
		way.Set(f)
		tell("%s for %s", name, away.Round(10*time.Millisecond))
		sleep(ctx, away)
		way.Set(faultproxy.None)
		way.Cut() // nothing of what went on meanwhile is whole
		return nil
	}
}

// once is a fault of a way that happens to the next who passes, if anybody does.
func once(f faultproxy.Fault) func(context.Context, *site, *rand.Rand, teller) error {
	return func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		m, way, name := s.aWay(r)
		defer m.Unlock()
		defer way.Set(faultproxy.None)
		tell("%s, thrice", name)
		for range 3 {
			way.Set(f)
			sleep(ctx, between(r, 100*time.Millisecond, time.Second))
		}
		return nil
	}
}

func delayed(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	m, way, name := s.aWay(r)
	defer m.Unlock()
	delay, away := between(r, 20*time.Millisecond, 500*time.Millisecond), between(r, time.Second, 5*time.Second)
	way.Delay(delay)
	defer way.Delay(0)
	tell("%s by %s for %s", name, delay.Round(time.Millisecond), away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}

func misbehaving(f mailsink.Fault) func(context.Context, *site, *rand.Rand, teller) error {
	return func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		s.sink.turn.Lock()
		defer s.sink.turn.Unlock()
		away := between(r, time.Second, 4*time.Second)
		s.sink.Misbehave(f)
		defer s.sink.Misbehave(mailsink.Fault{})
		tell("for %s", away.Round(10*time.Millisecond))
		sleep(ctx, away)
		return nil
	}
}

// faultRecord is a fault that was.
type faultRecord struct {
	kind     string
	from, to time.Time // from is zero if it did not come to that
}

// hands is how many break things at once.
const hands = 3

// chance is where faults come from: every kind comes before one comes again.
type chance struct {
	site  *site
	seed  uint64
	began time.Time

	mu      sync.Mutex
	times   *rand.Rand
	shuffle *rand.Rand // of the deck alone: how often the times are drawn depends on how long things take
	deck    []int
	records []faultRecord
}

// breakThings goes on for as long as the plan says, in rounds: several hands
// break things, one upon the other, and after a while nothing is wrong for a
// moment.
func (s *site) breakThings(ctx context.Context, plan chaosPlan) ([]faultRecord, error) {
	c := &chance{
		site: s, seed: plan.seed, began: time.Now(),
		times:   rand.New(rand.NewPCG(plan.seed, 4)), //nolint:gosec // it is to be the same again
		shuffle: rand.New(rand.NewPCG(plan.seed, 5)), //nolint:gosec // the same
	}
	end := c.began.Add(time.Duration(plan.seconds) * time.Second)
	for sleep(ctx, c.time(time.Second, 2*time.Second)) && time.Now().Before(end) {
		round := time.Now().Add(c.time(5*time.Second, 15*time.Second))
		if round.After(end) {
			round = end
		}
		g, all := errgroup.WithContext(ctx)
		for range hands {
			g.Go(func() error {
				for sleep(all, c.time(0, time.Second)) && time.Now().Before(round) {
					if err := c.strike(all); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return c.records, ctx.Err()
}

func (c *chance) time(least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return between(c.times, least, most)
}

// strike makes the next fault and heals it.
func (c *chance) strike(ctx context.Context) error {
	c.mu.Lock()
	if len(c.deck) == 0 {
		c.deck = c.shuffle.Perm(len(faults))
	}
	f := faults[c.deck[0]]
	c.deck = c.deck[1:]
	number := len(c.records)
	c.records = append(c.records, faultRecord{kind: f.kind})
	c.mu.Unlock()

	var from time.Time
	r := rand.New(rand.NewPCG(c.seed, 1<<33+uint64(number))) //nolint:gosec // it is to be the same again
	err := f.do(ctx, c.site, r, func(format string, args ...any) {
		from = time.Now()
		c.site.tool.log.printf("+%5.1f s  %s  %s", from.Sub(c.began).Seconds(), f.kind, fmt.Sprintf(format, args...))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[number].from, c.records[number].to = from, time.Now()
	return wrap(f.kind, err)
}
