package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// rushPlan is what a rush is to be like.
type rushPlan struct {
	people   int
	seats    int
	waitlist *int    // places on the waiting list; nil = as many as come
	cancel   float64 // the share of those with a seat or a place who cancel
	resized  bool    // the capacities change on the way
}

// plain tells whether nothing but seats is asked for, and all who have one keep
// it.
func (p rushPlan) plain() bool { return p.waitlist != nil && *p.waitlist == 0 && p.cancel == 0 }

// places says how long the waiting list is.
func (p rushPlan) places() string {
	if p.waitlist == nil {
		return "any number of places"
	}
	return fmt.Sprintf("%d places", *p.waitlist)
}

func (p rushPlan) String() string {
	text := fmt.Sprintf("%d people ask for %d seats at once, every tenth clicks twice", p.people, p.seats)
	if !p.plain() {
		text += fmt.Sprintf("; %s on the waiting list; %g %% cancel", p.places(), 100*p.cancel)
	}
	return text
}

// parseRush reads the arguments of `dev rush`.
func parseRush(args []string) (p rushPlan, asJSON bool, err error) {
	flags := flag.NewFlagSet("rush", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&p.people, "people", 500, "")
	flags.IntVar(&p.seats, "seats", 20, "")
	flags.Float64Var(&p.cancel, "cancel", 0, "")
	flags.BoolVar(&asJSON, "json", false, "")
	p.waitlist = new(0)
	flags.Func("waitlist", "", func(text string) error {
		if text == "all" {
			p.waitlist = nil
			return nil
		}
		n, err := strconv.ParseUint(text, 10, 31)
		p.waitlist = new(int(n))
		return err
	})
	err = flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || p.people < 1 || p.people > 1_000_000 || p.seats < 0 || !(p.cancel >= 0 && p.cancel <= 1)) {
		err = errors.New("out of range")
	}
	return p, asJSON, err
}

// rush is `dev rush`: many people ask for few seats at once, some of them give
// up what they got, and somebody checks every outcome afterwards.
func (t *tool) rush(ctx context.Context, args []string) error {
	plan, asJSON, err := parseRush(args)
	if err != nil {
		fmt.Fprintln(t.stderr, "rush: PEOPLE (-people) must be 1 to 1000000, SEATS (-seats) 0 or more, "+
			"WAITLIST (-waitlist) 0 or more, or all, and CANCEL (-cancel) 0 to 1")
		return exitUsage
	}
	once := func(ctx context.Context, s *stack) error {
		return t.rushOn(ctx, s, plan, asJSON)
	}
	s, err := runningStack(t.root, "run")
	switch {
	case err == nil:
		t.log.printf("using the stack that `make run` has running: %s", s.APIURL)
		return orInterrupted(ctx, once(ctx, s))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// Thousands of lines about requests would hide the one line that matters.
	quiet := []string{"LASTSEAT_LOG_LEVEL=warn"}
	return orInterrupted(ctx, t.withStack(ctx, stackOptions{name: "rush", scratch: true, env: quiet}, once))
}

func (t *tool) rushOn(ctx context.Context, s *stack, plan rushPlan, asJSON bool) error {
	r, _, err := t.race(ctx, s, plan)
	if err != nil {
		return err
	}
	r.writeTable(t.stdout)
	if asJSON {
		if err := json.NewEncoder(t.stdout).Encode(r.rushJSON); err != nil {
			return err
		}
	}
	return r.err()
}

// race creates a run, lets the people ask, and judges what came of it.
func (t *tool) race(ctx context.Context, s *stack, plan rushPlan) (result, []*click, error) {
	slug := "rush-" + uuid.NewString()[:8]
	store, err := openStore(ctx, s.PostgresURL)
	if err != nil {
		return result{}, nil, err
	}
	defer store.Close()
	if err := createRushRun(ctx, store, slug, plan); err != nil {
		return result{}, nil, err
	}
	before, err := settledBy(ctx, s.WorkerAdminURL)
	if err != nil {
		return result{}, nil, err
	}
	t.log.printf("run %s: %s", slug, plan)
	clicks := newClicks(plan)
	waiting := func(ctx context.Context) (int64, error) {
		run, err := store.Run(ctx, slug)
		return run.Waiting(), err
	}
	meter := startMeter(s.Processes)
	if err := t.ask(ctx, newCrowd(plan, clicks, s.APIURL, slug, waiting)); err != nil {
		return result{}, nil, err
	}
	used := meter.used()
	after, err := settledBy(ctx, s.WorkerAdminURL)
	if err != nil {
		return result{}, nil, err
	}
	written, err := readLedger(ctx, s.PostgresURL, slug)
	if err != nil {
		return result{}, nil, err
	}
	r := judge(plan, clicks, written)
	r.rushCPU = newRushCPU(used, r.Confirmed)
	r.SettledByTaskShare = rounded(share(after.task-before.task, after.sweep-before.sweep))
	mail, err := t.awaitMail(ctx, s, slug)
	if err != nil {
		return result{}, nil, err
	}
	r.judgeMail(mail)
	return r, clicks, nil
}

// createRushRun creates the run through the store: there is nobody to ask for it
// over HTTP.
func createRushRun(ctx context.Context, store *postgres.Store, slug string, plan rushPlan) error {
	err := store.CreateCourse(ctx, enroll.Course{Slug: "rush", Title: "Rush"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		return err
	}
	now := time.Now()
	_, err = store.CreateRun(ctx, enroll.Run{
		Course: "rush", Slug: slug, TimeZone: "UTC", Capacity: &plan.seats, WaitlistCapacity: plan.waitlist,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	})
	return err
}
