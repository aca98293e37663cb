package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/enroll"
)

// latencyRivals are those that lone requests and trickles are compared with.
var latencyRivals = []string{"guarded", "guarded_recording", "asynq", "river"}

// trickleInterval is the time between two requests of a trickle.
const trickleInterval = 100 * time.Millisecond

// measureLone has one person at a time ask, each for another run, where no lane is
// alive.
func measureLone(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	times := 40
	if plan.quick {
		times = 5
	}
	r := rushOf{people: times, runs: times, seats: times}
	return a.measureLatency(ctx, c, plan, r, func(ctx context.Context, client *load.Client, ask asker) ([]time.Duration, error) {
		var took []time.Duration
		for i := range times {
			if !sleep(ctx, 20*time.Millisecond) {
				return nil, context.Cause(ctx)
			}
			d, err := ask(ctx, client.Conn(0), request(r.slug(i), i))
			if err != nil {
				return nil, err
			}
			took = append(took, d)
		}
		return took, nil
	})
}

// measureTrickle has somebody ask at every tick, whether or not those before have
// heard of their outcome.
func measureTrickle(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	times := 100
	if plan.quick {
		times = 20
	}
	r := rushOf{people: times, runs: 1, seats: times}
	return a.measureLatency(ctx, c, plan, r, func(ctx context.Context, client *load.Client, ask asker) ([]time.Duration, error) {
		free := make(chan *load.Conn, latencyConnections)
		for i := range latencyConnections {
			free <- client.Conn(i)
		}
		took, failed := make([]time.Duration, times), make([]error, times)
		var people sync.WaitGroup
		defer people.Wait()
		tick := time.NewTicker(trickleInterval)
		defer tick.Stop()
		for i := range times {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			began := time.Now() // waiting for a connection counts, too
			people.Go(func() {
				conn := <-free
				defer func() { free <- conn }()
				if _, failed[i] = ask(ctx, conn, request(r.slug(0), i)); failed[i] == nil {
					took[i] = time.Since(began)
				}
			})
		}
		people.Wait()
		for _, err := range failed {
			if err != nil {
				return nil, err
			}
		}
		return took, nil
	})
}

// latencyConnections is how many people of a trickle can wait at once.
const latencyConnections = 32

// asker asks for a seat and returns how long it took to hear of the outcome.
type asker func(ctx context.Context, conn *load.Conn, request []byte) (time.Duration, error)

// measureLatency measures, in turns, how long one request takes while there are few.
func (a *arena) measureLatency(ctx context.Context, c benchCase, plan benchPlan, r rushOf,
	people func(context.Context, *load.Client, asker) ([]time.Duration, error),
) (*report.Case, error) {
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	names := latencyRivals
	if plan.quick {
		names = names[:1]
	}
	for _, name := range names {
		who, _ := rivals.Find(name)
		out.Rivals = append(out.Rivals, &report.Entrant{
			Name: name, Lacks: who.Lacks, Recording: who.Recording, Pool: min(usualPool, slices.Max(who.Pools)),
		})
	}
	for round := range plan.rounds {
		err := a.withLastseat(ctx, r.runsOf(), func(ctx context.Context, l *lastseat) error {
			s, err := a.latency(ctx, l, people, askAndPoll)
			out.Lastseat.Samples = append(out.Lastseat.Samples, s)
			a.sayLatency(c, round, plan, "Lastseat", s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("measuring Lastseat: %w", err)
		}
		for _, e := range out.Rivals {
			who, _ := rivals.Find(e.Name)
			err := a.withRival(ctx, who, e.Pool, r, func(ctx context.Context, v *rival) error {
				s, err := a.latency(ctx, v, people, askOnly)
				e.Samples = append(e.Samples, s)
				a.sayLatency(c, round, plan, e.Name, s)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", e.Name, err)
			}
		}
	}
	return out, nil
}

// latency is a cell in which people come one by one.
func (a *arena) latency(ctx context.Context, s staged, people func(context.Context, *load.Client, asker) ([]time.Duration, error), ask asker) (report.Sample, error) {
	client, err := load.Dial(ctx, s.address(), latencyConnections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	before, err := a.warm(ctx, client, s)
	if err != nil {
		return nil, err
	}
	if err := a.checkpoint(ctx); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, client.Interrupt)()
	took, err := people(ctx, client, ask)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	told := map[int]int{http.StatusAccepted: len(took)}
	if v, is := s.(*rival); is && !v.Async {
		told = map[int]int{http.StatusCreated: len(took)}
	}
	if err := awaitDecisions(ctx, s, sum{accepted: before + len(took)}, 0); err != nil {
		return nil, err
	}
	sample := report.Sample{}
	if _, err := s.judge(ctx, told, sample); err != nil {
		return nil, err
	}
	delete(sample, decidedCount)
	delete(sample, seatedCount)
	if v, is := s.(*rival); is && v.Async {
		return sample, nil // from accepted to decided, as its table has it
	}
	sample[report.DecidedP50], sample[report.DecidedP99] = report.Percentile(took, 0.50), report.Percentile(took, 0.99)
	return sample, nil
}

// askAndPoll asks Lastseat and waits for the outcome by long poll.
func askAndPoll(_ context.Context, conn *load.Conn, request []byte) (time.Duration, error) {
	began := time.Now()
	status, _, body, err := conn.Do(request)
	if err != nil {
		return 0, err
	}
	var r registration
	if err := json.Unmarshal(body, &r); err != nil || status != http.StatusAccepted || r.ID == uuid.Nil {
		return 0, fmt.Errorf("asking for a seat: status %d, %s", status, body)
	}
	status, _, body, err = conn.Do(load.Get("/v1/registrations/"+r.ID.String()+"?wait=10", ""))
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(body, &r); err != nil || status != http.StatusOK || r.Status != enroll.Confirmed {
		return 0, fmt.Errorf("waiting for the outcome: status %d, %s", status, body)
	}
	return took, nil
}

// askOnly asks a rival.
func askOnly(_ context.Context, conn *load.Conn, request []byte) (time.Duration, error) {
	began := time.Now()
	status, _, body, err := conn.Do(request)
	took := time.Since(began)
	if err == nil && status != http.StatusCreated && status != http.StatusAccepted {
		err = fmt.Errorf("asking for a seat: status %d, %s", status, body)
	}
	return took, err
}

func (a *arena) sayLatency(c benchCase, round int, plan benchPlan, who string, s report.Sample) {
	if s != nil {
		a.t.log.printf("%s, round %d of %d: %s: median %.1f ms, p99 %.1f ms", c.id, round+1, plan.rounds, who, s[report.DecidedP50], s[report.DecidedP99])
	}
}
