-- Example courses and runs. What exists already stays as it is, so it may be executed again and again.

INSERT INTO courses (slug, title, description, organiser, reply_to)
VALUES ('go', 'Go for people who ship', 'Two days of Go, from the first test to the first deployment.',
        'The Go School', 'hello@go-school.example'),
       ('sql', 'SQL evenings', 'Five evenings about queries, locks and the plans behind them.', '', '')
ON CONFLICT (slug) DO NOTHING;

-- A capacity of NULL is no limit.
INSERT INTO runs (course_id, slug, location, time_zone, opens_at, closes_at, starts_at, ends_at,
                  capacity, waitlist_capacity)
SELECT c.id, r.slug, r.location, 'Europe/Berlin', date_trunc('day', now()), r.day, r.day + interval '9 hours', r.day + interval '17 hours',
       r.capacity, r.waitlist_capacity
FROM (VALUES
        ('go', 'go-last-seat', 'Berlin, Room 2', date_trunc('day', now()) + interval '30 days', 1, 0),
        ('go', 'go-waiting-list', 'Munich, Room 7', date_trunc('day', now()) + interval '60 days', 1, 5),
        ('sql', 'sql-unlimited', 'Online', date_trunc('day', now()) + interval '90 days', NULL, 0)
     ) AS r (course, slug, location, day, capacity, waitlist_capacity)
JOIN courses c ON c.slug = r.course
ON CONFLICT (slug) DO NOTHING;
