package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// idleRuns is how many runs are open while no person comes.
const idleRuns = 10_000

// idleSettling is how long the programs are left alone before they are measured: by
// then they have finished starting.
const idleSettling = 3 * time.Second

// measureIdle measures the cost of waiting for registrations that do not come. It
// lasts longer than three sweeps over all runs.
func measureIdle(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	lasts := 30 * time.Second
	if p.quick {
		lasts = 3 * time.Second
	}
	runs := make([]rivals.Run, idleRuns)
	for i := range runs {
		runs[i] = rivals.Run{Slug: fmt.Sprintf("idle-%d", i+1), Seats: 30}
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	err := b.withLastseat(ctx, runs, func(ctx context.Context, l *lastseat) error {
		b.tool.Log.Printf("%s: nothing happens for %s", c.id, idleSettling+lasts)
		if err := b.checkpoint(ctx); err != nil {
			return err
		}
		if !proc.Sleep(ctx, idleSettling) {
			return context.Cause(ctx)
		}
		s, err := b.idleTrial(ctx, l, lasts)
		out.Lastseat.Samples = append(out.Lastseat.Samples, s)
		return err
	})
	return out, err
}

// idleTrial measures what Lastseat and the services do for so long.
func (b *testbed) idleTrial(ctx context.Context, l *lastseat, lasts time.Duration) (report.Sample, error) {
	before, err := b.operations(ctx, l)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	meter := b.startMeter(l.pids())
	if !proc.Sleep(ctx, lasts) {
		return nil, context.Cause(ctx)
	}
	s := report.Sample{}
	took := time.Since(began)
	used := meter.Used()
	for part, metric := range map[proc.Part]report.Metric{
		proc.PartAPI: report.APIShare, proc.PartWorker: report.WorkerShare, proc.PartPostgres: report.PostgresShare, proc.PartRedis: report.RedisShare,
	} {
		if x, known := used[part]; known {
			s[metric] = 100 * x.Seconds() / took.Seconds()
		}
	}
	now, err := b.operations(ctx, l)
	if err != nil {
		return nil, err
	}
	for m, x := range now {
		s[m] = (x - before[m]) / took.Seconds()
	}
	return s, nil
}

// operations returns how much Redis and Lastseat's database have done so far.
func (b *testbed) operations(ctx context.Context, l *lastseat) (report.Sample, error) {
	s := report.Sample{}
	var transactions int64
	err := b.admin.QueryRow(ctx, `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`, l.conn.Config().Database).Scan(&transactions)
	if err != nil {
		return nil, fmt.Errorf("reading what Postgres has done: %w", err)
	}
	s[report.PostgresOps] = float64(transactions)
	info, err := b.redis.Info(ctx, "stats").Result()
	if err != nil {
		return nil, fmt.Errorf("reading what Redis has done: %w", err)
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "total_commands_processed:"); ok {
			if s[report.RedisOps], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("reading what Redis has done: %w", err)
			}
		}
	}
	return s, nil
}
