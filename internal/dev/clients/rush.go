package clients

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

const (
	// RushConnections is how many connections send submissions at once; the people
	// share them.
	RushConnections = 256
	// watchConnections is how many connections wait for a seat to become free. If
	// more people wait than that, they take turns.
	watchConnections = 1024
)

// Rush is many people who ask for the seats of a run at once.
type Rush struct {
	submissions []*Submission
	slug        string
	cancels     bool // some people may cancel

	// Three clients, so that cancelling does not wait behind registering, nor behind
	// the long polls of people on the waiting list.
	registering, cancelling, watching *Client

	activity                     *activity
	milestones                   []chan struct{} // each is closed when its share of the submissions is answered
	answered, decided, cancelled atomic.Int64
}

// NewRush returns a rush of the submissions on a run. undecided returns how many
// requests of the run's line are not decided; cancels says whether the plans may
// cancel.
func NewRush(submissions []*Submission, cancels bool, api, slug string, undecided func(context.Context) (int64, error)) *Rush {
	r := &Rush{
		submissions: submissions, slug: slug, cancels: cancels,
		registering: New(RushConnections, api), cancelling: New(RushConnections, api), watching: New(watchConnections, api),
		activity:   newActivity(len(submissions), undecided),
		milestones: make([]chan struct{}, min(len(submissions), 100)),
	}
	for i := range r.milestones {
		r.milestones[i] = make(chan struct{})
	}
	return r
}

// NewSubmissions returns the submissions of that many people in the order in which
// they are sent. Every tenth person submits twice, and the share of them cancels.
func NewSubmissions(people int, cancelShare float64) []*Submission {
	var all []*Submission
	for n := range people {
		plan := drawCancelPlan(cancelShare)
		for range 1 + (n%10)/9 {
			all = append(all, &Submission{Person: n, Email: fmt.Sprintf("person-%d@example.org", n), Key: uuid.NewString(), Plan: plan})
		}
	}
	return all
}

// Run sends all submissions at once and follows each to its end. It logs how far
// they are.
func (r *Rush) Run(ctx context.Context, log *proc.Console) error {
	defer r.registering.Close()
	defer r.cancelling.Close()
	defer r.watching.Close()
	defer log.Progress(ctx, time.Second, r.String)()
	// When sending fails, the people who are followed would wait in vain.
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	var follows errgroup.Group
	follows.Go(func() error {
		err := r.activity.awaitEnd(ctx)
		if err != nil {
			stop()
		}
		return err
	})
	err := forEach(ctx, r.submissions, func(sending context.Context, s *Submission) error {
		wait, err := s.Send(sending, r.registering, r.slug)
		if err != nil {
			return fmt.Errorf("person %d: asking: %w", s.Person, err)
		}
		r.countAnswer()
		follows.Go(func() error {
			if err := r.follow(ctx, s, wait); err != nil {
				return fmt.Errorf("person %d: polling: %w", s.Person, err)
			}
			return nil
		})
		return nil
	})
	if err != nil {
		stop()
	}
	if followErr := follows.Wait(); err == nil {
		err = followErr
	}
	return err
}

func (r *Rush) String() string {
	text := fmt.Sprintf("%d of %d requests answered, %d outcomes known", r.answered.Load(), len(r.submissions), r.decided.Load())
	if r.cancels {
		text += fmt.Sprintf(", %d asked to cancel", r.cancelled.Load())
	}
	return text
}

// countAnswer counts an answered submission and closes the milestones that it
// reaches.
func (r *Rush) countAnswer() {
	n, all, parts := int(r.answered.Add(1)), len(r.submissions), len(r.milestones)
	for i := (n - 1) * parts / all; i < n*parts/all; i++ {
		close(r.milestones[i])
	}
}

// forEach calls do for all submissions, in order, from RushConnections goroutines.
func forEach(ctx context.Context, submissions []*Submission, do func(context.Context, *Submission) error) error {
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan *Submission)
	g.Go(func() error {
		defer close(next)
		for _, s := range submissions {
			select {
			case next <- s:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range RushConnections {
		g.Go(func() error {
			for s := range next {
				if err := do(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
