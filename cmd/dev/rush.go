package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// rush is `dev rush`: many people ask for few seats at once, and somebody checks
// every outcome afterwards.
func (t *tool) rush(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("rush", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	people := flags.Int("people", 500, "")
	seats := flags.Int("seats", 20, "")
	asJSON := flags.Bool("json", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *people < 1 || *people > 1_000_000 || *seats < 0 {
		fmt.Fprintln(t.stderr, "rush: PEOPLE (-people) must be 1 to 1000000 and SEATS (-seats) 0 or more")
		return exitUsage
	}
	once := func(ctx context.Context, s *stack) error {
		return t.rushOn(ctx, s, *people, *seats, *asJSON)
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

func (t *tool) rushOn(ctx context.Context, s *stack, people, seats int, asJSON bool) error {
	r, _, err := t.race(ctx, s, people, seats)
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
func (t *tool) race(ctx context.Context, s *stack, people, seats int) (result, []*click, error) {
	slug := "rush-" + uuid.NewString()[:8]
	if err := createRushRun(ctx, s, slug, seats); err != nil {
		return result{}, nil, err
	}
	before, err := settledBy(ctx, s.WorkerAdminURL)
	if err != nil {
		return result{}, nil, err
	}
	t.log.printf("run %s: %d people ask for %d seats at once, every tenth clicks twice", slug, people, seats)
	clicks := newClicks(people)
	if err := t.ask(ctx, s, slug, clicks); err != nil {
		return result{}, nil, err
	}
	after, err := settledBy(ctx, s.WorkerAdminURL)
	if err != nil {
		return result{}, nil, err
	}
	line, err := readLine(ctx, s, slug)
	if err != nil {
		return result{}, nil, err
	}
	r := judge(people, seats, clicks, line)
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
func createRushRun(ctx context.Context, s *stack, slug string, seats int) error {
	store, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	defer store.Close()
	err = store.CreateCourse(ctx, enroll.Course{Slug: "rush", Title: "Rush"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		return err
	}
	now := time.Now()
	_, err = store.CreateRun(ctx, enroll.Run{
		Course: "rush", Slug: slug, TimeZone: "UTC", Capacity: &seats,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	})
	return err
}
