package lane_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// seated gives so many people a seat in the run, without going through the line
// one by one.
func (p *place) seated(slug string, people int) {
	p.t.Helper()
	for _, sql := range []string{
		`INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, accepted_at, status, decided_at)
			SELECT r.id, n, gen_random_uuid(), 'register', 'A Person', 's' || n || '@example.org', 's' || n || '@example.org', now(), 'confirmed', now()
			FROM runs r, generate_series(1, $2::bigint) n WHERE r.slug = $1`,
		`INSERT INTO users (email_key, email, name) SELECT 's' || n || '@example.org', 's', 'A Person' FROM generate_series(1, $2::bigint) n WHERE $1 <> ''`,
		`INSERT INTO attendances (run_id, user_id, ticket) SELECT q.run_id, u.id, q.ticket
			FROM requests q JOIN users u USING (email_key) JOIN runs r ON r.id = q.run_id WHERE r.slug = $1 AND q.ticket <= $2::bigint`,
		`UPDATE lines SET last_ticket = $2::bigint, last_accepted_at = now() WHERE run_id = (SELECT id FROM runs WHERE slug = $1)`,
		`UPDATE runs SET settled_ticket = $2::bigint, attendances_count = $2::bigint WHERE slug = $1`,
	} {
		pgtest.Exec(p.t, p.url, sql, slug, people)
	}
}

// TestTimingCallingOffALargeRunDelaysNobodyElse has 10 000 people lose their seat while
// others ask for seats of another run, and compares how long those wait with how
// long they wait without it.
func TestTimingCallingOffALargeRunDelaysNobodyElse(t *testing.T) {
	testwait.ParallelUnlessTiming(t)
	const large = 10_000
	p := newPlace(t)
	enrolltest.OpenRun(t, p.store, "large", nil)
	enrolltest.OpenRun(t, p.store, "other", nil)
	p.seated("large", large)
	p.worker(p.store, nil)
	n := 0
	ask := func(until func() bool) (worst time.Duration) {
		first := n + 1
		for !until() {
			n++
			p.ask("other", n)
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the pace of the trickle
		}
		p.waitUntilDrained()
		waits := pgtest.Query[float64](t, p.url, `
			SELECT extract(epoch FROM decided_at - accepted_at)::float8 FROM requests q JOIN runs r ON r.id = q.run_id
			WHERE r.slug = 'other' AND q.ticket >= $1`, first)
		return time.Duration(slices.Max(waits) * float64(time.Second))
	}
	began := time.Now()
	quiet := ask(func() bool { return time.Since(began) > time.Second })

	verdicts, err := p.store.Accept(context.Background(), []enroll.Submission{enroll.NewCallOff("large")})
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	p.sender.Notify(enroll.Bundle{RunID: verdicts[0].Receipt.RunID, Run: "large", First: large + 1, Last: large + 1})
	busy := ask(func() bool {
		return pgtest.Query[bool](t, p.url, `SELECT settled_ticket > $1 FROM runs WHERE slug = 'large'`, large)[0]
	})
	t.Logf("10 000 seats were called off in %v; others waited at most %v meanwhile, and %v before", time.Since(began), busy, quiet)
	testwait.Promised(t, "a request of another run", busy, 2*time.Second)
	if left := pgtest.Query[int64](t, p.url, `SELECT count(*) FROM attendances a JOIN runs r ON r.id = a.run_id WHERE r.slug = 'large'`)[0]; left != 0 {
		t.Errorf("%d still have a seat", left)
	}
	if told := pgtest.Query[int64](t, p.url, `SELECT count(DISTINCT ticket) FROM mails WHERE kind = 'called_off'`)[0]; told != large {
		t.Errorf("%d are told, want %d", told, large)
	}
}
