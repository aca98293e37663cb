package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

// benchCase is one of the situations that contenders are measured in.
type benchCase struct {
	id      string
	what    string
	rush    rushOf
	targets []report.Target
	measure func(context.Context, *arena, benchCase, benchPlan) (*report.Case, error)
}

// cellLimit is how long anybody is asked in one cell.
const cellLimit = 8 * time.Second

var benchCases = []benchCase{
	{
		id: "one_run_seated", measure: measureRush, what: "6000 people ask for the 6000 seats of one run", rush: rushOf{people: 6000, runs: 1, seats: 6000},
		targets: []report.Target{
			report.AtLeast(4, report.ToBestRival), report.AtLeast(0.40, report.ToCeiling),
			report.AtMost(20, report.DecidedP50), report.AtMost(150, report.DecidedP99),
		},
	},
}

// measureRush measures all contenders in a rush, in turns.
func measureRush(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	r := c.rush
	r.limit = cellLimit
	if plan.quick {
		r = r.smaller(10)
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	entrants := make(map[string]*report.Entrant)
	for _, who := range rivals.All {
		e := &report.Entrant{Name: who.Name, Lacks: who.Lacks, Recording: who.Recording, Oversells: who.Oversells}
		entrants[who.Name] = e
		if who.Name == rivals.Ceiling {
			out.Ceiling = e
		} else {
			e.Pool = 6
			out.Rivals = append(out.Rivals, e)
		}
	}
	for round := range plan.rounds {
		s, err := a.cellOfLastseat(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("measuring Lastseat: %w", err)
		}
		a.say(c, round, plan, "Lastseat", s)
		out.Lastseat.Samples = append(out.Lastseat.Samples, s)
		for _, who := range rivals.All {
			e := entrants[who.Name]
			s, err := a.cellOfRival(ctx, who, max(e.Pool, 1), r)
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", who.Name, err)
			}
			a.say(c, round, plan, who.Name, s)
			e.Samples = append(e.Samples, s)
		}
	}
	return out, nil
}

// smaller returns a rush with fewer people and seats.
func (r rushOf) smaller(by int) rushOf {
	r.people, r.seats = max(r.people/by, r.runs), max(r.seats/by, r.runs)
	return r
}

func (a *arena) cellOfLastseat(ctx context.Context, r rushOf) (s report.Sample, err error) {
	err = a.withLastseat(ctx, lastseatTemplate, r.runsOf(), func(ctx context.Context, l *lastseat) error {
		s, err = a.cell(ctx, l, r)
		return err
	})
	return s, err
}

func (a *arena) cellOfRival(ctx context.Context, c rivals.Contender, pool int, r rushOf) (s report.Sample, err error) {
	err = a.withRival(ctx, c, pool, r.runsOf(), func(ctx context.Context, v *rival) error {
		s, err = a.cell(ctx, v, r)
		return err
	})
	return s, err
}

// say tells what a cell came to.
func (a *arena) say(c benchCase, round int, plan benchPlan, who string, s report.Sample) {
	a.t.log.printf("%s, round %d of %d: %s: %.0f accepted per second, decided %.0f", c.id, round+1, plan.rounds, who, s[report.Accepted], s[report.Decided])
}
