package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/enroll"
)

// What people do while everything breaks.
const (
	chaosRuns     = 12 // the first is the hot one: a third of all want a seat of it
	visitsEvery   = 8 * time.Millisecond
	visitorsMost  = 1500 // who are there at once
	changesEvery  = 400 * time.Millisecond
	chaosRegret   = 0.35 // the share of those with a seat or a place who cancel
	chaosRepeat   = 0.1  // the share of those who ask in the name of somebody who has asked before
	postPatience  = 5 * time.Second
	watchPatience = 15 * time.Second // a poll is held for ten
)

// chaosRun is a run and everybody who asks for a seat of it.
type chaosRun struct {
	slug string
	plan rushPlan

	mu      sync.Mutex
	people  int
	clicks  []*click // that were accepted
	changes []answer // of its capacities, that were accepted

	known       []known // that nobody has corrected
	corrections []correction
	moves       int
}

// visitors are the people, and an organiser.
type visitors struct {
	runs            []*chaosRun
	asking, waiting *door
	token           string
	seed            uint64

	there                                 atomic.Int64
	accepted, decided, cancelled, changed atomic.Int64
}

// newVisitors makes the runs.
func newVisitors(ctx context.Context, s *site, seed uint64) (*visitors, error) {
	v := &visitors{token: s.token, seed: seed}
	var urls []string
	for _, m := range s.apis {
		urls = append(urls, m.public)
	}
	v.asking, v.waiting = newDoor(visitorsMost, urls...), newDoor(visitorsMost, urls...)
	v.asking.patience, v.waiting.patience = postPatience, watchPatience
	if err := s.store.CreateCourse(ctx, enroll.Course{Slug: "chaos", Title: "Chaos"}); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is to be the same again
	for i := range chaosRuns {
		run := &chaosRun{slug: fmt.Sprintf("chaos-%d", i), plan: rushPlan{seats: 10 + r.IntN(40), waitlist: new(r.IntN(60)), resized: true}}
		if i == 0 {
			run.slug, run.plan.seats = "chaos-hot", 200
		}
		now := time.Now()
		_, err := s.store.CreateRun(ctx, enroll.Run{
			Course: "chaos", Slug: run.slug, TimeZone: "UTC", Capacity: &run.plan.seats, WaitlistCapacity: run.plan.waitlist,
			OpensAt: now.Add(-365 * day), ClosesAt: now.Add(7 * day), StartsAt: now.Add(30 * day), EndsAt: now.Add(31 * day),
		})
		if err != nil {
			return nil, err
		}
		v.runs = append(v.runs, run)
	}
	return v, nil
}

func (v *visitors) String() string {
	return fmt.Sprintf("%d accepted, %d decided, %d cancelled, %d changes of capacities, %d people there",
		v.accepted.Load(), v.decided.Load(), v.cancelled.Load(), v.changed.Load(), v.there.Load())
}

// run lets people in until open ends, and returns when the last has left.
func (v *visitors) run(ctx, open context.Context) error {
	g, all := errgroup.WithContext(ctx)
	g.Go(func() error { return v.organise(all, open) })
	r := rand.New(rand.NewPCG(v.seed, 2)) //nolint:gosec // the same
	for number := uint64(0); sleep(open, visitsEvery); number++ {
		if v.there.Load() >= visitorsMost || all.Err() != nil {
			continue // nobody gets in
		}
		run := v.runs[0]
		if r.IntN(3) > 0 {
			run = v.runs[1+r.IntN(chaosRuns-1)]
		}
		own := rand.New(rand.NewPCG(v.seed, 1<<32+number)) //nolint:gosec // the same
		v.there.Add(1)
		g.Go(func() error {
			defer v.there.Add(-1)
			return v.visit(all, open, run, own)
		})
	}
	return g.Wait()
}

// enter returns somebody new, or somebody who has asked before.
func (run *chaosRun) enter(r *rand.Rand) *click {
	run.mu.Lock()
	defer run.mu.Unlock()
	n := run.people
	if n > 0 && r.Float64() < chaosRepeat {
		n = r.IntN(n)
	} else {
		run.people++
	}
	return &click{person: n, email: fmt.Sprintf("person-%d@%s.example.org", n, run.slug), key: uuid.NewString()}
}

// visit is what one person does. Nobody is refused: who asks again for as long
// as it takes is accepted.
func (v *visitors) visit(ctx, open context.Context, run *chaosRun, r *rand.Rand) error {
	c := run.enter(r)
	who := func(doing string, err error) error {
		return wrap(fmt.Sprintf("run %s, person %d, ticket %d: %s", run.slug, c.person, c.Ticket, doing), err)
	}
	wait, err := c.send(ctx, v.asking, run.slug)
	if err != nil {
		return who("asking", err)
	}
	v.accepted.Add(1)
	run.mu.Lock()
	run.clicks = append(run.clicks, c)
	run.known = append(run.known, known{c.Ticket, c.ID, c.email})
	run.mu.Unlock()
	if err := c.await(ctx, v.waiting, wait, func() bool { return c.Status != enroll.Queued }); err != nil {
		return who("polling", err)
	}
	v.decided.Add(1)
	cancels := r.Float64() < chaosRegret
	if cancels {
		sleep(open, between(r, 0, 4*time.Second))
	}
	for c.Status == enroll.Waitlisted && !c.gone && !cancels && open.Err() == nil {
		if _, err := c.look(open, v.waiting, "?wait=10", c.etag); err != nil {
			sleep(open, shortly) // it is away just now
		}
	}
	if tooLate := open.Err() != nil; tooLate || !cancels || !c.holds() || c.gone {
		return nil //nolint:nilerr // the doors are closed, which is no error
	}
	c.regret.devices = 1 + r.IntN(2)
	if err := c.cancel(ctx, v.asking); err != nil {
		return who("cancelling", err)
	}
	if c.gone {
		return nil
	}
	v.cancelled.Add(1)
	return who("polling", c.await(ctx, v.waiting, 0, func() bool { return !c.holds() }))
}

// organise changes capacities, up and down, and in the long run up: there is to be
// something to get until the end. Who gets no answer does not ask again, and does
// not know what became of it.
func (v *visitors) organise(ctx, open context.Context) error {
	r := rand.New(rand.NewPCG(v.seed, 3)) //nolint:gosec // it is to be the same again
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + v.token}}
	grown := make([]int, len(v.runs))
	for sleep(open, changesEvery) {
		i := r.IntN(len(v.runs))
		run := v.runs[i]
		grown[i] += r.IntN(30)
		body := fmt.Sprintf(`{"capacity": %d}`, max(run.plan.seats+grown[i]-20+r.IntN(40), 0))
		if r.IntN(3) == 0 {
			body = fmt.Sprintf(`{"waitlist_capacity": %d}`, r.IntN(80))
		}
		a, err := v.asking.call(ctx, http.MethodPatch, "/v1/runs/"+run.slug, body, header.Clone())
		switch {
		case err == nil && a.code == http.StatusAccepted:
			v.changed.Add(1)
			run.mu.Lock()
			run.changes = append(run.changes, a)
			run.mu.Unlock()
		case err == nil && a.code != http.StatusServiceUnavailable:
			return fmt.Errorf("run %s: changing its capacity: status %d", run.slug, a.code)
		}
	}
	return nil
}

// lookOnceMore lets everybody see how their registration ended.
func (v *visitors) lookOnceMore(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for _, run := range v.runs {
		for _, c := range run.clicks {
			g.Go(func() error {
				c.etag = "" // to be told, and not that nothing has changed
				err := c.await(ctx, v.waiting, 0, func() bool { return true })
				return wrap(fmt.Sprintf("run %s, ticket %d: looking once more", run.slug, c.Ticket), err)
			})
		}
	}
	return g.Wait()
}
