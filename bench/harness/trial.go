package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// connections is how many connections ask at once.
const connections = 256

// warmRun is a run in every database. Before a measurement, people ask for its
// seats until connections are open and statements are prepared. It has few seats,
// so that its mails are soon sent.
var warmRun = rivals.Run{Slug: "warm", Seats: 16}

// warmUp is how long that takes at most.
const warmUp = 300 * time.Millisecond

// system is a contender that runs.
type system interface {
	address() string // host:port of its HTTP server
	pids() map[proc.Part]int
	mayBeCut() bool // it need not decide every request
	// undecided reports whether a request that was accepted is not decided. accepted
	// is how many were accepted so far.
	undecided(ctx context.Context, accepted int) (bool, error)
	// judge compares the answers with the tables and adds numbers from the tables to
	// the sample. told is how often each status was answered.
	judge(ctx context.Context, told map[int]int, sample report.Sample) (lastDecided time.Time, err error)
}

// trial measures a contender once: it warms up, lets the people ask, and waits
// until every request is decided.
func (b *testbed) trial(ctx context.Context, s system, w workload) (report.Sample, error) {
	client, err := load.Dial(ctx, s.address(), connections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	before, err := warm(ctx, client, s)
	if err != nil {
		return nil, err
	}
	requests := w.requests()
	if err := b.checkpoint(ctx); err != nil {
		return nil, err
	}

	meter := b.startMeter(s.pids())
	answers, err := client.Ask(ctx, load.Job{Requests: requests, For: w.limit})
	if err != nil {
		return nil, err
	}
	sample := report.Sample{}
	t := sumUp(answers, sample)
	t.accepted += before
	if err := awaitDecisions(ctx, s, t, w.limit); err != nil {
		return nil, err
	}
	used := meter.Used()
	last, err := s.judge(ctx, t.told, sample)
	if err != nil {
		return nil, err
	}
	noteCPU(sample, used, t.answered)
	if !last.IsZero() {
		// From the first request on: database and client have the same clock.
		sample[report.Decided] = report.PerSecond(int(sample[decidedCount]), last.Sub(t.first))
	}
	dropCounts(sample)
	return sample, nil
}

// Numbers that judge adds to a sample for the harness alone.
const (
	decidedCount report.Metric = "decided"
	seatedCount  report.Metric = "seated"
)

func dropCounts(sample report.Sample) {
	delete(sample, decidedCount)
	delete(sample, seatedCount)
}

// noteCPU adds the CPU time per request and per person with a seat.
func noteCPU(sample report.Sample, used proc.CPUTimes, requests int) {
	programs := []proc.Part{proc.PartAPI, proc.PartWorker}
	if _, ok := used[proc.PartRival]; ok {
		programs = []proc.Part{proc.PartRival}
	}
	note := func(m report.Metric, count float64, parts ...proc.Part) {
		if total, known := used.Sum(parts...); known && count > 0 {
			sample[m] = report.Milliseconds(total) / count
		}
	}
	note(report.CPU, float64(requests), programs...)
	note(report.CPUPostgres, float64(requests), proc.PartPostgres)
	note(report.CPURedis, float64(requests), proc.PartRedis)
	note(report.CPUClient, float64(requests), proc.PartClient)
	note(report.CPUSeated, sample[seatedCount], append(programs, proc.PartPostgres, proc.PartRedis, proc.PartClient)...)
}

// decisionInterval is the time between two looks for undecided requests, which
// cost the contender something.
const decisionInterval = 50 * time.Millisecond

// awaitDecisions waits until every request is decided. A rival that may be cut is
// left alone at its limit: its rate is known by then.
func awaitDecisions(ctx context.Context, s system, t totals, limit time.Duration) error {
	cut := s.mayBeCut() && limit > 0
	end := time.Now().Add(time.Minute)
	if cut {
		end = t.first.Add(limit)
	}
	for {
		// Not with a context that ends at the limit: it would close the connection.
		waits, err := s.undecided(ctx, t.accepted)
		switch {
		case err != nil:
			return fmt.Errorf("waiting for the decisions: %w", err)
		case !waits, cut && time.Now().After(end):
			return nil
		case time.Now().After(end):
			return errors.New("not everything was decided within a minute")
		case !proc.Sleep(ctx, decisionInterval):
			return context.Cause(ctx)
		}
	}
}

// warm lets people ask for seats of warmRun, waits for the decisions, and returns
// how many requests were accepted.
func warm(ctx context.Context, client *load.Client, s system) (accepted int, err error) {
	each := 4
	if r, ok := s.(*rival); ok && r.Async && r.Name != rivals.Ceiling {
		each = 1 // it decides one after the other
	}
	requests := make([][]byte, each*connections)
	for i := range requests {
		requests[i] = request(warmRun.Slug, i)
	}
	answers, err := client.Ask(ctx, load.Job{Requests: requests, For: warmUp})
	if err != nil {
		return 0, fmt.Errorf("warming up: %w", err)
	}
	t := sumUp(answers, report.Sample{})
	return t.accepted, awaitDecisions(ctx, s, t, 0)
}

// totals is what the answers come to.
type totals struct {
	first    time.Time   // when the first request was sent
	told     map[int]int // how often each status was answered
	answered int
	accepted int // with 202; with those before, if there were any
}

// sumUp adds up the answers and notes in the sample how fast they came.
func sumUp(answers []load.Answer, sample report.Sample) totals {
	t := totals{told: make(map[int]int)}
	var took []time.Duration
	var last time.Time
	for _, a := range answers {
		if a.Received.IsZero() {
			continue
		}
		if t.first.IsZero() || a.Sent.Before(t.first) {
			t.first = a.Sent
		}
		if a.Received.After(last) {
			last = a.Received
		}
		t.told[a.Status]++
		if a.Status < http.StatusInternalServerError { // a person who is turned away is not served
			took = append(took, a.Took())
		}
	}
	t.answered, t.accepted = len(took), t.told[http.StatusAccepted]
	sample[report.Accepted] = report.PerSecond(t.answered, last.Sub(t.first))
	sample[report.AnsweredP50] = report.Percentile(took, 0.50)
	sample[report.AnsweredP99] = report.Percentile(took, 0.99)
	return t
}
