package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// summaryInterval is how often `make run` looks for something to tell.
const summaryInterval = 5 * time.Second

// totals are what a stack has done since its database was made.
type totals struct {
	Accepted, Decided, Mailed int
}

// summarise prints what the stack does, in place of a log line for each request,
// until ctx is done.
func summarise(ctx context.Context, log *proc.Console, s *stack.Stack) {
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		log.Printf("no summaries: %v", err)
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var before totals
	for first := true; ; first = false {
		now, err := readTotals(ctx, conn)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Printf("no more summaries: %v", err)
			return
		case !first && now != before:
			log.Printf("%s", now.since(before))
		}
		before = now
		if !proc.Sleep(ctx, summaryInterval) {
			return
		}
	}
}

func readTotals(ctx context.Context, conn *pgx.Conn) (totals, error) {
	rows, err := conn.Query(ctx, `
		SELECT coalesce(sum(l.last_ticket), 0)::bigint AS accepted, coalesce(sum(r.settled_ticket), 0)::bigint AS decided,
			(SELECT count(*) FROM mails WHERE state = 'sent') AS mailed
		FROM lines l JOIN runs r ON r.id = l.run_id`)
	if err != nil {
		return totals{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[totals])
}

func (t totals) since(before totals) string {
	text := fmt.Sprintf("%d requests accepted, %d decided, %d mails sent", t.Accepted-before.Accepted, t.Decided-before.Decided, t.Mailed-before.Mailed)
	if waiting := t.Accepted - t.Decided; waiting > 0 {
		text += fmt.Sprintf("; %d wait for a decision", waiting)
	}
	return text
}
