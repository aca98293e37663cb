package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lastseat/lastseat/internal/faultproxy"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// fault is one way in which something can break.
type fault struct {
	kind string
	// alone means that nothing else is broken meanwhile, so that what is promised in
	// spite of it can be judged.
	alone bool
	// impossible returns why the fault cannot be made on this machine, or "". It is
	// nil if the fault can be made everywhere.
	impossible func(s *site) string
	// do breaks something, says what by tell once it is broken, and heals it before it returns, also when ctx ends.
	do func(ctx context.Context, s *site, r *rand.Rand, tell teller) error
}

// frozen is longer than any timeout of ours.
const frozen = 12 * time.Second

// faults are all of them.
var faults = []fault{
	{kind: "api_killed", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return killed(ctx, r, s.anAPI(r), tell)
	}},
	{kind: "worker_killed", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return killed(ctx, r, s.aWorker(r), tell)
	}},
	{kind: "api_frozen", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return frozenFor(ctx, s.anAPI(r), tell)
	}},
	{kind: "worker_frozen", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return frozenFor(ctx, s.aWorker(r), tell)
	}},
	{kind: "rolling_restart", do: rollingRestart},

	{kind: "redis_killed", do: redisKilled},
	{kind: "redis_frozen", do: redisFrozen},
	{kind: "redis_flushed", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return s.tellRedis(ctx, tell, "FLUSHALL")
	}},
	{kind: "redis_clients_killed", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		return s.tellRedis(ctx, tell, "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub")
	}},
	{kind: "redis_full", do: redisFull},

	{kind: "postgres_restarted", do: postgresRestarted},
	{kind: "postgres_frozen", do: postgresFrozen},
	{kind: "lock_backend_frozen", do: lockBackendFrozen, alone: true},
	{kind: "line_held", do: lineHeld, alone: true},
	{kind: "disk_full", do: diskFull, impossible: (*site).whyNoFullDisk},
	{kind: "clock_set_back", do: clockSetBack},

	{kind: "cut", do: func(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
		m, way, name := s.aWay(r)
		defer m.Unlock()
		tell("%s", name)
		way.Cut()
		return nil
	}},
	{kind: "black_holed", do: lasting(faultproxy.BlackHole)},
	{kind: "refused", do: lasting(faultproxy.Refuse)},
	{kind: "delayed", do: delayed},
	{kind: "reply_cut", do: once(faultproxy.CutReply)},
	{kind: "reply_lost", do: once(faultproxy.LoseReply)},
	{kind: "request_cut", do: once(faultproxy.CutRequest)},

	{kind: "run_moved", do: runMoved},
	{kind: "address_corrected", do: addressCorrected},

	{kind: "mail_hanging", do: misbehaving(mailsink.Fault{Hang: true})},
	{kind: "mail_deferred", do: misbehaving(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 451, Text: "try again later"}})},
	{kind: "mail_unanswered", do: misbehaving(mailsink.Fault{HangAfterData: true})},
	{kind: "mail_task_vanished", do: mailTasks(vanish)},
	{kind: "mail_task_archived", do: mailTasks(archive)},
	{kind: "mail_task_without_lease", do: mailTasks(activateWithoutLease)},
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
