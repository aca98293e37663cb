package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// askers is how many connections ask at once; the people share them.
const askers = 256

// watchers is on how many connections people wait for a seat to become free. If
// more wait than that, they take turns.
const watchers = 1024

// giveUp is how long somebody keeps asking, and then keeps polling.
const giveUp = 2 * time.Minute

// crowd is the people of a rush while it goes on.
type crowd struct {
	plan     rushPlan
	clicks   []*click
	slug     string
	asking   *door
	giving   *door // what one has back: not held up by who still asks …
	watching *door // … nor by who waits for that
	quiet    *quiet

	moments                      []chan struct{} // each is closed when its share of the clicks is answered
	answered, decided, cancelled atomic.Int64
}

// newCrowd returns the people who make the clicks. Waiting tells how many
// requests of the line are undecided.
func newCrowd(plan rushPlan, clicks []*click, api, slug string, waiting func(context.Context) (int64, error)) *crowd {
	w := &crowd{
		plan: plan, clicks: clicks, slug: slug,
		asking: newDoor(askers, api), giving: newDoor(askers, api), watching: newDoor(watchers, api),
		quiet: newQuiet(len(clicks), waiting), moments: make([]chan struct{}, min(len(clicks), 100)),
	}
	for i := range w.moments {
		w.moments[i] = make(chan struct{})
	}
	return w
}

// newClicks returns the clicks of the people in the order they are sent; every
// tenth person clicks twice.
func newClicks(plan rushPlan) []*click {
	var clicks []*click
	for n := range plan.people {
		regret := newRegret(plan.cancel)
		for range 1 + (n%10)/9 {
			clicks = append(clicks, &click{person: n, email: fmt.Sprintf("person-%d@example.org", n), key: uuid.NewString(), regret: regret})
		}
	}
	return clicks
}

// ask sends all clicks at once and follows each to its end.
func (t *tool) ask(ctx context.Context, w *crowd) error {
	defer w.asking.close()
	defer w.giving.close()
	defer w.watching.close()
	defer t.progress(ctx, w.String)()
	// When asking fails, what others wait for never comes.
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	var follows errgroup.Group
	follows.Go(func() error {
		err := w.quiet.await(ctx)
		if err != nil {
			stop()
		}
		return err
	})
	err := forEach(ctx, w.clicks, func(sending context.Context, c *click) error {
		wait, err := c.send(sending, w.asking, w.slug)
		if err != nil {
			return fmt.Errorf("person %d: asking: %w", c.person, err)
		}
		w.answer()
		follows.Go(func() error {
			if err := c.follow(ctx, w, wait); err != nil {
				return fmt.Errorf("person %d: polling: %w", c.person, err)
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

func (w *crowd) String() string {
	text := fmt.Sprintf("%d of %d requests answered, %d outcomes known", w.answered.Load(), len(w.clicks), w.decided.Load())
	if w.plan.cancel > 0 {
		text += fmt.Sprintf(", %d asked to cancel", w.cancelled.Load())
	}
	return text
}

// answer counts an answered click, and opens the moments that this makes come.
func (w *crowd) answer() {
	n, all, parts := int(w.answered.Add(1)), len(w.clicks), len(w.moments)
	for i := (n - 1) * parts / all; i < n*parts/all; i++ {
		close(w.moments[i])
	}
}

// forEach calls do for all clicks, in order, from as many goroutines as there
// are askers.
func forEach(ctx context.Context, clicks []*click, do func(context.Context, *click) error) error {
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan *click)
	g.Go(func() error {
		defer close(next)
		for _, c := range clicks {
			select {
			case next <- c:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range askers {
		g.Go(func() error {
			for c := range next {
				if err := do(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// sleep tells whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// progress says once a second where things are, until the function it returns is
// called.
func (t *tool) progress(ctx context.Context, now func() string) (stop func()) {
	return t.progressEvery(ctx, time.Second, now)
}

// progressEvery is progress at another pace. What is empty is not said.
func (t *tool) progressEvery(ctx context.Context, pace time.Duration, now func() string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	say := func() {
		if text := now(); text != "" {
			t.log.printf("%s", text)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, pace) {
			say()
		}
	})
	return func() {
		cancel()
		wg.Wait()
		say()
	}
}
