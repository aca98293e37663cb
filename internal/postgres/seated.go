package postgres

import (
	"context"

	"github.com/lastseat/lastseat/internal/enroll"
)

// wasSeated tells of a registration q whether it has a seat or had one. What a
// cancelled one had stands in its mails: each seat that is given writes one, in
// the same transaction.
const wasSeated = `
CASE WHEN q.status <> 'cancelled' THEN q.status = 'confirmed'
     ELSE (SELECT true FROM mails o WHERE o.run_id = q.run_id AND o.ticket = q.ticket AND o.kind IN ('confirmed', 'promoted') LIMIT 1) IS TRUE END`

// askedFor lists the other names, three at most, for which the address of the
// registration q has asked again since the mail before m, which told of that. What
// it costs depends on how often the address has asked.
const askedFor = `ARRAY(
    SELECT o.name
    FROM (SELECT o.run_id, o.reason, o.decided_at, o.name, o.ticket FROM requests o WHERE o.email_key = q.email_key OFFSET 0) o
    WHERE o.run_id = q.run_id AND o.reason = 'already_registered' AND o.name <> q.name AND o.decided_at > m.due_at - interval '10 minutes'
    GROUP BY o.name
    ORDER BY min(o.ticket)
    LIMIT 3
)`

// WasSeated tells whether the registration has a seat or had one.
func (s *Store) WasSeated(ctx context.Context, r enroll.Registration) (bool, error) {
	var seated bool
	err := s.pool.QueryRow(ctx, `SELECT `+wasSeated+` FROM requests q WHERE q.run_id = $1 AND q.ticket = $2`, r.RunID, r.Ticket).Scan(&seated)
	if err != nil {
		return false, translate("looking for a seat that a registration had", err)
	}
	return seated, nil
}
