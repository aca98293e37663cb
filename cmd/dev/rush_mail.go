package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// mailPatience is how long a rush waits for its confirmations to be sent. Many more than that takes are sent in the
// background, as many a second as the configuration says.
const mailPatience = 10 * time.Second

// confirmations is what the outbox says of a run's.
type confirmations struct {
	Written int // one for each seat, if all is right
	Seats   int // that have one
	Sent    int
	Failed  int
	Skipped int // superseded: the seat was given up before
}

// awaitMail waits until the confirmations of the run are sent, or for as long as its patience lasts.
func (t *tool) awaitMail(ctx context.Context, s *stack, slug string) (c confirmations, err error) {
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		return c, fmt.Errorf("reading the outbox: %w", err)
	}
	defer conn.Close(ctx)
	stop := t.progress(ctx, func() string { return "waiting for the confirmations to be sent" })
	defer stop()
	for began := time.Now(); ; {
		rows, err := conn.Query(ctx, `
			SELECT count(*), count(DISTINCT m.ticket), count(*) FILTER (WHERE m.state = 'sent'), count(*) FILTER (WHERE m.state = 'failed'),
			       count(*) FILTER (WHERE m.state = 'skipped')
			FROM mails m JOIN runs r ON r.id = m.run_id WHERE r.slug = $1 AND m.kind = 'confirmed'`, slug)
		if err != nil {
			return c, fmt.Errorf("reading the outbox: %w", err)
		}
		if c, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[confirmations]); err != nil {
			return c, fmt.Errorf("reading the outbox: %w", err)
		}
		if c.Sent+c.Failed+c.Skipped == c.Written || time.Since(began) > mailPatience {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// judgeMail adds what is wrong with the confirmations: each seat that was given at once has one, and no other request has.
func (r *result) judgeMail(c confirmations) {
	r.Confirmations, r.ConfirmationsSent, r.ConfirmationsSuperseded = c.Written, c.Sent, c.Skipped
	if c.Written != r.directSeats || c.Seats != r.directSeats {
		r.wrong = append(r.wrong, fmt.Sprintf("%d confirmations were written for %d of %d seats", c.Written, c.Seats, r.directSeats))
	}
	if due := c.Written - c.Skipped; due > 0 && c.Sent == 0 {
		r.wrong = append(r.wrong, fmt.Sprintf("none of %d confirmations was sent within %v", due, mailPatience))
	}
	if c.Failed > 0 {
		r.wrong = append(r.wrong, fmt.Sprintf("%d confirmations were refused by the mail server", c.Failed))
	}
}
