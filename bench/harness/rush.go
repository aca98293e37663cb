package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

const (
	// usualPool is the pool size of a smoke run, in place of the best one.
	usualPool = 10

	// ceilingTimes is how many times as many people ask the ceiling. With fewer it is
	// done before it can be measured.
	ceilingTimes = 4

	// slowShare is a share of the best rival's speed, among those that record or
	// those that do not. A rival below it gets one round: no median makes it the best.
	slowShare = 0.5

	// slowLimit is the limit of rivals that are too slow to matter.
	slowLimit = trialLimit / 2
)

// measureRush measures all contenders in a rush: first each rival briefly with each
// size of its pool, then all in rounds.
func measureRush(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	w := c.load
	w.limit = trialLimit
	if p.quick {
		w = w.smaller(20)
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	var all []*participant
	for _, contender := range rivals.All {
		if !p.includes(contender, c) {
			continue
		}
		one, err := b.newParticipant(ctx, c, contender, p)
		if err != nil {
			return nil, fmt.Errorf("choosing the pool of %s: %w", contender.Name, err)
		}
		all = append(all, one)
		if contender.Name == rivals.Ceiling {
			out.Ceiling = one.entrant
		} else {
			out.Rivals = append(out.Rivals, one.entrant)
		}
	}
	chooseRounds(all, p.rounds)
	for round := range p.rounds {
		// Each comes first in some round, since the machine's speed varies.
		order := append([]*participant{nil}, all...)
		at := round * len(order) / p.rounds
		for _, one := range slices.Concat(order[at:], order[:at]) {
			if err := b.takeTurn(ctx, out, c, p, w, one, round); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// takeTurn measures a participant in a round, if it takes part in that; nil is
// Lastseat.
func (b *testbed) takeTurn(ctx context.Context, out *report.Case, c benchCase, p plan, w workload, one *participant, round int) error {
	if one == nil {
		s, err := b.trialOfLastseat(ctx, w)
		if err != nil {
			return fmt.Errorf("measuring Lastseat: %w", err)
		}
		out.Lastseat.Samples = append(out.Lastseat.Samples, s)
		b.logRate(c, round, p, "Lastseat", s)
		return nil
	}
	if round >= one.rounds {
		return nil
	}
	if one.slow {
		w.limit = slowLimit
	}
	s, err := b.trialOfRival(ctx, one.contender, one.entrant.Pool, w)
	if err != nil {
		return fmt.Errorf("measuring %s: %w", one.contender.Name, err)
	}
	one.entrant.Samples = append(one.entrant.Samples, s)
	b.logRate(c, round, p, one.contender.Name, s)
	return nil
}

// participant is a contender other than Lastseat in a case.
type participant struct {
	contender rivals.Contender
	entrant   *report.Entrant
	speed     float64 // with its best pool; 0 = no pool was chosen
	rounds    int
	slow      bool
}

// newParticipant chooses the size of the contender's pool, unless another case has
// chosen it.
func (b *testbed) newParticipant(ctx context.Context, c benchCase, contender rivals.Contender, p plan) (*participant, error) {
	one := &participant{contender: contender, entrant: &report.Entrant{
		Name: contender.Name, Lacks: contender.Lacks, Recording: contender.Recording, Oversells: contender.Oversells,
	}}
	if p.quick || contender.Name == rivals.Ceiling {
		one.entrant.Pool = min(usualPool, slices.Max(contender.Pools))
		return one, nil
	}
	key := cmp.Or(c.pools, c.id) + " " + contender.Name
	best, known := b.pools[key]
	if !known {
		var err error
		if best, err = b.choosePool(ctx, c.load, contender); err != nil {
			return nil, err
		}
		b.tool.Log.Printf("%s: %s is best with %d connections (%.0f per second)", c.id, contender.Name, best.size, best.speed)
		b.pools[key] = best
	}
	one.entrant.Pool, one.speed = best.size, best.speed
	return one, nil
}

// bestPool is the best size of a contender's pool.
type bestPool struct {
	size  int
	speed float64 // per second
}

// A trial of a pool's size has so much smaller a workload, and this limit.
const (
	poolTrialShare = 2
	poolTrialLimit = trialLimit / 8
)

// choosePool tries the sizes of a contender's pool briefly, from the smallest. Once
// two in a row are half as fast as the best, larger ones are slower still.
func (b *testbed) choosePool(ctx context.Context, w workload, c rivals.Contender) (best bestPool, err error) {
	w = w.smaller(poolTrialShare)
	w.limit = poolTrialLimit
	if c.Async { // it leaves jobs in its queue, so each size needs a database
		return trySizes(c.Pools, func(size int) (report.Sample, error) { return b.trialOfRival(ctx, c, size, w) })
	}
	// Making a database takes longer than such a trial. Each size has its own runs.
	var runs []rivals.Run
	for _, size := range c.Pools {
		w.prefix = fmt.Sprintf("pool-%d", size)
		runs = append(runs, w.runList()...)
	}
	err = b.withRivalDatabase(ctx, c, runs, func(url string) error {
		best, err = trySizes(c.Pools, func(size int) (s report.Sample, err error) {
			w.prefix = fmt.Sprintf("pool-%d", size)
			err = b.withRivalOn(ctx, url, c, size, w, func(ctx context.Context, r *rival) error {
				s, err = b.trial(ctx, r, w)
				return err
			})
			return s, err
		})
		return err
	})
	return best, err
}

func trySizes(sizes []int, trial func(size int) (report.Sample, error)) (best bestPool, err error) {
	slow := 0
	for _, size := range sizes {
		s, err := trial(size)
		if err != nil {
			return best, err
		}
		slow++
		switch speed := report.Rate(s); {
		case speed > best.speed:
			best, slow = bestPool{size, speed}, 0
		case speed > best.speed/2:
			slow = 0
		}
		if slow == 2 {
			break
		}
	}
	return best, nil
}

// chooseRounds gives all rounds to those that may be the best, and one to the rest.
func chooseRounds(all []*participant, rounds int) {
	best := make(map[bool]float64)
	for _, one := range all {
		if !one.contender.Oversells {
			best[one.contender.Recording] = max(best[one.contender.Recording], one.speed)
		}
	}
	for _, one := range all {
		one.slow = one.speed > 0 && one.speed < slowShare*best[one.contender.Recording]
		one.rounds = rounds
		if one.slow || one.contender.Oversells {
			one.rounds = 1
		}
	}
}

func (b *testbed) trialOfLastseat(ctx context.Context, w workload) (s report.Sample, err error) {
	err = b.withLastseat(ctx, w.runList(), func(ctx context.Context, l *lastseat) error {
		s, err = b.trial(ctx, l, w)
		return err
	})
	return s, err
}

func (b *testbed) trialOfRival(ctx context.Context, c rivals.Contender, pool int, w workload) (s report.Sample, err error) {
	if c.Name == rivals.Ceiling {
		w.people *= ceilingTimes
	}
	err = b.withRival(ctx, c, pool, w, func(ctx context.Context, r *rival) error {
		s, err = b.trial(ctx, r, w)
		return err
	})
	return s, err
}

func (b *testbed) logRate(c benchCase, round int, p plan, name string, s report.Sample) {
	b.tool.Log.Printf("%s, round %d of %d: %s: %.0f per second", c.id, round+1, p.rounds, name, report.Rate(s))
}
