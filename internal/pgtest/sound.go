package pgtest

import "testing"

// unsound names each rule of the ledger with a query for what breaks it.
var unsound = map[string]string{
	"counters equal rows": `
		SELECT r.slug FROM runs r LEFT JOIN attendances a ON a.run_id = r.id
		GROUP BY r.id HAVING r.attendances_count <> count(a.run_id)`,
	"no run is sold beyond its capacity": `
		SELECT slug FROM runs WHERE attendances_count > capacity`,
	"tickets up to settled_ticket are decided and none after it": `
		SELECT r.slug || ' ' || q.ticket FROM runs r JOIN requests q ON q.run_id = r.id
		WHERE (q.ticket <= r.settled_ticket) <> (q.status <> 'queued')`,
	"lines are dense": `
		SELECT r.slug FROM runs r JOIN lines l ON l.run_id = r.id LEFT JOIN requests q ON q.run_id = r.id
		GROUP BY r.slug, l.last_ticket HAVING l.last_ticket <> count(q.ticket) OR l.last_ticket <> coalesce(max(q.ticket), 0)`,
	"accepted_at never runs backwards": `
		SELECT ticket::text FROM (
			SELECT ticket, accepted_at, lag(accepted_at) OVER (PARTITION BY run_id ORDER BY ticket) AS before FROM requests
		) q WHERE accepted_at < before`,
	"whoever is confirmed holds the seat, and nobody else": `
		SELECT coalesce(q.run_id, a.run_id) || ' ' || coalesce(q.ticket, a.ticket)
		FROM (SELECT * FROM requests WHERE status = 'confirmed') q
		FULL JOIN attendances a ON a.run_id = q.run_id AND a.ticket = q.ticket
		LEFT JOIN users u ON u.id = a.user_id
		WHERE a.run_id IS NULL OR q.run_id IS NULL OR u.email_key <> q.email_key`,
	"nobody overtakes": `
		SELECT late.run_id || ': ' || late.ticket || ' before ' || early.ticket
		FROM requests late JOIN requests early ON early.run_id = late.run_id AND early.ticket < late.ticket
		WHERE late.status = 'confirmed' AND early.reason = 'full'`,
}

// RequireSound fails the test if the ledger at url breaks a rule. Every test
// that settles ends with it, unless it lowered a capacity.
func RequireSound(t testing.TB, url string) {
	t.Helper()
	for rule, query := range unsound {
		if broken := Query[string](t, url, query); len(broken) > 0 {
			t.Errorf("a rule is broken: %s: %.200q", rule, broken)
		}
	}
}
