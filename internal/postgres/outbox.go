package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// MailsDue returns the mails that wait to be sent now, the longest waiting
// first, at most so many.
func (s *Store) MailsDue(ctx context.Context, most int) ([]enroll.DueMail, error) {
	return collect(ctx, s, "looking for mails", pgx.RowToStructByPos[enroll.DueMail], `
		SELECT id, attempts, replaced, next_at FROM mails WHERE state = 'pending' AND next_at <= now() ORDER BY next_at LIMIT $1`, most)
}

// asRead finds the mails $1 to $4 that are as they were read: a claim, the end of
// an attempt and another relay each change one of these columns. A row that
// another transaction holds is being changed, so it is left out too: these
// statements wait for no row, and no two of them wait for each other. The columns
// are compared outside of the lookup, which sees the row as it was before. What has
// not ended is pending; asked for the state, the plan could go through all that is.
const (
	asRead = `
FROM unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[]) AS was (id, attempts, replaced, next_at)
CROSS JOIN LATERAL (SELECT o.ctid AS at FROM mails o WHERE o.id = was.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) o
WHERE m.ctid = o.at AND m.ended_at IS NULL AND (m.attempts, m.replaced, m.next_at) = (was.attempts, was.replaced, was.next_at)`
	relayed  = `UPDATE mails m SET next_at = now() + $5::interval` + asRead
	replaced = `UPDATE mails m SET replaced = m.replaced + 1` + asRead + `
RETURNING m.id, m.attempts, m.replaced, m.next_at`
)

// MailsRelayed notes that the mails are in the queue: they are not due again for
// d, unless they are claimed before. One that is no longer as it was read keeps
// its time.
func (s *Store) MailsRelayed(ctx context.Context, mails []enroll.DueMail, d time.Duration) error {
	if _, err := s.pool.Exec(ctx, relayed, append(asReadArguments(mails), d)...); err != nil {
		return translate("noting that mails are in the queue", err)
	}
	return nil
}

// ReplaceTasks notes that the tasks of the mails are lost, and returns the mails
// under whose new names tasks are to be put on the queue. The old names are void:
// a task that comes back by one of them claims nothing. A mail that is no longer
// as it was read is left out.
func (s *Store) ReplaceTasks(ctx context.Context, mails []enroll.DueMail) ([]enroll.DueMail, error) {
	return collect(ctx, s, "replacing lost tasks", pgx.RowToStructByPos[enroll.DueMail], replaced, asReadArguments(mails)...)
}

func asReadArguments(mails []enroll.DueMail) []any {
	ids, attempts, replaced, next := make([][16]byte, len(mails)), make([]int, len(mails)), make([]int, len(mails)), make([]time.Time, len(mails))
	for i, m := range mails {
		ids[i], attempts[i], replaced[i], next[i] = m.ID, m.Attempts, m.Replaced, m.NextAt
	}
	return []any{ids, attempts, replaced, next}
}

// MendDueTimes makes mails due that were written by a clock which has been set
// back since, and returns how many there were. Such a mail becomes due in the
// future, or its next look is further away than its attempts explain, or it is
// claimed for more than two leases: another worker may be configured with a longer
// lease than this one. A claimed mail may be on its way, so it stays claimed for
// one lease. A mail that another transaction holds is left to the next call.
func (s *Store) MendDueTimes(ctx context.Context, longest enroll.MailWaits) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE mails SET due_at = least(due_at, clock_timestamp()),
		    claimed_until = CASE WHEN claimed_until IS NOT NULL THEN clock_timestamp() + $1::interval END,
		    next_at = clock_timestamp() + CASE WHEN claimed_until IS NOT NULL THEN $1::interval ELSE interval '0' END
		WHERE id = ANY(ARRAY(
		    SELECT id FROM mails
		    WHERE state = 'pending' AND next_at > clock_timestamp()
		      AND CASE WHEN claimed_until IS NOT NULL THEN claimed_until > clock_timestamp() + 2 * $1::interval
		               ELSE due_at > clock_timestamp() OR next_at > clock_timestamp() + greatest(
		                   $4::interval, CASE WHEN attempts > 0 THEN least($2::interval * power(2, least(attempts - 1, 20)), $3::interval) END) END
		    FOR NO KEY UPDATE SKIP LOCKED
		))`, longest.Lease, longest.RetryMin, longest.RetryMax, longest.Held)
	if err != nil {
		return 0, translate("looking for mails from the future", err)
	}
	return int(tag.RowsAffected()), nil
}

// MailBacklog returns what waits in the outbox.
func (s *Store) MailBacklog(ctx context.Context) (b enroll.MailBacklog, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE due_at <= now() - $1::interval),
		       count(*) FILTER (WHERE due_at <= now() - $1::interval AND attempts = 0),
		       coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 * interval '1 second'
		FROM mails WHERE state = 'pending'`, enroll.MailPatience).Scan(&b.Pending, &b.Overdue, &b.Untried, &b.Oldest)
	if err != nil {
		return enroll.MailBacklog{}, translate("counting the mails that wait", err)
	}
	return b, nil
}

// EndMailAttempt writes how an attempt ended, unless another worker has claimed
// the mail since. It may be called again. What certainly did not leave is not
// counted as having left.
func (s *Store) EndMailAttempt(ctx context.Context, id uuid.UUID, attempt int, end enroll.MailAttempt) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE mails
		SET state = $3, problem = $4, claimed_until = NULL, next_at = clock_timestamp() + $5::interval,
		    ended_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END,
		    left_at = CASE WHEN $3 = 'sent' OR $6 THEN left_at END
		WHERE id = $1 AND attempts = $2 AND state = 'pending'`, id, attempt, end.State, end.Problem, end.After, end.Unanswered)
	if err != nil {
		return translate(fmt.Sprintf("ending attempt %d of a mail", attempt), err)
	}
	return nil
}
