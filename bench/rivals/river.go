package rivals

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// serialRiver is River with one queue that does one job at a time. The queue is a
// table in Postgres, so what was accepted is safe, and job and outcome are in the
// same database. Jobs run in the order of their ids, which they get before their
// transactions commit, and a job that is tried again goes to the back.
var serialRiver = Contender{
	Name:      "river",
	What:      "a job per request in one River queue with MaxWorkers 1, a transaction per job",
	Lacks:     "order (of ids, not of commits), order after failures, status",
	Recording: true,
	Async:     true,
	Pools:     []int{4, 6, 10, 20, 50}, // one of them only listens
	seats:     attendances,
	prepare: func(ctx context.Context, db *db) error {
		m, err := rivermigrate.New(riverpgxv5.New(db.Pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	},
	open: openRiver,
}

// Kind names the jobs.
func (job) Kind() string { return "decide" }

type riverWorker struct {
	river.WorkerDefaults[job]
	db *db
}

// Work decides in one statement. River notes later, for many jobs at once, that they
// are done. That is faster than noting it in the same transaction, and as safe,
// since deciding twice changes nothing.
func (w *riverWorker) Work(ctx context.Context, j *river.Job[job]) error {
	return w.db.decide(ctx, j.Args)
}

type riverBackend struct{ client *river.Client[pgx.Tx] }

func openRiver(ctx context.Context, s *server) (backend, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{db: s.db})
	client, err := river.NewClient(riverpgxv5.New(s.db.Pool), &river.Config{
		// With one worker, a fetch brings one job. At the default of one fetch in 100 ms
		// that would be ten jobs a second, so the queue has the shortest pause that River
		// allows. The client's own pause limits how often inserting notifies.
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: 1, FetchCooldown: river.FetchCooldownMin, FetchPollInterval: 20 * time.Millisecond},
		},
		FetchCooldown: 10 * time.Millisecond,
		Workers:       workers,
		Logger:        slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return riverBackend{client}, client.Start(context.WithoutCancel(ctx))
}

func (d riverBackend) ask(ctx context.Context, run int32, p person) (outcome, error) {
	_, err := d.client.Insert(ctx, newJob(run, p), nil)
	return queued, err
}

// Close stops the client. Jobs that it has not begun stay in the table.
func (d riverBackend) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.client.StopAndCancel(ctx)
}
