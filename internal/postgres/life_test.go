package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestAcceptJudgesAsLifeSays holds the statement that accepts requests against
// enroll.Life, on random runs at random instants: each is one of a few hours, so
// that many fall together. Lines take the instant from their last request.
func TestAcceptJudgesAsLifeSays(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3))
	o.settleAll()
	o.do(ask(4)) // tickets 1 and 2 have seats, 3 waits, 4 is queued
	pgtest.Damage(t, o.url, `SELECT`)
	conn, err := pgx.Connect(t.Context(), o.url) // hundreds of statements
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	targets := map[int64]enroll.Status{1: enroll.Confirmed, 3: enroll.Waitlisted, 4: enroll.Queued}

	seen := make(map[string]int)
	for seed := range uint64(150) {
		c := rand.New(rand.NewPCG(seed, 7))
		at := func() time.Time { return time.Date(2100, 1, 1, c.IntN(8), 0, 0, 0, time.UTC) }
		run := enroll.Run{OpensAt: at(), StartsAt: at(), WaitlistEnded: c.IntN(4) == 0, CalledOff: c.IntN(6) == 0}
		run.ClosesAt, run.EndsAt = run.OpensAt.Add(time.Duration(1+c.IntN(4))*time.Hour), run.StartsAt.Add(time.Duration(1+c.IntN(4))*time.Hour)
		if c.IntN(2) == 0 {
			run.PromoteUntil = at()
		}
		now := at()
		life := run.LifeAt(now)

		for _, byOrganiser := range []bool{false, true} {
			var until *time.Time
			if !run.PromoteUntil.IsZero() {
				until = &run.PromoteUntil
			}
			_, err := conn.Exec(t.Context(), `WITH gone AS (DELETE FROM requests WHERE ticket > 4), l AS (UPDATE lines SET last_ticket = 4, last_accepted_at = $1)
				UPDATE runs SET opens_at = $2, closes_at = $3, starts_at = $4, ends_at = $5, promote_until = $6, waitlist_ended = $7, called_off = $8`,
				now, run.OpensAt, run.ClosesAt, run.StartsAt, run.EndsAt, until, run.WaitlistEnded, run.CalledOff)
			if err != nil {
				t.Fatal(err)
			}
			if shown, err := o.Run(t.Context(), "a"); err != nil || !shown.Now.Equal(now) || shown.Life() != life {
				t.Fatalf("seed %d: the run is shown as %+v at %v (%v), want %+v", seed, shown.Life(), shown.Now, err, life)
			}

			register := ask(9)
			register.ByOrganiser, register.OutsideWindow = byOrganiser, byOrganiser
			asked := []enroll.Submission{register, resize(t, 2), enroll.NewCloseWaitlist("a"), enroll.NewCallOff("a")}
			for target := range targets {
				asked = append(asked, enroll.NewCancel("a", target, byOrganiser))
			}
			results, err := o.Accept(t.Context(), asked)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := conn.Query(t.Context(), `SELECT late FROM requests WHERE ticket > 4 ORDER BY ticket`)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := pgx.CollectRows(rows, pgx.RowTo[bool])
			if err != nil {
				t.Fatal(err)
			}
			for i, result := range results {
				sub := asked[i]
				want := life.Refusal(sub.Kind, byOrganiser, targets[sub.Target])
				seen[fmt.Sprintf("%s %s", sub.Kind, want)]++
				if got := enroll.CodeOf(result.Err); got != want {
					t.Fatalf("seed %d, %+v: a %s (by an organiser: %t) of ticket %d gets %q, want %q", seed, life, sub.Kind, byOrganiser, sub.Target, got, want)
				}
				if result.Err != nil {
					continue
				}
				late := stored[result.Receipt.Ticket-5]
				seen[fmt.Sprintf("late: %t", late)]++
				if !result.Receipt.AcceptedAt.Equal(now) || (late || run.WaitlistEnded || run.CalledOff) != life.ListEnded {
					t.Fatalf("seed %d, %+v: a %s is late: %t", seed, life, sub.Kind, late)
				}
			}
		}
	}
	t.Logf("seen: %v", seen)
	for _, want := range []string{
		"register ", "register not_open", "register closed", "register over", "register called_off", "cancel ", "cancel begun",
		"resize ", "close_waitlist ", "call_off ", "late: true", "late: false",
	} {
		if seen[want] < 5 {
			t.Errorf("%q was seen %d times: it tests less than it should", want, seen[want])
		}
	}
}
