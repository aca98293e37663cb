package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/verify"
)

// moveRun changes time or location of a run, or both, as docs/operations.md says.
// No time and no location comes twice in a run, so a mail's text shows which of
// them it tells.
func moveRun(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	run := s.people.runs[r.IntN(len(s.people.runs))]
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
	report("%s, by %s and to %q", run.slug, later, location)
	_, err = conn.Exec(ctx, `
		UPDATE runs SET starts_at = starts_at + $2, ends_at = ends_at + $2, location = coalesce(nullif($3, ''), location)
		WHERE slug = $1`, run.slug, later, location)
	if err == nil {
		run.moves = moves
	}
	return err
}

// correctionsAtOnce is how many addresses an organiser corrects in a row.
const correctionsAtOnce = 5

// correctAddresses corrects addresses of people who have a seat or a place. The
// people with the old addresses lose the registrations: their links open nothing.
func correctAddresses(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	run := s.people.runs[r.IntN(len(s.people.runs))]
	report("in %s", run.slug)
	for attempts, corrected := 0, 0; attempts < 10*correctionsAtOnce && corrected < correctionsAtOnce; attempts++ {
		c, ok := run.takeCorrectable(r)
		if !ok {
			return nil
		}
		c.To = fmt.Sprintf("corrected-%d@%s.example.org", c.Ticket, run.slug)
		done, err := s.people.correct(ctx, run, c)
		if err != nil {
			return err
		}
		if done {
			corrected++
			run.mu.Lock()
			run.corrections = append(run.corrections, c)
			run.mu.Unlock()
		}
	}
	return nil
}

// takeCorrectable takes one of the registrations that were accepted and not taken
// before; false if there is none.
func (run *run) takeCorrectable(r *rand.Rand) (c verify.Correction, ok bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	n := len(run.correctable)
	if n == 0 {
		return c, false
	}
	at := r.IntN(n)
	c = run.correctable[at]
	run.correctable[at], run.correctable = run.correctable[n-1], run.correctable[:n-1]
	return c, true
}

// correct corrects an address, as often as it takes to know the outcome, and
// reports whether it is corrected. A registration without a seat and a place, or
// one that is about to be cancelled, cannot be corrected.
func (p *people) correct(ctx context.Context, run *run, c verify.Correction) (done bool, err error) {
	q := clients.Request{
		Method: http.MethodPatch, Path: fmt.Sprintf("/v1/runs/%s/registrations/%d", run.slug, c.Ticket),
		Body: fmt.Sprintf(`{"name": "Person %d", "email": %q}`, c.Ticket, c.To), Header: p.organiser(),
	}
	a, err := p.registering.Persist(ctx, q, func(a clients.Answer) bool {
		return a.Status == http.StatusOK || a.Status == http.StatusConflict
	}, nil)
	if err != nil {
		return false, fmt.Errorf("run %s, ticket %d: correcting the address: %w", run.slug, c.Ticket, err)
	}
	return a.Status == http.StatusOK, nil
}
