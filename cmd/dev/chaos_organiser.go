package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// known is a registration as whoever asked for it was told of it first.
type known struct {
	ticket int64
	id     uuid.UUID
	email  string
}

// correction is a registration whose address an organiser has corrected.
type correction struct {
	known
	email string // that it has now
}

// runMoved changes time or location of a run, or both, as docs/operations.md says.
// No time and no location comes twice in a run, so that a mail shows which of them
// it tells.
func runMoved(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	run := s.visitors.runs[r.IntN(len(s.visitors.runs))]
	run.mu.Lock()
	defer run.mu.Unlock()
	moves := run.moves + 1
	later, location := 24*time.Hour, fmt.Sprintf("Hall %d", moves)
	switch r.IntN(3) {
	case 0:
		later = 0
	case 1:
		location = ""
	}
	tell("%s, by %s and to %q", run.slug, later, location)
	_, err = conn.Exec(ctx, `
		UPDATE runs SET starts_at = starts_at + $2, ends_at = ends_at + $2, location = coalesce(nullif($3, ''), location)
		WHERE slug = $1`, run.slug, later, location)
	if err == nil {
		run.moves = moves
	}
	return err
}

// mistakesAtOnce is how many addresses an organiser corrects one after the other.
const mistakesAtOnce = 5

// addressCorrected corrects addresses of people who have a seat or a place. From
// then on the first ones are strangers: their links open nothing.
func addressCorrected(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	run := s.visitors.runs[r.IntN(len(s.visitors.runs))]
	tell("in %s", run.slug)
	for tries, corrected := 0, 0; tries < 10*mistakesAtOnce && corrected < mistakesAtOnce; tries++ {
		k, any := run.pickKnown(r)
		if !any {
			return nil
		}
		address := fmt.Sprintf("corrected-%d@%s.example.org", k.ticket, run.slug)
		done, err := s.visitors.correct(ctx, run, k, address)
		if err != nil {
			return err
		}
		if done {
			corrected++
			run.mu.Lock()
			run.corrections = append(run.corrections, correction{known: k, email: address})
			run.mu.Unlock()
		}
	}
	return nil
}

// pickKnown takes one of the registrations that somebody knows of and that were
// not taken before.
func (run *chaosRun) pickKnown(r *rand.Rand) (k known, any bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	n := len(run.known)
	if n == 0 {
		return k, false
	}
	at := r.IntN(n)
	k = run.known[at]
	run.known[at], run.known = run.known[n-1], run.known[:n-1]
	return k, true
}

// correct corrects an address, as often as it takes to know what came of it, and
// tells whether it is corrected. One that has neither a seat nor a place, or that
// is about to be cancelled, cannot be.
func (v *visitors) correct(ctx context.Context, run *chaosRun, k known, address string) (done bool, err error) {
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + v.token}}
	path := fmt.Sprintf("/v1/runs/%s/registrations/%d", run.slug, k.ticket)
	body := fmt.Sprintf(`{"name": "Person %d", "email": %q}`, k.ticket, address)
	for began := time.Now(); ; {
		a, err := v.asking.call(ctx, http.MethodPatch, path, body, header.Clone())
		switch {
		case err == nil && a.code == http.StatusOK:
			return true, nil
		case err == nil && a.code == http.StatusConflict:
			return false, nil
		case time.Since(began) > giveUp || ctx.Err() != nil || err == nil && a.code != http.StatusServiceUnavailable:
			return false, fmt.Errorf("run %s, ticket %d: status %d: %w", run.slug, k.ticket, a.code, errOr(err, "not corrected"))
		}
		if !sleep(ctx, max(a.wait, shortly)) {
			return false, ctx.Err()
		}
	}
}
