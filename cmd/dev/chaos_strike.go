package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// faultRecord is a fault that was.
type faultRecord struct {
	kind     string
	from, to time.Time // from is zero if it did not come to that
}

// excuses tells whether a line may stand still for as long as the fault lasts.
// Nobody waits for mail, nor for the lane of a worker, nor for another run's line.
func (f faultRecord) excuses() bool {
	switch f.kind {
	case "lock_backend_frozen", "line_held", "run_moved", "address_corrected":
		return false
	default:
		return !f.from.IsZero() && !strings.HasPrefix(f.kind, "mail_")
	}
}

// hands is how many break things at once.
const hands = 3

// chance is where faults come from.
type chance struct {
	site   *site
	seed   uint64
	began  time.Time
	end    time.Time // no fault begins after that
	common deck      // faults that are made upon one another
	alone  deck      // faults that are made while nothing else is wrong

	mu      sync.Mutex
	times   *rand.Rand
	records []faultRecord
}

// deck deals faults: every kind comes before one comes again. What it deals
// depends on the seed alone, whatever the times are at which things happen.
type deck struct {
	faults  []fault
	shuffle *rand.Rand
	order   []int
	dealt   uint64
}

func newDeck(seed, stream uint64, all []fault, alone bool) deck {
	return deck{
		faults:  slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return f.alone != alone }),
		shuffle: rand.New(rand.NewPCG(seed, stream)), //nolint:gosec // it is to be the same again
	}
}

// deal returns the next fault and which of the deck's it is.
func (d *deck) deal() (f fault, number uint64) {
	if len(d.order) == 0 {
		d.order = d.shuffle.Perm(len(d.faults))
	}
	f, d.order = d.faults[d.order[0]], d.order[1:]
	d.dealt++
	return f, d.dealt
}

// breakThings goes on for as long as the plan says, in rounds: several hands
// break things, one upon the other, and after a while nothing is wrong for a
// moment. After the first round and every other one, a fault is made alone.
func (s *site) breakThings(ctx context.Context, plan chaosPlan) ([]faultRecord, error) {
	c := &chance{
		site: s, seed: plan.seed, began: time.Now(),
		common: newDeck(plan.seed, 5, s.possible(plan), false),
		alone:  newDeck(plan.seed, 6, s.possible(plan), true),
		times:  rand.New(rand.NewPCG(plan.seed, 4)), //nolint:gosec // the same
	}
	c.end = c.began.Add(time.Duration(plan.seconds) * time.Second)
	for round := 0; sleep(ctx, c.time(time.Second, 2*time.Second)) && time.Now().Before(c.end); round++ {
		if len(c.common.faults) > 0 {
			if err := c.breakTogether(ctx); err != nil {
				return nil, err
			}
		}
		if len(c.alone.faults) > 0 && (round%2 == 0 || len(c.common.faults) == 0) && s.awaitCalm(ctx) {
			if err := c.strike(ctx, &c.alone, 7); err != nil {
				return nil, err
			}
		}
	}
	return c.records, ctx.Err()
}

// breakTogether is one round of all hands.
func (c *chance) breakTogether(ctx context.Context) error {
	end := time.Now().Add(c.time(5*time.Second, 15*time.Second))
	if end.After(c.end) {
		end = c.end
	}
	g, all := errgroup.WithContext(ctx)
	for range hands {
		g.Go(func() error {
			for sleep(all, c.time(0, time.Second)) && time.Now().Before(end) {
				if err := c.strike(all, &c.common, 8); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// possible returns the faults of the plan that can be made on this machine.
func (s *site) possible(plan chaosPlan) []fault {
	not := s.impossible()
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return not[f.kind] != "" || len(plan.kinds) > 0 && !slices.Contains(plan.kinds, f.kind)
	})
}

// impossible returns the others by kind, and why they cannot be made.
func (s *site) impossible() map[string]string {
	not := make(map[string]string)
	for _, f := range faults {
		if f.impossible == nil {
			continue
		}
		if why := f.impossible(s); why != "" {
			not[f.kind] = why
		}
	}
	return not
}

func (c *chance) time(least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return between(c.times, least, most)
}

// strike makes the deck's next fault and heals it. What is hit is drawn from a
// stream of the deck's.
func (c *chance) strike(ctx context.Context, d *deck, stream uint64) error {
	c.mu.Lock()
	f, number := d.deal()
	at := len(c.records)
	c.records = append(c.records, faultRecord{kind: f.kind})
	c.mu.Unlock()

	var from time.Time
	r := rand.New(rand.NewPCG(c.seed, stream<<32+number)) //nolint:gosec // it is to be the same again
	err := f.do(ctx, c.site, r, func(format string, args ...any) {
		from = time.Now()
		c.site.tool.log.printf("+%5.1f s  %s  %s", from.Sub(c.began).Seconds(), f.kind, fmt.Sprintf(format, args...))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[at].from, c.records[at].to = from, time.Now()
	return wrap(f.kind, err)
}
