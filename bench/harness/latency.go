package harness

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
	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enroll"
)

// latencyRivals are compared with Lastseat when few people ask.
var latencyRivals = []string{"guarded", "guarded_recording", "asynq", "river"}

const (
	// trickleInterval is the time between two requests of a trickle.
	trickleInterval = 100 * time.Millisecond
	// latencyConnections is how many people of a trickle can wait at once.
	latencyConnections = 32
)

// ask sends a request for a seat and returns how long it took until the outcome was
// known.
type ask func(conn *load.Conn, request []byte) (time.Duration, error)

// arrival lets people ask, and returns how long each of them waited.
type arrival func(ctx context.Context, client *load.Client, a ask) ([]time.Duration, error)

// measureLone lets one person at a time ask, each for another run, where no lane is
// alive.
func measureLone(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	times := 40
	if p.quick {
		times = 5
	}
	w := workload{people: times, runs: times, seats: times}
	return b.measureLatency(ctx, c, p, w, func(ctx context.Context, client *load.Client, a ask) ([]time.Duration, error) {
		var took []time.Duration
		for i := range times {
			if !proc.Sleep(ctx, 20*time.Millisecond) {
				return nil, context.Cause(ctx)
			}
			d, err := a(client.Conn(0), request(w.slug(i), i))
			if err != nil {
				return nil, err
			}
			took = append(took, d)
		}
		return took, nil
	})
}

// measureTrickle lets a person ask at every tick, whether or not the ones before
// know their outcome.
func measureTrickle(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	times := 100
	if p.quick {
		times = 20
	}
	w := workload{people: times, runs: 1, seats: times}
	return b.measureLatency(ctx, c, p, w, func(ctx context.Context, client *load.Client, a ask) ([]time.Duration, error) {
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
				if _, failed[i] = a(conn, request(w.slug(0), i)); failed[i] == nil {
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

// measureLatency measures, in turns, how long a request takes while there are few.
func (b *testbed) measureLatency(ctx context.Context, c benchCase, p plan, w workload, arrive arrival) (*report.Case, error) {
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	names := latencyRivals
	if p.quick {
		names = names[:1]
	}
	for _, name := range names {
		contender, _ := rivals.Find(name)
		out.Rivals = append(out.Rivals, &report.Entrant{
			Name: name, Lacks: contender.Lacks, Recording: contender.Recording, Pool: min(usualPool, slices.Max(contender.Pools)),
		})
	}
	for round := range p.rounds {
		err := b.withLastseat(ctx, w.runList(), func(ctx context.Context, l *lastseat) error {
			s, err := b.latencyTrial(ctx, l, arrive, askAndPoll)
			out.Lastseat.Samples = append(out.Lastseat.Samples, s)
			b.logLatency(c, round, p, "Lastseat", s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("measuring Lastseat: %w", err)
		}
		for _, e := range out.Rivals {
			contender, _ := rivals.Find(e.Name)
			err := b.withRival(ctx, contender, e.Pool, w, func(ctx context.Context, r *rival) error {
				s, err := b.latencyTrial(ctx, r, arrive, askOnly)
				e.Samples = append(e.Samples, s)
				b.logLatency(c, round, p, e.Name, s)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", e.Name, err)
			}
		}
	}
	return out, nil
}

// latencyTrial is a trial in which people come one by one.
func (b *testbed) latencyTrial(ctx context.Context, s system, arrive arrival, a ask) (report.Sample, error) {
	client, err := load.Dial(ctx, s.address(), latencyConnections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	before, err := warm(ctx, client, s)
	if err != nil {
		return nil, err
	}
	if err := b.checkpoint(ctx); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, client.Interrupt)()
	took, err := arrive(ctx, client, a)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	told := map[int]int{http.StatusAccepted: len(took)}
	r, isRival := s.(*rival)
	if isRival && !r.Async {
		told = map[int]int{http.StatusCreated: len(took)}
	}
	if err := awaitDecisions(ctx, s, totals{accepted: before + len(took)}, 0); err != nil {
		return nil, err
	}
	sample := report.Sample{}
	if _, err := s.judge(ctx, told, sample); err != nil {
		return nil, err
	}
	dropCounts(sample)
	if isRival && r.Async {
		return sample, nil // its table has the times from accepting to deciding
	}
	sample[report.DecidedP50], sample[report.DecidedP99] = report.Percentile(took, 0.50), report.Percentile(took, 0.99)
	return sample, nil
}

// askAndPoll asks Lastseat and waits for the outcome by long poll.
func askAndPoll(conn *load.Conn, request []byte) (time.Duration, error) {
	began := time.Now()
	status, _, body, err := conn.Do(request)
	if err != nil {
		return 0, err
	}
	var r clients.Registration
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
func askOnly(conn *load.Conn, request []byte) (time.Duration, error) {
	began := time.Now()
	status, _, body, err := conn.Do(request)
	took := time.Since(began)
	if err == nil && status != http.StatusCreated && status != http.StatusAccepted {
		err = fmt.Errorf("asking for a seat: status %d, %s", status, body)
	}
	return took, err
}

func (b *testbed) logLatency(c benchCase, round int, p plan, name string, s report.Sample) {
	if s != nil {
		b.tool.Log.Printf("%s, round %d of %d: %s: median %.1f ms, p99 %.1f ms", c.id, round+1, p.rounds, name, s[report.DecidedP50], s[report.DecidedP99])
	}
}
