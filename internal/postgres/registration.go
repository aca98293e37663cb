package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// selectRegistrations reads registrations as they stand, without the place on a
// waiting list: thousands who wait are read at once when something moves, and
// moving up is nothing to tell.
const selectRegistrations = `
SELECT q.id, q.run_id, r.slug, q.ticket, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, r.settled_ticket, q.changed_at,
       coalesce(c.ticket, 0), coalesce(c.status, '')
FROM requests q
CROSS JOIN LATERAL (SELECT slug, settled_ticket FROM runs r WHERE r.id = q.run_id LIMIT 1) r
LEFT JOIN LATERAL (SELECT ticket, status FROM requests c WHERE c.run_id = q.run_id AND c.target = q.ticket LIMIT 1) c ON true
WHERE q.kind = 'register' `

// Registrations returns the registrations with these ids, in any order, those with
// an id that was retired as nothing but that. Unknown ids are left out.
func (s *Store) Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error) {
	plain := make([][16]byte, len(ids)) // which the driver encodes without reflection
	for i, id := range ids {
		plain[i] = id
	}
	found, err := collect(ctx, s, "reading registrations", scanRegistration, selectRegistrations+`AND q.id = ANY($1)`, plain)
	if err != nil || len(found) == len(ids) {
		return found, err
	}
	retired, err := s.retiredRegistrations(ctx, plain)
	return append(found, retired...), err
}

// RegistrationAt returns the registration of the run with the ticket, or an error
// of code NotFound.
func (s *Store) RegistrationAt(ctx context.Context, run string, ticket int64) (enroll.Registration, error) {
	found, err := collect(ctx, s, "reading a registration", scanRegistration, selectRegistrations+`
		AND q.run_id = (SELECT id FROM runs WHERE slug = $1) AND q.ticket = $2`, run, ticket)
	if err == nil && len(found) == 0 {
		err = notFound("registration")
	}
	if err != nil {
		return enroll.Registration{}, err
	}
	return found[0], nil
}

func scanRegistration(row pgx.CollectableRow) (r enroll.Registration, err error) {
	var decided, changed *time.Time
	err = row.Scan(&r.ID, &r.RunID, &r.Run, &r.Ticket, &r.Status, &r.Reason, &r.AcceptedAt, &decided, &r.SettledTicket, &changed,
		&r.Cancellation.Ticket, &r.Cancellation.Status)
	if decided != nil {
		r.DecidedAt = *decided
	}
	if changed != nil {
		r.ChangedAt = *changed
	}
	return r, err
}

// WaitlistPosition returns the place of the registration on its run's waiting
// list, 1 = first, and 0 if it is not on it. It counts along the list: ask for
// those who are told, not for all who wait.
func (s *Store) WaitlistPosition(ctx context.Context, r enroll.Registration) (int, error) {
	var position int
	err := s.pool.QueryRow(ctx, `
		SELECT count(*) FROM waiting w
		WHERE w.run_id = $1 AND w.ticket <= $2 AND EXISTS (SELECT FROM waiting WHERE run_id = $1 AND ticket = $2)`,
		r.RunID, r.Ticket).Scan(&position)
	if err != nil {
		return 0, translate("counting a waiting list", err)
	}
	return position, nil
}
