package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// chaosPlan is what chaos is to be like.
type chaosPlan struct {
	seconds int      // for which faults begin; healing comes after that
	seed    uint64   // of what happens, and what people do
	kinds   []string // of faults; empty = all
	json    bool
}

func faultKinds() (kinds []string) {
	for _, f := range faults {
		kinds = append(kinds, f.kind)
	}
	return kinds
}

func parseChaos(args []string) (p chaosPlan, err error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&p.seconds, "seconds", 60, "")
	flags.Uint64Var(&p.seed, "seed", uint64(rand.Uint32()), "") //nolint:gosec // nobody gains by guessing it
	flags.Func("faults", "", listOf("fault", faultKinds(), &p.kinds))
	flags.BoolVar(&p.json, "json", false, "")
	err = flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || p.seconds < 1 || p.seconds > 86_400) {
		err = errors.New("out of range")
	}
	return p, err
}

// chaos is `dev chaos`: people ask, cancel and wait while everything that can
// break does, and then somebody checks every promise.
func (t *tool) chaos(ctx context.Context, args []string) error {
	plan, err := parseChaos(args)
	if err != nil {
		fmt.Fprintln(t.stderr, "chaos: SECONDS (-seconds) must be 1 to 86400, SEED (-seed) a whole number, 0 or more, "+
			"and FAULTS (-faults) some of "+strings.Join(faultKinds(), ","))
		return exitUsage
	}
	return orInterrupted(ctx, t.withFolder(ctx, "chaos", true, func(ctx context.Context, family *family, f *folder) error {
		r, err := t.wreak(ctx, family, f, plan)
		if err == nil {
			r.writeTable(t.stdout)
			if plan.json {
				err = json.NewEncoder(t.stdout).Encode(r.chaosJSON)
			}
		}
		if err = errors.Join(err, r.err()); err != nil && ctx.Err() == nil {
			t.log.printf("what is left of it, the database and all logs, is in %s", f.path)
			t.log.printf("again: make chaos SECONDS=%d SEED=%d FAULTS=%s", plan.seconds, plan.seed, strings.Join(plan.kinds, ","))
		}
		return err
	}))
}

// wreak starts everything, lets the people in, breaks and heals, waits until it
// is quiet, and judges.
func (t *tool) wreak(ctx context.Context, family *family, f *folder, plan chaosPlan) (chaosResult, error) {
	s, err := t.startSite(ctx, family, f, plan)
	if err != nil {
		return chaosResult{}, err
	}
	defer s.stop()
	visitors, err := newVisitors(ctx, s, plan.seed)
	if err != nil {
		return chaosResult{}, err
	}
	s.visitors = visitors
	t.log.printf("seed %d: %d runs, and faults for %d seconds", plan.seed, len(visitors.runs), plan.seconds)

	for kind, why := range s.impossible() {
		t.log.printf("%s is not possible here: %s", kind, why)
	}
	if len(s.possible(plan)) == 0 {
		return chaosResult{}, errors.New("none of the faults that are asked for can be made here")
	}

	letters, lines := s.collectLetters(ctx), s.watchLines(ctx)
	var faults []faultRecord
	open, closeDoors := context.WithCancel(ctx)
	g, all := errgroup.WithContext(ctx)
	g.Go(func() error { return visitors.run(all, open) })
	g.Go(func() (err error) {
		defer closeDoors()
		faults, err = s.breakThings(all, plan)
		return err
	})
	g.Go(func() error {
		defer t.progressEvery(all, 2*time.Second, visitors.String)()
		<-open.Done()
		return nil
	})
	if err := g.Wait(); err != nil {
		return chaosResult{}, err
	}

	t.log.printf("everything is healed: waiting until it is quiet")
	restless, err := s.awaitQuiet(ctx)
	if err != nil {
		return chaosResult{}, err
	}
	if err := visitors.lookOnceMore(ctx); err != nil {
		return chaosResult{}, err
	}
	return s.judge(ctx, plan, visitors, witnessed{faults, letters(), lines()}, restless)
}

// chaosPatience is how long everything may take to become quiet: a task that a
// killed worker had comes back after two minutes at most.
const chaosPatience = 4 * time.Minute
