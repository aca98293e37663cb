package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

// rushOf is a crowd before some runs.
type rushOf struct {
	people int
	runs   int           // that they are spread over
	seats  int           // of all runs together
	limit  time.Duration // after which nobody asks any more; 0 = never
	prefix string        // of the slugs of the runs; empty = run
	first  int           // the number of the first person
}

// warmRun is a run that every database has: it is asked for before anything is
// measured, until connections are open and statements are prepared. It has few
// seats, so that no mail of it is still being sent afterwards.
var warmRun = rivals.Run{Slug: "warm", Seats: 16}

// warmUp is how long that takes at most.
const warmUp = 300 * time.Millisecond

// smaller returns a rush with fewer people and seats, but one for each run.
func (r rushOf) smaller(by int) rushOf {
	r.people, r.seats = max(r.people/by, r.runs), max(r.seats/by, r.runs)
	return r
}

// runsOf returns the runs of a rush.
func (r rushOf) runsOf() (all []rivals.Run) {
	for i := range r.runs {
		seats := r.seats / r.runs
		if i < r.seats%r.runs {
			seats++
		}
		all = append(all, rivals.Run{Slug: r.slug(i), Seats: seats})
	}
	return all
}

func (r rushOf) slug(i int) string { return fmt.Sprintf("%s-%d", cmp.Or(r.prefix, "run"), i+1) }

// slugs are those of all its runs.
func (r rushOf) slugs() []string {
	all := make([]string, r.runs)
	for i := range all {
		all[i] = r.slug(i)
	}
	return all
}

// requests returns what the people send, those for different runs in turn.
func (r rushOf) requests() [][]byte {
	all := make([][]byte, r.people)
	for i := range all {
		all[i] = request(r.slug(i%r.runs), r.first+i)
	}
	return all
}

// request returns what person n sends for a seat, as a good client would.
func request(slug string, n int) []byte {
	return load.Post("/v1/runs/"+slug+"/registrations", uuid.NewString(),
		fmt.Sprintf(`{"name": "Person %d", "email": "person-%d@example.org"}`, n, n))
}

// staged is a contender that is ready to be asked.
type staged interface {
	address() string // host:port of its door
	processes() map[part]int
	mayBeCut() bool // it need not decide all
	// undecided tells whether something that was accepted so far is not decided.
	// Accepted is how much that is, of those who answer before they decide.
	undecided(ctx context.Context, accepted int) (bool, error)
	// judge checks that what people were told is what is written, and returns what
	// is written. Told is how often each status was answered.
	judge(ctx context.Context, told map[int]int, sample report.Sample) (last time.Time, err error)
}

// cell measures one contender once: it warms up, asks, and waits until all is
// decided.
func (a *arena) cell(ctx context.Context, s staged, r rushOf) (report.Sample, error) {
	client, err := load.Dial(ctx, s.address(), askedConnections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	before, err := a.warm(ctx, client, s)
	if err != nil {
		return nil, err
	}
	requests := r.requests()
	if err := a.checkpoint(ctx); err != nil {
		return nil, err
	}

	meter := a.startMeter(s.processes())
	answers, err := client.Ask(ctx, load.Crowd{Requests: requests, For: r.limit})
	if err != nil {
		return nil, err
	}
	sample := report.Sample{}
	sum := sumUp(answers, sample)
	sum.accepted += before
	if err := awaitDecisions(ctx, s, sum, r.limit); err != nil {
		return nil, err
	}
	used := meter.used()
	last, err := s.judge(ctx, sum.told, sample)
	if err != nil {
		return nil, err
	}
	noteCPU(sample, used, sum.answered)
	if !last.IsZero() {
		// It counts from the first request, on the clock of the same machine.
		sample[report.Decided] = report.PerSecond(int(sample[decidedCount]), last.Sub(sum.first))
	}
	delete(sample, decidedCount)
	delete(sample, seatedCount)
	return sample, nil
}

// decidedCount and seatedCount are numbers that judge passes on.
const (
	decidedCount report.Metric = "decided"
	seatedCount  report.Metric = "seated"
)

// noteCPU notes what was used for each request, and for each person who got a
// seat.
func noteCPU(sample report.Sample, used cpuTimes, requests int) {
	programs := []part{partAPI, partWorker}
	if _, is := used[partRival]; is {
		programs = []part{partRival}
	}
	note := func(m report.Metric, count float64, parts ...part) {
		if total, known := used.sum(parts...); known && count > 0 {
			sample[m] = report.Milliseconds(total) / count
		}
	}
	note(report.CPU, float64(requests), programs...)
	note(report.CPUPostgres, float64(requests), partPostgres)
	note(report.CPURedis, float64(requests), partRedis)
	note(report.CPUClient, float64(requests), partClient)
	note(report.CPUSeated, sample[seatedCount], append(programs, partPostgres, partRedis, partClient)...)
}

// settledInterval is the time between two looks at whether all is decided, which
// take something from those who decide.
const settledInterval = 50 * time.Millisecond

// awaitDecisions waits until all is decided. A rival that has used up its limit is
// left at where it is: its rate is known by then.
func awaitDecisions(ctx context.Context, s staged, sum sum, limit time.Duration) error {
	cut := s.mayBeCut() && limit > 0
	end := time.Now().Add(time.Minute)
	if cut {
		end = sum.first.Add(limit)
	}
	for {
		// Not with a context that ends then: it would take the connection along.
		waits, err := s.undecided(ctx, sum.accepted)
		switch {
		case err != nil:
			return wrap("waiting for the decisions", err)
		case !waits, cut && time.Now().After(end):
			return nil
		case time.Now().After(end):
			return errors.New("not everything was decided within a minute")
		case !sleep(ctx, settledInterval):
			return context.Cause(ctx)
		}
	}
}

// warm asks until the connections are open and the statements prepared, and waits
// for what comes of it.
// It returns how much was accepted.
func (a *arena) warm(ctx context.Context, client *load.Client, s staged) (accepted int, err error) {
	each := 4
	if v, is := s.(*rival); is && v.Async && v.Name != rivals.Ceiling {
		each = 1 // one after the other is what it then has to do
	}
	requests := make([][]byte, each*askedConnections)
	for i := range requests {
		requests[i] = request(warmRun.Slug, i)
	}
	answers, err := client.Ask(ctx, load.Crowd{Requests: requests, For: warmUp})
	if err != nil {
		return 0, fmt.Errorf("warming up: %w", err)
	}
	sum := sumUp(answers, report.Sample{})
	return sum.accepted, awaitDecisions(ctx, s, sum, 0)
}

// sum is what the answers come to.
type sum struct {
	first    time.Time   // when the first request was sent
	told     map[int]int // how often each status was answered
	answered int
	accepted int // with 202: so far, if there was something before
}

// sumUp notes how fast answers came.
func sumUp(answers []load.Answer, sample report.Sample) sum {
	s := sum{told: make(map[int]int)}
	var took []time.Duration
	var last time.Time
	for _, a := range answers {
		if a.Received.IsZero() {
			continue
		}
		if s.first.IsZero() || a.Sent.Before(s.first) {
			s.first = a.Sent
		}
		if a.Received.After(last) {
			last = a.Received
		}
		s.told[a.Status]++
		if a.Status < http.StatusInternalServerError { // who was sent away is not served
			took = append(took, a.Took())
		}
	}
	s.answered, s.accepted = len(took), s.told[http.StatusAccepted]
	sample[report.Accepted] = report.PerSecond(s.answered, last.Sub(s.first))
	sample[report.AnsweredP50] = report.Percentile(took, 0.50)
	sample[report.AnsweredP99] = report.Percentile(took, 0.99)
	return s
}
