package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Registrations returns the registrations with these ids, in any order. Unknown
// ids are left out.
func (s *Store) Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error) {
	return collect(ctx, s, "reading registrations", scanRegistration, `
		SELECT q.id, q.run_id, r.slug, q.ticket, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, r.settled_ticket
		FROM requests q CROSS JOIN LATERAL (SELECT slug, settled_ticket FROM runs r WHERE r.id = q.run_id LIMIT 1) r
		WHERE q.id = ANY($1)`, ids)
}

func scanRegistration(row pgx.CollectableRow) (r enroll.Registration, err error) {
	var decided *time.Time
	err = row.Scan(&r.ID, &r.RunID, &r.Run, &r.Ticket, &r.Status, &r.Reason, &r.AcceptedAt, &decided, &r.SettledTicket)
	if decided != nil {
		r.DecidedAt = *decided
	}
	return r, err
}
