package chaos

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

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/verify"
	"github.com/lastseat/lastseat/internal/enroll"
)

// What people do while everything breaks.
const (
	runCount        = 12 // the first is the busiest: a third of the people want a seat of it
	arrivalInterval = 8 * time.Millisecond
	maxPresent      = 1500 // people at the same time
	changeInterval  = 400 * time.Millisecond
	cancelShare     = 0.35 // of the people with a seat or a place
	repeatShare     = 0.1  // of the people who ask in the name of a person who asked before
	requestTimeout  = 5 * time.Second
	pollTimeout     = 15 * time.Second // a poll is held for ten
	day             = 24 * time.Hour
	retryPause      = 100 * time.Millisecond
)

// run is a run and the people who ask for its seats.
type run struct {
	slug  string
	rules verify.Run

	mu          sync.Mutex
	people      int
	submissions []*clients.Submission // that were accepted
	changes     []clients.Answer      // to changes of its capacities, that were accepted

	correctable []verify.Correction // registrations that may be corrected, still without To
	corrections []verify.Correction
	moves       int
}

// people are the people, and an organiser.
type people struct {
	runs                  []*run
	registering, watching *clients.Client
	token                 string
	seed                  uint64

	present                               atomic.Int64
	accepted, decided, cancelled, changed atomic.Int64
}

// newPeople creates the runs.
func newPeople(ctx context.Context, s *system, seed uint64) (*people, error) {
	p := &people{token: s.token, seed: seed}
	var urls []string
	for _, api := range s.apis {
		urls = append(urls, api.public)
	}
	p.registering, p.watching = clients.New(maxPresent, urls...), clients.New(maxPresent, urls...)
	p.registering.Timeout, p.watching.Timeout = requestTimeout, pollTimeout
	if err := s.store.CreateCourse(ctx, enroll.Course{Slug: "chaos", Title: "Chaos"}); err != nil {
		return nil, err
	}
	r := stream(seed, runStream)
	for i := range runCount {
		run := &run{slug: fmt.Sprintf("chaos-%d", i), rules: verify.Run{Seats: 10 + r.IntN(40), Places: new(r.IntN(60)), Resized: true}}
		if i == 0 {
			run.slug, run.rules.Seats = "chaos-hot", 200
		}
		now := time.Now()
		_, err := s.store.CreateRun(ctx, enroll.Run{
			Course: "chaos", Slug: run.slug, TimeZone: "UTC", Capacity: &run.rules.Seats, WaitlistCapacity: run.rules.Places,
			OpensAt: now.Add(-365 * day), ClosesAt: now.Add(7 * day), StartsAt: now.Add(30 * day), EndsAt: now.Add(31 * day),
		})
		if err != nil {
			return nil, err
		}
		p.runs = append(p.runs, run)
	}
	return p, nil
}

func (p *people) String() string {
	return fmt.Sprintf("%d accepted, %d decided, %d cancelled, %d changes of capacities, %d people there",
		p.accepted.Load(), p.decided.Load(), p.cancelled.Load(), p.changed.Load(), p.present.Load())
}

// act lets people in until admission ends, and returns when the last has left.
func (p *people) act(ctx, admission context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.changeCapacities(ctx, admission) })
	r := stream(p.seed, arrivalStream)
	for number := uint64(0); proc.Sleep(admission, arrivalInterval); number++ {
		if p.present.Load() >= maxPresent || ctx.Err() != nil {
			continue // no person gets in
		}
		run := p.runs[0]
		if r.IntN(3) > 0 {
			run = p.runs[1+r.IntN(runCount-1)]
		}
		own := stream(p.seed, personStreamBase+number)
		p.present.Add(1)
		g.Go(func() error {
			defer p.present.Add(-1)
			return p.visit(ctx, admission, run, own)
		})
	}
	return g.Wait()
}

// newSubmission returns the submission of a new person, or of one that has asked
// before.
func (run *run) newSubmission(r *rand.Rand) *clients.Submission {
	run.mu.Lock()
	defer run.mu.Unlock()
	n := run.people
	if n > 0 && r.Float64() < repeatShare {
		n = r.IntN(n)
	} else {
		run.people++
	}
	return &clients.Submission{Person: n, Email: fmt.Sprintf("person-%d@%s.example.org", n, run.slug), Key: uuid.NewString()}
}

// note notes a submission that was accepted.
func (run *run) note(s *clients.Submission) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.submissions = append(run.submissions, s)
	run.correctable = append(run.correctable, verify.Correction{Ticket: s.Ticket, ID: s.ID, From: s.Email})
}

// visit is everything that one person does. They send until they are accepted,
// however long that takes.
func (p *people) visit(ctx, admission context.Context, run *run, r *rand.Rand) error {
	s := run.newSubmission(r)
	failed := func(doing string, err error) error {
		return fmt.Errorf("run %s, person %d, ticket %d: %s: %w", run.slug, s.Person, s.Ticket, doing, err)
	}
	wait, err := s.Send(ctx, p.registering, run.slug)
	if err != nil {
		return failed("asking", err)
	}
	p.accepted.Add(1)
	run.note(s)
	if err := s.AwaitDecision(ctx, p.watching, wait); err != nil {
		return failed("polling", err)
	}
	p.decided.Add(1)
	cancels := r.Float64() < cancelShare
	if cancels {
		proc.Sleep(admission, between(r, 0, 4*time.Second))
	}
	for s.Status == enroll.Waitlisted && !s.Gone && !cancels && admission.Err() == nil {
		if _, err := s.Look(admission, p.watching, "?wait=10", s.ETag); err != nil {
			proc.Sleep(admission, retryPause) // the API is away just now
		}
	}
	if tooLate := admission.Err() != nil; tooLate || !cancels || !s.Holds() || s.Gone {
		return nil //nolint:nilerr // the end of the admission is no error
	}
	s.Plan.Devices = 1 + r.IntN(2)
	if err := s.Cancel(ctx, p.registering); err != nil {
		return failed("cancelling", err)
	}
	if s.Gone {
		return nil
	}
	p.cancelled.Add(1)
	if err := s.AwaitRelease(ctx, p.watching); err != nil {
		return failed("polling", err)
	}
	return nil
}

// organiser returns the header of an organiser's request.
func (p *people) organiser() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + p.token}}
}

// changeCapacities changes capacities up and down, and up in the long run, so that
// seats become free until the end. A change without an answer is not sent again,
// and its outcome stays unknown.
func (p *people) changeCapacities(ctx, admission context.Context) error {
	r := stream(p.seed, organiserStream)
	grown := make([]int, len(p.runs))
	for proc.Sleep(admission, changeInterval) {
		i := r.IntN(len(p.runs))
		run := p.runs[i]
		grown[i] += r.IntN(30)
		body := fmt.Sprintf(`{"capacity": %d}`, max(run.rules.Seats+grown[i]-20+r.IntN(40), 0))
		if r.IntN(3) == 0 {
			body = fmt.Sprintf(`{"waitlist_capacity": %d}`, r.IntN(80))
		}
		a, err := p.registering.Do(ctx, clients.Request{Method: http.MethodPatch, Path: "/v1/runs/" + run.slug, Body: body, Header: p.organiser()})
		switch {
		case err == nil && a.Status == http.StatusAccepted:
			p.changed.Add(1)
			run.mu.Lock()
			run.changes = append(run.changes, a)
			run.mu.Unlock()
		case err == nil && a.Status != http.StatusServiceUnavailable:
			return fmt.Errorf("run %s: changing its capacity: status %d", run.slug, a.Status)
		}
	}
	return nil
}

// refreshAll lets every person see how their registration ended.
func (p *people) refreshAll(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for _, run := range p.runs {
		for _, s := range run.submissions {
			g.Go(func() error {
				if err := s.Refresh(ctx, p.watching); err != nil {
					return fmt.Errorf("run %s, ticket %d: looking once more: %w", run.slug, s.Ticket, err)
				}
				return nil
			})
		}
	}
	return g.Wait()
}
