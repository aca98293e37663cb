package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// injected is a fault that happened.
type injected struct {
	kind     string
	from, to time.Time // from is zero if nothing was broken
}

// excuses reports whether a line may stand still while the fault lasts. A line
// waits neither for mail, nor for the lane of one worker, nor for another run's
// line.
func (f injected) excuses() bool {
	switch f.kind {
	case "lock_backend_frozen", "line_held", "run_moved", "address_corrected":
		return false
	default:
		return !f.from.IsZero() && !strings.HasPrefix(f.kind, "mail_")
	}
}

// parallelFaults is how many faults happen at the same time.
const parallelFaults = 3

// Streams of random numbers that are drawn from one seed.
const (
	runStream        = 1
	arrivalStream    = 2
	organiserStream  = 3
	timeStream       = 4
	parallelStream   = 5
	aloneStream      = 6
	aloneTargets     = 7 // of the faults that happen alone, with a number for each
	parallelTargets  = 8
	personStreamBase = 1 << 32
)

// stream returns random numbers that are the same for the same seed.
func stream(seed, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, number)) //nolint:gosec // it must be reproducible
}

// scheduler decides which fault happens when.
type scheduler struct {
	system   *system
	seed     uint64
	began    time.Time
	end      time.Time // no fault begins after that
	parallel rotation  // faults that happen at the same time as others
	alone    rotation  // faults that happen while nothing else is wrong

	mu    sync.Mutex
	times *rand.Rand
	all   []injected
}

// rotation has faults in a random order: every kind comes before one comes again.
// The order depends on the seed alone, whatever the times at which they happen.
type rotation struct {
	faults  []fault
	shuffle *rand.Rand
	order   []int
	count   uint64
	targets uint64 // the stream from which the faults' targets are drawn
}

func newRotation(shuffle *rand.Rand, targets uint64, all []fault, alone bool) rotation {
	return rotation{
		faults:  slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return f.alone != alone }),
		shuffle: shuffle, targets: targets,
	}
}

// next returns the next fault and its number in the rotation.
func (o *rotation) next() (f fault, number uint64) {
	if len(o.order) == 0 {
		o.order = o.shuffle.Perm(len(o.faults))
	}
	f, o.order = o.faults[o.order[0]], o.order[1:]
	o.count++
	return f, o.count
}

// injectFaults injects faults for as long as the plan says, in rounds: several
// faults at the same time, and then nothing is wrong for a moment. After the first
// round and every other one, a fault happens alone.
func (s *system) injectFaults(ctx context.Context, p plan) ([]injected, error) {
	c := &scheduler{
		system: s, seed: p.seed, began: time.Now(),
		parallel: newRotation(stream(p.seed, parallelStream), parallelTargets, s.possible(p), false),
		alone:    newRotation(stream(p.seed, aloneStream), aloneTargets, s.possible(p), true),
		times:    stream(p.seed, timeStream),
	}
	c.end = c.began.Add(time.Duration(p.seconds) * time.Second)
	for round := 0; proc.Sleep(ctx, c.time(time.Second, 2*time.Second)) && time.Now().Before(c.end); round++ {
		if len(c.parallel.faults) > 0 {
			if err := c.injectInParallel(ctx); err != nil {
				return nil, err
			}
		}
		if len(c.alone.faults) > 0 && (round%2 == 0 || len(c.parallel.faults) == 0) && s.awaitReady(ctx) {
			if err := c.inject(ctx, &c.alone); err != nil {
				return nil, err
			}
		}
	}
	return c.all, ctx.Err()
}

// injectInParallel is one round of faults that happen at the same time.
func (c *scheduler) injectInParallel(ctx context.Context) error {
	end := time.Now().Add(c.time(5*time.Second, 15*time.Second))
	if end.After(c.end) {
		end = c.end
	}
	g, ctx := errgroup.WithContext(ctx)
	for range parallelFaults {
		g.Go(func() error {
			for proc.Sleep(ctx, c.time(0, time.Second)) && time.Now().Before(end) {
				if err := c.inject(ctx, &c.parallel); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// possible returns the faults of the plan that this machine can make.
func (s *system) possible(p plan) []fault {
	not := s.impossible()
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return not[f.kind] != "" || len(p.kinds) > 0 && !slices.Contains(p.kinds, f.kind)
	})
}

// impossible returns the kinds of faults that this machine cannot make, and why.
func (s *system) impossible() map[string]string {
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

func (c *scheduler) time(least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return between(c.times, least, most)
}

// inject injects the rotation's next fault and heals it.
func (c *scheduler) inject(ctx context.Context, o *rotation) error {
	c.mu.Lock()
	f, number := o.next()
	at := len(c.all)
	c.all = append(c.all, injected{kind: f.kind})
	c.mu.Unlock()

	var from time.Time
	err := f.inject(ctx, c.system, stream(c.seed, o.targets<<32+number), func(format string, args ...any) {
		from = time.Now()
		c.system.tool.Log.Printf("+%5.1f s  %s  %s", from.Sub(c.began).Seconds(), f.kind, fmt.Sprintf(format, args...))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[at].from, c.all[at].to = from, time.Now()
	if err != nil {
		return fmt.Errorf("%s: %w", f.kind, err)
	}
	return nil
}
