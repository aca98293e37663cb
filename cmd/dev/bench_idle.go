package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

// idleRuns is how many runs are open while nobody comes.
const idleRuns = 10_000

// idleSettling is how long the programs are left alone before they are measured:
// by then what belongs to their start is over.
const idleSettling = 3 * time.Second

// measureIdle measures what it costs that registration could come, and does not.
// It lasts over three sweeps of all runs.
func measureIdle(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	lasts := 30 * time.Second
	if plan.quick {
		lasts = 3 * time.Second
	}
	runs := make([]rivals.Run, idleRuns)
	for i := range runs {
		runs[i] = rivals.Run{Slug: fmt.Sprintf("idle-%d", i+1), Seats: 30}
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	err := a.withLastseat(ctx, runs, func(ctx context.Context, l *lastseat) error {
		a.t.log.printf("%s: nothing happens for %s", c.id, idleSettling+lasts)
		if err := a.checkpoint(ctx); err != nil {
			return err
		}
		if !sleep(ctx, idleSettling) {
			return context.Cause(ctx)
		}
		before, err := a.operations(ctx, l)
		if err != nil {
			return err
		}
		began := time.Now()
		meter := a.startMeter(l.pids)
		if !sleep(ctx, lasts) {
			return context.Cause(ctx)
		}
		s := report.Sample{}
		took := time.Since(began)
		used := meter.used()
		for of, as := range map[part]report.Metric{
			partAPI: report.APIShare, partWorker: report.WorkerShare, partPostgres: report.PostgresShare, partRedis: report.RedisShare,
		} {
			if x, known := used[of]; known {
				s[as] = 100 * x.Seconds() / took.Seconds()
			}
		}
		now, err := a.operations(ctx, l)
		if err != nil {
			return err
		}
		for m, x := range now {
			s[m] = (x - before[m]) / took.Seconds()
		}
		out.Lastseat.Samples = append(out.Lastseat.Samples, s)
		return nil
	})
	return out, err
}

// operations returns what Redis and the database of Lastseat have done so far.
func (a *arena) operations(ctx context.Context, l *lastseat) (report.Sample, error) {
	s := report.Sample{}
	var transactions int64
	err := a.admin.QueryRow(ctx, `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`, l.conn.Config().Database).Scan(&transactions)
	if err != nil {
		return nil, wrap("reading what Postgres has done", err)
	}
	s[report.PostgresOps] = float64(transactions)
	info, err := a.cache.Info(ctx, "stats").Result()
	if err != nil {
		return nil, wrap("reading what Redis has done", err)
	}
	for line := range strings.Lines(info) {
		if text, is := strings.CutPrefix(strings.TrimSpace(line), "total_commands_processed:"); is {
			if s[report.RedisOps], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, wrap("reading what Redis has done", err)
			}
		}
	}
	return s, nil
}
