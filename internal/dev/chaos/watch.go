package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/verify"
)

// watchInterval is the time between two looks at the lines, and so the precision
// of what is measured by them.
const watchInterval = 200 * time.Millisecond

// inBackground calls look at every watchInterval until the returned function is
// called, which waits for the last call.
func inBackground(ctx context.Context, look func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for proc.Sleep(ctx, watchInterval) {
			look(ctx)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// watchLines notes how the lines move, even across restarts of Postgres. The
// function that it returns ends that and returns the marks of each run.
func (s *system) watchLines(ctx context.Context) func() map[int32][]verify.LineMark {
	seen := make(map[int32][]verify.LineMark)
	var conn *pgx.Conn
	stop := inBackground(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if conn == nil || conn.IsClosed() {
			var err error
			if conn, err = pgx.Connect(ctx, s.postgresURL); err != nil {
				return // it is tried again at the next interval
			}
		}
		_ = readMarks(ctx, conn, seen) // the same
	})
	return func() map[int32][]verify.LineMark {
		stop()
		if conn != nil {
			conn.Close(context.WithoutCancel(ctx))
		}
		return seen
	}
}

// readMarks notes the lines that have moved.
func readMarks(ctx context.Context, conn *pgx.Conn, seen map[int32][]verify.LineMark) error {
	rows, err := conn.Query(ctx, `SELECT r.id, l.last_ticket, r.settled_ticket FROM runs r JOIN lines l ON l.run_id = r.id`)
	if err != nil {
		return err
	}
	now := time.Now()
	var run int32
	var m verify.LineMark
	_, err = pgx.ForEachRow(rows, []any{&run, &m.Last, &m.Settled}, func() error {
		marks := seen[run]
		if n := len(marks); n == 0 || marks[n-1].Last != m.Last || marks[n-1].Settled != m.Settled {
			m.At = now
			seen[run] = append(marks, m)
		}
		return nil
	})
	return err
}

// collectMails notes every mail that arrives. The function that it returns ends
// that and returns the mails.
func (s *system) collectMails(ctx context.Context) func() verify.Mails {
	arrived := make(verify.Mails)
	seen := 0
	look := func(context.Context) {
		for _, m := range s.sink.Messages() {
			if m.Number <= seen {
				continue
			}
			for ; m.Number > seen+1; seen++ {
				arrived[""] = append(arrived[""], verify.Mail{}) // the sink has dropped it already
			}
			seen = m.Number
			mail := verify.ReadMail(m)
			arrived[mail.ID] = append(arrived[mail.ID], mail)
		}
	}
	stop := inBackground(ctx, look)
	return func() verify.Mails {
		stop()
		look(ctx)
		return arrived
	}
}

// awaitIdle waits until nothing is left to do, and returns what is left when its
// patience ends.
func (s *system) awaitIdle(ctx context.Context) (verify.Findings, error) {
	var pending verify.Findings
	var mu sync.Mutex
	defer s.tool.Log.Progress(ctx, 5*time.Second, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(pending[:min(len(pending), 3)], "; ")
	})()
	for began := time.Now(); time.Since(began) < idlePatience; {
		now, err := s.pending(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		pending = now
		mu.Unlock()
		if len(now) == 0 {
			return nil, nil
		}
		if !proc.Sleep(ctx, time.Second) {
			return nil, ctx.Err()
		}
	}
	return pending, nil
}

// pending returns what is left to do: programs that are not ready, lines to be
// settled, mails to be sent, tasks on queues.
func (s *system) pending(ctx context.Context) (all verify.Findings, err error) {
	for _, p := range s.programs {
		if err := p.ready(ctx); err != nil {
			all.Addf("%s is not ready", p.Name)
		}
	}
	lines, err := s.store.Backlogs(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		all.Addf("run %s: a request has waited for %s", l.Run, l.Age.Round(time.Second))
	}
	mails, err := s.store.MailBacklog(ctx)
	if err != nil {
		return nil, err
	}
	if mails.Pending > 0 {
		all.Addf("%d mails wait, the oldest for %s", mails.Pending, mails.Oldest.Round(time.Second))
	}
	changes, err := s.changesToTell(ctx)
	if err != nil {
		return nil, err
	}
	if changes > 0 {
		all.Addf("%d runs were moved, and the mails about that are not written", changes)
	}
	tasks, err := s.tasks()
	return append(all, tasks...), err
}

// changesToTell returns how many runs were moved whose notices are not written.
func (s *system) changesToTell(ctx context.Context) (n int, err error) {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM run_changes WHERE opened_at IS NOT NULL OR after IS NOT NULL`).Scan(&n)
	return n, err
}

// tasks returns the tasks on Asynq's queues, in any state.
func (s *system) tasks() (all []string, err error) {
	o, err := asynq.ParseRedisURI(s.redisURL)
	if err != nil {
		return nil, err
	}
	inspector := asynq.NewInspector(o)
	defer func() { _ = inspector.Close() }() // it only read
	queues, err := inspector.Queues()
	if err != nil {
		return nil, err
	}
	for _, name := range queues {
		q, err := inspector.GetQueueInfo(name)
		if err != nil {
			return nil, err
		}
		if q.Size > 0 {
			all = append(all, fmt.Sprintf("queue %s: tasks active: %d, pending: %d, scheduled: %d, to be tried again: %d, archived: %d",
				name, q.Active, q.Pending, q.Scheduled, q.Retry, q.Archived))
		}
	}
	return all, nil
}
