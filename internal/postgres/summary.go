package postgres

// joinSummary makes the mail $1 part of the summary ($2) of its run for its
// address, for which $3 stands as its problem. If none waits, one is begun that is
// due at $4. One that is on its way takes nothing in: it may tell how things were
// before. What the mail told by itself is no longer what it tells.
const joinSummary = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), mine AS MATERIALIZED (
    SELECT m.id, m.run_id, m.ticket, a.key
    FROM clock, mails m
    LEFT JOIN LATERAL (SELECT email_key FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket LIMIT 1) q ON true
    CROSS JOIN LATERAL (SELECT coalesce(m.email_key, q.email_key) AS key) a
    WHERE m.id = $1 AND m.ended_at IS NULL AND (m.claimed_until IS NULL OR m.claimed_until <= clock.now)
      AND a.key = current_setting('lastseat.mailbox', true)
), waits AS MATERIALIZED (
    SELECT s.id, s.claimed_until
    FROM mine CROSS JOIN LATERAL (
        SELECT s.id, s.claimed_until FROM mails s
        WHERE s.email_key = mine.key AND s.run_id = mine.run_id AND s.kind = $2 AND s.ended_at IS NULL LIMIT 1
    ) s
), begun AS (
    INSERT INTO mails (kind, run_id, ticket, email_key, sequence, next_at)
    SELECT $2, mine.run_id, mine.ticket, mine.key, coalesce(last.sequence + 1, 0), $4
    FROM mine
    LEFT JOIN LATERAL (
        SELECT sequence FROM mails l WHERE l.run_id = mine.run_id AND l.ticket = mine.ticket AND l.kind = $2 ORDER BY sequence DESC LIMIT 1
    ) last ON true
    WHERE NOT EXISTS (SELECT FROM waits)
    RETURNING id
)
UPDATE mails m
SET told_by = s.id, state = 'skipped', ended_at = clock.now, claimed_until = NULL, problem = $3, revision = NULL, told_status = NULL
FROM clock, mine, (
    SELECT waits.id FROM clock, waits WHERE waits.claimed_until IS NULL OR waits.claimed_until <= clock.now
    UNION ALL
    SELECT id FROM begun
) s
WHERE m.id = $1 AND m.ended_at IS NULL`

// takeAlong makes all that waits about the run for its address part of the mail
// $1, and notes of each what it tells. It does so only if the mail is a summary
// that this transaction has claimed: what an earlier claim tells is read already.
// A mail with an address of its own was begun for that address, and stays its.
const takeAlong = `
UPDATE mails o
SET state = 'skipped', ended_at = coalesce(o.ended_at, clock_timestamp()), claimed_until = NULL, told_by = s.id, problem = $3,
    recipient = s.recipient, revision = s.revision,
    seat_told = coalesce(o.recipient = s.recipient AND (o.seat_told OR o.told_by IS NULL AND o.told_status = 'confirmed' AND o.left_at IS NOT NULL), false),
    told_status = (SELECT q.status FROM requests q WHERE q.run_id = o.run_id AND q.ticket = o.ticket)
FROM (SELECT s.id, s.recipient, s.revision FROM mails s WHERE s.id = $1 LIMIT 1) s
WHERE o.id = ANY(ARRAY(
    SELECT x.id
    FROM (
        SELECT s.id, s.run_id, s.email_key, s.claimed_until FROM mails s
        WHERE s.id = $1 AND s.kind = $4 AND s.xmin = pg_current_xact_id_if_assigned()::xid
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (SELECT q.run_id, q.ticket FROM requests q WHERE q.email_key = s.email_key OFFSET 0) q
    CROSS JOIN LATERAL (
        SELECT x.id FROM mails x
        WHERE x.run_id = q.run_id AND x.ticket = q.ticket AND x.id <> s.id
          AND (x.told_by = s.id OR x.ended_at IS NULL AND x.kind = ANY($2::text[]) AND x.email IS NULL)
        OFFSET 0
    ) x
    WHERE s.claimed_until IS NOT NULL AND q.run_id = s.run_id
    LIMIT 2000
))`

// noteTold notes that the summary $1 tells of a registration with a seat or a
// place for which no mail waited, and which was last told something else: as a
// mail of the kind $2 that joins it. Otherwise the person would be told again by
// the round that follows the change. An address has one such registration in a
// run at most. It applies to a summary that this transaction has claimed.
const noteTold = `
INSERT INTO mails (kind, run_id, ticket, sequence, state, ended_at, told_by, problem, recipient, revision, told_status)
SELECT $2, q.run_id, q.ticket, coalesce(last.sequence + 1, 0), 'skipped', clock_timestamp(), m.id, $3, m.recipient, m.revision, q.status
FROM (SELECT s.*, s.xmin AS written_by FROM mails s WHERE s.id = $1 LIMIT 1) m
CROSS JOIN LATERAL (SELECT q.* FROM requests q WHERE q.email_key = m.email_key OFFSET 0) q
CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = q.run_id LIMIT 1) r ` + toldByMail + `
LEFT JOIN LATERAL (
    SELECT l.sequence FROM mails l WHERE l.run_id = q.run_id AND l.ticket = q.ticket AND l.kind = $2 ORDER BY l.sequence DESC LIMIT 1
) last ON true
LEFT JOIN LATERAL (
    SELECT true AS told
    FROM (SELECT id, told_by FROM mails o WHERE o.run_id = q.run_id AND o.ticket = q.ticket OFFSET 0) o
    WHERE o.id = m.id OR o.told_by = m.id
    LIMIT 1
) by_mail ON true
WHERE m.kind = $4 AND m.claimed_until IS NOT NULL AND m.written_by = pg_current_xact_id_if_assigned()::xid
  AND q.run_id = m.run_id AND q.status IN ('confirmed', 'waitlisted') AND by_mail.told IS NULL
  AND (t.status IS DISTINCT FROM q.status
       OR (old.starts_at, old.ends_at, old.time_zone, old.location) IS DISTINCT FROM (r.starts_at, r.ends_at, r.time_zone, r.location))
ON CONFLICT DO NOTHING -- an organiser has one sent again at this instant`

// joinedSummary is the problem of a mail that a summary tells.
const joinedSummary = "a summary tells this, since much about the run went to the address"
