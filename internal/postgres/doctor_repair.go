package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/doctor"
)

// lockedForRepair reads, under the locks, what is to be repaired, and whether the
// seats and places are those that belong: only then do they say what a counter
// has to be.
const lockedForRepair = `
SELECT r.attendances_count, r.waiting_count, l.last_ticket, seats.n, places.n, coalesce(line.last, 0), l.last_accepted_at < line.accepted,
       seats.n = line.confirmed AND seats.n = seats.earned, places.n = line.waitlisted AND places.n = places.earned
FROM runs r JOIN lines l ON l.run_id = r.id
CROSS JOIN LATERAL (
    SELECT max(ticket) AS last, coalesce(max(accepted_at), '-infinity') AS accepted,
           count(*) FILTER (WHERE status = 'confirmed') AS confirmed, count(*) FILTER (WHERE status = 'waitlisted') AS waitlisted
    FROM requests q WHERE q.run_id = r.id
) line
CROSS JOIN LATERAL (
    SELECT count(*) AS n, count(*) FILTER (WHERE q.status = 'confirmed') AS earned
    FROM attendances a LEFT JOIN requests q ON q.run_id = a.run_id AND q.ticket = a.ticket WHERE a.run_id = r.id
) seats
CROSS JOIN LATERAL (
    SELECT count(*) AS n, count(*) FILTER (WHERE q.status = 'waitlisted') AS earned
    FROM waiting w LEFT JOIN requests q ON q.run_id = w.run_id AND q.ticket = w.ticket WHERE w.run_id = r.id
) places
WHERE r.slug = $1`

// Repair corrects what has one right answer: the counters of the run, from the
// rows they count, and the head of a line that lags behind its line. It holds the
// locks of accepting and settling, in their order. No outcome is changed. The
// error has code NotFound if there is no such run.
func (s *Store) Repair(ctx context.Context, slug string) (doctor.Repaired, error) {
	var done doctor.Repaired
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, lock := range []string{
			`SELECT FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = $1) FOR NO KEY UPDATE`,
			`SELECT FROM runs WHERE slug = $1 FOR NO KEY UPDATE`,
		} {
			if _, err := tx.Exec(ctx, lock, slug); err != nil {
				return err
			}
		}
		// A statement of its own: its snapshot has what was written before the
		// locks were ours.
		var seats, places, last doctor.Correction
		var lags, seatsBelong, placesBelong bool
		err := tx.QueryRow(ctx, lockedForRepair, slug).Scan(&seats.From, &places.From, &last.From, &seats.To, &places.To, &last.To, &lags,
			&seatsBelong, &placesBelong)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("run")
		} else if err != nil {
			return err
		}
		write := func(is bool, sql string, args ...any) {
			if is && err == nil {
				_, err = tx.Exec(ctx, sql, append([]any{slug}, args...)...)
			}
		}
		if seatsBelong && seats.From != seats.To {
			done.AttendancesCount = &seats
		}
		if placesBelong && places.From != places.To {
			done.WaitingCount = &places
		}
		if last.From < last.To {
			done.LastTicket = &last
		}
		done.LastAcceptedAt = lags
		write(done.AttendancesCount != nil, `UPDATE runs SET attendances_count = $2 WHERE slug = $1`, seats.To)
		write(done.WaitingCount != nil, `UPDATE runs SET waiting_count = $2 WHERE slug = $1`, places.To)
		write(done.LastTicket != nil, `UPDATE lines SET last_ticket = $2 WHERE run_id = (SELECT id FROM runs WHERE slug = $1)`, last.To)
		write(lags, `
			UPDATE lines SET last_accepted_at = (SELECT max(accepted_at) FROM requests q WHERE q.run_id = lines.run_id)
			WHERE run_id = (SELECT id FROM runs WHERE slug = $1)`)
		return err
	})
	if err != nil {
		return doctor.Repaired{}, translate("repairing a run", err)
	}
	return done, nil
}
