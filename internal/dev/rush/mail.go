package rush

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// mailPatience is how long a rush waits for its confirmations to be sent. The rest
// is sent in the background, as many a second as configured.
const mailPatience = 10 * time.Second

// confirmations is a run's confirmations in the outbox.
type confirmations struct {
	Written int // one for each seat, if all is right
	Seats   int // that have one
	Sent    int
	Failed  int
	Skipped int // superseded: the seat was given up before
}

// awaitConfirmations waits until the confirmations of the run are sent, for
// mailPatience at most.
func awaitConfirmations(ctx context.Context, log *proc.Console, url, slug string) (c confirmations, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return c, fmt.Errorf("reading the outbox: %w", err)
	}
	defer conn.Close(ctx)
	stop := log.Progress(ctx, time.Second, func() string { return "waiting for the confirmations to be sent" })
	defer stop()
	for began := time.Now(); ; {
		rows, _ := conn.Query(ctx, `
			SELECT count(*), count(DISTINCT m.ticket), count(*) FILTER (WHERE m.state = 'sent'), count(*) FILTER (WHERE m.state = 'failed'),
			       count(*) FILTER (WHERE m.state = 'skipped')
			FROM mails m JOIN runs r ON r.id = m.run_id WHERE r.slug = $1 AND m.kind = 'confirmed'`, slug)
		if c, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[confirmations]); err != nil { // with the error of Query
			return c, fmt.Errorf("reading the outbox: %w", err)
		}
		if c.Sent+c.Failed+c.Skipped == c.Written || time.Since(began) > mailPatience {
			return c, nil
		}
		if !proc.Sleep(ctx, 100*time.Millisecond) {
			return c, ctx.Err()
		}
	}
}

// judgeConfirmations checks that each seat that was given at once has a
// confirmation, that no other request has one, and that they are sent.
func (r *Result) judgeConfirmations(c confirmations) {
	r.Confirmations, r.ConfirmationsSent, r.ConfirmationsSuperseded = c.Written, c.Sent, c.Skipped
	if c.Written != r.seatedAtOnce || c.Seats != r.seatedAtOnce {
		r.Addf("%d confirmations were written for %d of %d seats", c.Written, c.Seats, r.seatedAtOnce)
	}
	if due := c.Written - c.Skipped; due > 0 && c.Sent == 0 {
		r.Addf("none of %d confirmations was sent within %v", due, mailPatience)
	}
	if c.Failed > 0 {
		r.Addf("%d confirmations were refused by the mail server", c.Failed)
	}
}
