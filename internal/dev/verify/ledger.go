package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Entry is a request in the line.
type Entry struct {
	ID            uuid.UUID
	Ticket        int64
	Kind          enroll.Kind
	Key           string // of a registration's address
	FirstKey      string // of the address before a correction; empty = Key
	Corrected     *int64 // up to this ticket the line was settled with FirstKey; nil = never corrected
	WaitlistLimit *int   // the last place on the list that is wanted; nil = any
	Target        int64  // the registration that is cancelled
	Late          bool   // accepted when the waiting list's time had come
	ByOrganiser   bool
	Seats, Places *int // of a resize; nil = not changed
	Status        enroll.Status
	Reason        enroll.Reason
	AcceptedAt    time.Time
	DecidedAt     *time.Time
	ChangedAt     *time.Time
}

// Holding is a seat or a place on the waiting list, and whose it is.
type Holding struct {
	Ticket int64
	Key    string
}

// MailRow is a mail of the outbox, in any state.
type MailRow struct {
	Ticket int64
	Kind   enroll.MailKind
}

// Ledger is everything that the database says about a run.
type Ledger struct {
	Line          []Entry
	Seated        []Holding           // its attendances
	Waiting       []Holding           // its waiting list
	Mails         []MailRow           // about seats and places
	Retired       map[uuid.UUID]int64 // the tickets of ids that corrections replaced
	SeatsCounted  int                 // attendances_count
	PlacesCounted int                 // waiting_count
}

// ReadLedger reads the run from the database at url, in one snapshot.
func ReadLedger(ctx context.Context, url, slug string) (l Ledger, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return l, fmt.Errorf("reading the line: %w", err)
	}
	defer conn.Close(ctx)
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error { return l.read(ctx, tx, slug) })
	if err != nil {
		return l, fmt.Errorf("reading the line: %w", err)
	}
	return l, nil
}

func (l *Ledger) read(ctx context.Context, tx pgx.Tx, slug string) error {
	var run enroll.RunID
	err := tx.QueryRow(ctx, `SELECT id, attendances_count, waiting_count FROM runs WHERE slug = $1`, slug).
		Scan(&run, &l.SeatsCounted, &l.PlacesCounted)
	if err != nil {
		return err
	}
	if l.Line, err = readRows[Entry](ctx, tx, run, `
		SELECT id, ticket, kind, coalesce(email_key, ''), '', corrected_after, waitlist_limit, coalesce(target, 0), late, by_organiser,
		       (change->>'capacity')::integer, (change->>'waitlist_capacity')::integer, status, coalesce(reason, ''), accepted_at, decided_at, changed_at
		FROM requests WHERE run_id = $1 ORDER BY ticket`); err != nil {
		return err
	}
	if l.Seated, err = readRows[Holding](ctx, tx, run, `
		SELECT a.ticket, u.email_key FROM attendances a JOIN users u ON u.id = a.user_id WHERE a.run_id = $1 ORDER BY a.ticket`); err != nil {
		return err
	}
	if l.Waiting, err = readRows[Holding](ctx, tx, run, `
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
	l.Retired = make(map[uuid.UUID]int64, len(retired))
	for _, r := range retired {
		l.Retired[r.ID] = r.Ticket
	}
	l.Mails, err = readRows[MailRow](ctx, tx, run, `
		SELECT ticket, kind FROM mails
		WHERE run_id = $1 AND sequence = 0 AND kind IN ('confirmed', 'waitlisted', 'promoted', 'cancelled') ORDER BY ticket, kind`)
	return err
}

func readRows[T any](ctx context.Context, tx pgx.Tx, run enroll.RunID, sql string) ([]T, error) {
	rows, err := tx.Query(ctx, sql, run)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// entry returns the entry with the ticket, nil if the line is shorter.
func (l *Ledger) entry(ticket int64) *Entry {
	if ticket < 1 || ticket > int64(len(l.Line)) {
		return nil
	}
	return &l.Line[ticket-1]
}
