package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// entry is a request as it stands in the line.
type entry struct {
	ID            uuid.UUID
	Ticket        int64
	Kind          enroll.Kind
	Key           string // of the address of who registers
	FirstKey      string // of the address that it was accepted with; empty = Key
	Corrected     *int64 // up to this ticket the line was settled with FirstKey; nil = it has had no other
	WaitlistLimit *int   // the last place on the list that is wanted; nil = any
	Target        int64  // the registration that is cancelled
	Late          bool   // accepted when the waiting list's time had come
	ByOrganiser   bool
	Seats, Places *int // what a resize changes; nil = not that
	Status        enroll.Status
	Reason        enroll.Reason
	AcceptedAt    time.Time
	DecidedAt     *time.Time
	ChangedAt     *time.Time
}

// holding is a seat, or a place on the waiting list, and whose it is.
type holding struct {
	Ticket int64
	Key    string
}

// mailRow is a mail of the outbox, in whatever state.
type mailRow struct {
	Ticket int64
	Kind   enroll.MailKind
}

// ledger is everything that the database says of a run.
type ledger struct {
	line          []entry
	seated        []holding           // its attendances
	waiting       []holding           // its waiting list
	mails         []mailRow           // that tell of seats and places
	retired       map[uuid.UUID]int64 // ids that registrations had before, by which their tickets are found
	seatsCounted  int                 // attendances_count
	placesCounted int                 // waiting_count
}

// readLedger reads the run from the database: the verdict does not rest on what
// the API says.
func readLedger(ctx context.Context, url, slug string) (l ledger, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return l, fmt.Errorf("reading the line: %w", err)
	}
	defer conn.Close(ctx)
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var run enroll.RunID
		err := tx.QueryRow(ctx, `SELECT id, attendances_count, waiting_count FROM runs WHERE slug = $1`, slug).
			Scan(&run, &l.seatsCounted, &l.placesCounted)
		if err != nil {
			return err
		}
		if l.line, err = readRows[entry](ctx, tx, run, `
			SELECT id, ticket, kind, coalesce(email_key, ''), '', corrected_after, waitlist_limit, coalesce(target, 0), late, by_organiser,
			       (change->>'capacity')::integer, (change->>'waitlist_capacity')::integer, status, coalesce(reason, ''), accepted_at, decided_at, changed_at
			FROM requests WHERE run_id = $1 ORDER BY ticket`); err != nil {
			return err
		}
		if l.seated, err = readRows[holding](ctx, tx, run, `
			SELECT a.ticket, u.email_key FROM attendances a JOIN users u ON u.id = a.user_id WHERE a.run_id = $1 ORDER BY a.ticket`); err != nil {
			return err
		}
		if l.waiting, err = readRows[holding](ctx, tx, run, `
			SELECT w.ticket, u.email_key FROM waiting w JOIN users u ON u.id = w.user_id WHERE w.run_id = $1 ORDER BY w.ticket`); err != nil {
			return err
		}
		type retiredID struct {
			ID     uuid.UUID
			Ticket int64
		}
		retired, err := readRows[retiredID](ctx, tx, run, `SELECT id, ticket FROM retired_ids WHERE run_id = $1`)
		if err != nil {
			return err
		}
		l.retired = make(map[uuid.UUID]int64, len(retired))
		for _, r := range retired {
			l.retired[r.ID] = r.Ticket
		}
		l.mails, err = readRows[mailRow](ctx, tx, run, `
			SELECT ticket, kind FROM mails
			WHERE run_id = $1 AND sequence = 0 AND kind IN ('confirmed', 'waitlisted', 'promoted', 'cancelled') ORDER BY ticket, kind`)
		return err
	})
	if err != nil {
		return l, fmt.Errorf("reading the line: %w", err)
	}
	return l, nil
}

func readRows[T any](ctx context.Context, tx pgx.Tx, run enroll.RunID, sql string) ([]T, error) {
	rows, err := tx.Query(ctx, sql, run)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
