package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

// usualPool is what a smoke run takes in place of the best size of a pool.
const usualPool = 10

// ceilingTimes is how many times as many people ask the ceiling: it would be over
// before it can be measured.
const ceilingTimes = 4

// slowShare is the share of the best rival's speed, of those that record or of
// those that do not, below which one round is enough: no median makes it the best.
const slowShare = 0.5

// slowLimit is how long those are asked who are too slow to matter.
const slowLimit = cellLimit / 2

// measureRush measures all contenders in a rush, in turns: first each rival at the
// sizes of its pool, for a short while, then all in rounds.
func measureRush(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	r := c.rush
	r.limit = cellLimit
	if plan.quick {
		r = r.smaller(20)
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	var turns []*turn
	for _, who := range rivals.All {
		if !plan.includes(who, c) {
			continue
		}
		t, err := a.newTurn(ctx, c, who, plan)
		if err != nil {
			return nil, fmt.Errorf("choosing the pool of %s: %w", who.Name, err)
		}
		turns = append(turns, t)
		if who.Name == rivals.Ceiling {
			out.Ceiling = t.entrant
		} else {
			out.Rivals = append(out.Rivals, t.entrant)
		}
	}
	chooseRounds(turns, plan.rounds)
	for round := range plan.rounds {
		// Everybody comes first in turn: the machine is not the same all the time.
		order := append([]*turn{nil}, turns...)
		at := round * len(order) / plan.rounds
		for _, t := range slices.Concat(order[at:], order[:at]) {
			switch {
			case t == nil:
				s, err := a.cellOfLastseat(ctx, r)
				if err != nil {
					return nil, fmt.Errorf("measuring Lastseat: %w", err)
				}
				out.Lastseat.Samples = append(out.Lastseat.Samples, s)
				a.say(c, round, plan, "Lastseat", s)
			case round < t.rounds:
				r := r
				if t.slow {
					r.limit = slowLimit
				}
				s, err := a.cellOfRival(ctx, t.who, t.entrant.Pool, r)
				if err != nil {
					return nil, fmt.Errorf("measuring %s: %w", t.who.Name, err)
				}
				t.entrant.Samples = append(t.entrant.Samples, s)
				a.say(c, round, plan, t.who.Name, s)
			}
		}
	}
	return out, nil
}

// turn is a contender other than Lastseat in a case.
type turn struct {
	who     rivals.Contender
	entrant *report.Entrant
	speed   float64 // while its pool was chosen; 0 = it was not
	rounds  int
	slow    bool
}

// newTurn chooses the size of the contender's pool, if it is not known from another
// case.
func (a *arena) newTurn(ctx context.Context, c benchCase, who rivals.Contender, plan benchPlan) (*turn, error) {
	t := &turn{who: who, entrant: &report.Entrant{Name: who.Name, Lacks: who.Lacks, Recording: who.Recording, Oversells: who.Oversells}}
	if plan.quick || who.Name == rivals.Ceiling {
		t.entrant.Pool = min(usualPool, slices.Max(who.Pools))
		return t, nil
	}
	key := cmp.Or(c.pools, c.id) + " " + who.Name
	if best, known := a.pools[key]; known {
		t.entrant.Pool, t.speed = best.size, best.speed
		return t, nil
	}
	best, err := a.sweep(ctx, c.rush, who)
	if err != nil {
		return nil, err
	}
	a.t.log.printf("%s: %s is best with %d connections (%.0f per second)", c.id, who.Name, best.size, best.speed)
	a.pools[key] = best
	t.entrant.Pool, t.speed = best.size, best.speed
	return t, nil
}

// bestPool is the best size of a contender's pool.
type bestPool struct {
	size  int
	speed float64 // per second
}

// sweep tries the sizes of a contender's pool, from the smallest, for a short while
// each. Once two in a row are half as fast as the best, larger ones are slower
// still.
func (a *arena) sweep(ctx context.Context, r rushOf, who rivals.Contender) (best bestPool, err error) {
	r = r.smaller(sweepShare)
	r.limit = sweepLimit
	cell := func(size int) (s report.Sample, err error) { return a.cellOfRival(ctx, who, size, r) }
	if who.Async {
		return sweepSizes(who.Pools, cell) // which leaves something in its queue
	}
	// Making a database takes longer than such a cell. Each size has runs of its own.
	var runs []rivals.Run
	for _, size := range who.Pools {
		r.prefix = fmt.Sprintf("pool-%d", size)
		runs = append(runs, r.runsOf()...)
	}
	err = a.withDatabase(ctx, who, runs, func(address string) error {
		best, err = sweepSizes(who.Pools, func(size int) (s report.Sample, err error) {
			r.prefix = fmt.Sprintf("pool-%d", size)
			err = a.withRivalOn(ctx, address, who, size, r, func(ctx context.Context, v *rival) error {
				s, err = a.cell(ctx, v, r)
				return err
			})
			return s, err
		})
		return err
	})
	return best, err
}

func sweepSizes(sizes []int, cell func(size int) (report.Sample, error)) (best bestPool, err error) {
	slow := 0
	for _, size := range sizes {
		s, err := cell(size)
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

// A cell of a sweep has so much smaller a rush, and ends after that time.
const (
	sweepShare = 2
	sweepLimit = cellLimit / 8
)

// chooseRounds gives all rounds to those that may be the best, and one to the rest.
func chooseRounds(turns []*turn, rounds int) {
	best := make(map[bool]float64)
	for _, t := range turns {
		if !t.who.Oversells {
			best[t.who.Recording] = max(best[t.who.Recording], t.speed)
		}
	}
	for _, t := range turns {
		t.slow = t.speed > 0 && t.speed < slowShare*best[t.who.Recording]
		t.rounds = rounds
		if t.slow || t.who.Oversells {
			t.rounds = 1
		}
	}
}

func (a *arena) cellOfLastseat(ctx context.Context, r rushOf) (s report.Sample, err error) {
	err = a.withLastseat(ctx, r.runsOf(), func(ctx context.Context, l *lastseat) error {
		s, err = a.cell(ctx, l, r)
		return err
	})
	return s, err
}

func (a *arena) cellOfRival(ctx context.Context, c rivals.Contender, pool int, r rushOf) (s report.Sample, err error) {
	if c.Name == rivals.Ceiling {
		r.people *= ceilingTimes
	}
	err = a.withRival(ctx, c, pool, r, func(ctx context.Context, v *rival) error {
		s, err = a.cell(ctx, v, r)
		return err
	})
	return s, err
}

// say tells what a cell came to.
func (a *arena) say(c benchCase, round int, plan benchPlan, who string, s report.Sample) {
	a.t.log.printf("%s, round %d of %d: %s: %.0f per second", c.id, round+1, plan.rounds, who, report.Rate(s))
}
