package rush

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/dev/verify"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// Race creates a run on the stack, lets the people of the plan ask for its seats,
// and judges the outcome.
func Race(ctx context.Context, log *proc.Console, s *stack.Stack, plan Plan) (*Result, []*clients.Submission, error) {
	slug := "rush-" + uuid.NewString()[:8]
	store, err := stack.OpenStore(ctx, s.PostgresURL)
	if err != nil {
		return nil, nil, err
	}
	defer store.Close()
	if err := createRun(ctx, store, slug, plan); err != nil {
		return nil, nil, err
	}
	before, err := readSettled(ctx, s.WorkerAdminURL)
	if err != nil {
		return nil, nil, err
	}
	log.Printf("run %s: %s", slug, plan)
	submissions := clients.NewSubmissions(plan.People, plan.Cancel)
	undecided := func(ctx context.Context) (int64, error) {
		run, err := store.Run(ctx, slug)
		return run.Waiting(), err
	}
	meter := proc.StartMeter(s.Processes)
	if err := clients.NewRush(submissions, plan.Cancel > 0, s.APIURL, slug, undecided).Run(ctx, log); err != nil {
		return nil, nil, err
	}
	used := meter.Used()
	after, err := readSettled(ctx, s.WorkerAdminURL)
	if err != nil {
		return nil, nil, err
	}
	written, err := verify.ReadLedger(ctx, s.PostgresURL, slug)
	if err != nil {
		return nil, nil, err
	}
	r := judge(plan, submissions, written)
	r.cpu = newCPU(used, r.Confirmed)
	r.SettledByTaskShare = verify.Rounded(taskShare(after.task-before.task, after.sweep-before.sweep))
	mails, err := awaitConfirmations(ctx, log, s.PostgresURL, slug)
	if err != nil {
		return nil, nil, err
	}
	r.judgeConfirmations(mails)
	return r, submissions, nil
}

// createRun creates the run through the store: the API cannot create runs.
func createRun(ctx context.Context, store *postgres.Store, slug string, plan Plan) error {
	err := store.CreateCourse(ctx, enroll.Course{Slug: "rush", Title: "Rush"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		return err
	}
	now := time.Now()
	_, err = store.CreateRun(ctx, enroll.Run{
		Course: "rush", Slug: slug, TimeZone: "UTC", Capacity: &plan.Seats, WaitlistCapacity: plan.Waitlist,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	})
	return err
}
