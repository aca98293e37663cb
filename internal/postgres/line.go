package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// linePage is how many entries of a line are read at once.
const linePage = 1000

// Line calls each for the entries of the run's line after a ticket, in ticket
// order, until it returns an error, which is then returned. It reads them page by
// page, as they are called for, and holds neither a connection nor a snapshot
// while a slow client takes them: entries are added at the end and decided in
// order, so a page says how things were when it was read. The error has code NotFound
// if there is no such run.
func (s *Store) Line(ctx context.Context, run string, after int64, each func(enroll.LineEntry) error) error {
	found, err := s.Run(ctx, run)
	if err != nil {
		return err
	}
	for {
		page, err := collect(ctx, s, "reading a line", scanEntry, `
			SELECT ticket, kind, status, coalesce(reason, ''), accepted_at, decided_at, changed_at,
			       coalesce(name, ''), coalesce(email, ''), coalesce(target, 0), by_organiser, change
			FROM requests WHERE run_id = $1 AND ticket > $2 ORDER BY ticket LIMIT $3`, found.ID, after, linePage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
			after = e.Ticket
		}
		if len(page) < linePage {
			return nil
		}
	}
}

func scanEntry(row pgx.CollectableRow) (e enroll.LineEntry, err error) {
	var decided, changed *time.Time
	var change []byte
	if err := row.Scan(&e.Ticket, &e.Kind, &e.Status, &e.Reason, &e.AcceptedAt, &decided, &changed,
		&e.Name, &e.Email, &e.Target, &e.ByOrganiser, &change); err != nil {
		return e, err
	}
	if decided != nil {
		e.DecidedAt = *decided
	}
	if changed != nil {
		e.ChangedAt = *changed
	}
	if change != nil {
		e.Change, err = parseChange(change)
	}
	return e, err
}
