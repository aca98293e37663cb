package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/faultproxy"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// fault is one way in which something can break.
type fault struct {
	kind string
	// alone means that nothing else is broken meanwhile, so that it can be judged
	// what holds in spite of the fault.
	alone bool
	// impossible returns why this machine cannot make the fault, or "". nil = every
	// machine can.
	impossible func(s *system) string
	inject     injection
}

// injection breaks something, reports it once it is broken, and heals it before it
// returns, even if ctx ends.
type injection func(ctx context.Context, s *system, r *rand.Rand, report reporter) error

// reporter says what has been broken.
type reporter = func(format string, args ...any)

// frozen is longer than any timeout of ours.
const frozen = 12 * time.Second

// faults are all of them.
var faults = []fault{
	{kind: "api_killed", inject: kill((*system).randomAPI)},
	{kind: "worker_killed", inject: kill((*system).randomWorker)},
	{kind: "api_frozen", inject: freeze((*system).randomAPI)},
	{kind: "worker_frozen", inject: freeze((*system).randomWorker)},
	{kind: "rolling_restart", inject: restartAll},

	{kind: "redis_killed", inject: killRedis},
	{kind: "redis_frozen", inject: freezeRedis},
	{kind: "redis_flushed", inject: redisCommands("FLUSHALL")},
	{kind: "redis_clients_killed", inject: redisCommands("CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub")},
	{kind: "redis_full", inject: fillRedis},

	{kind: "postgres_restarted", inject: restartPostgres},
	{kind: "postgres_frozen", inject: freezePostgres},
	{kind: "lock_backend_frozen", inject: freezeLockBackend, alone: true},
	{kind: "line_held", inject: holdLine, alone: true},
	{kind: "disk_full", inject: fillDisk, impossible: func(s *system) string { return s.whyNoDisk }},
	{kind: "clock_set_back", inject: setClockBack},

	{kind: "cut", inject: cutConnection},
	{kind: "black_holed", inject: connectionFault(faultproxy.BlackHole)},
	{kind: "refused", inject: connectionFault(faultproxy.Refuse)},
	{kind: "delayed", inject: delayConnection},
	{kind: "reply_cut", inject: exchangeFault(faultproxy.CutReply)},
	{kind: "reply_lost", inject: exchangeFault(faultproxy.LoseReply)},
	{kind: "request_cut", inject: exchangeFault(faultproxy.CutRequest)},

	{kind: "run_moved", inject: moveRun},
	{kind: "address_corrected", inject: correctAddresses},

	{kind: "mail_hanging", inject: mailFault(mailsink.Fault{Hang: true})},
	{kind: "mail_deferred", inject: mailFault(mailsink.Fault{Rcpt: &mailsink.Reply{Code: 451, Text: "try again later"}})},
	{kind: "mail_unanswered", inject: mailFault(mailsink.Fault{HangAfterData: true})},
	{kind: "mail_task_vanished", inject: mailTaskFault(vanish)},
	{kind: "mail_task_archived", inject: mailTaskFault(archive)},
	{kind: "mail_task_without_lease", inject: mailTaskFault(activateWithoutLease)},
}

func faultKinds() (kinds []string) {
	for _, f := range faults {
		kinds = append(kinds, f.kind)
	}
	return kinds
}

// between draws a time.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// pause draws how long a fault lasts, reports it, and waits so long.
func pause(ctx context.Context, r *rand.Rand, least, most time.Duration, report reporter) {
	d := between(r, least, most)
	report("for %s", d.Round(10*time.Millisecond))
	proc.Sleep(ctx, d)
}
