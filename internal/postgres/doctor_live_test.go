package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestDoctorSettlesAgain has lines of all kinds settled in random pieces, and
// settles them again between any two pieces.
func TestDoctorSettlesAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	seen := make(map[string]bool)
	for seed := range uint64(20) {
		c := &crowd{Rand: rand.New(rand.NewPCG(seed, 1)), run: fmt.Sprintf("r%d", seed), final: seed%2 == 0}
		now := time.Now()
		id := enrolltest.CreateRun(t, s, enroll.Run{
			Slug: c.run, Capacity: c.limit(10).Most, WaitlistCapacity: c.limit(20).Most, OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour),
		})
		check := func() {
			found, err := s.CheckUp(t.Context(), c.run)
			if err != nil || len(found) > 0 {
				t.Fatalf("seed %d: found %v, %v", seed, found, err)
			}
		}
		for range 8 {
			if err := c.ask(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for more := true; more; {
				p, err := s.Settle(t.Context(), []enroll.RunID{id}, enrolltest.SettleLimits(1+c.IntN(7)))
				if err != nil {
					t.Fatal(err)
				}
				more = p[id].More && c.IntN(20) > 0
				check()
				if c.IntN(4) == 0 {
					if err := c.correct(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					check()
				}
			}
			switch c.IntN(4) {
			case 0: // what comes now is late
				pgtest.Exec(t, url, `UPDATE runs SET starts_at = now() - interval '1 minute' WHERE id = $1`, id)
			case 1: // the begin is moved, and the list goes on
				pgtest.Exec(t, url, `UPDATE runs SET starts_at = ends_at - interval '1 minute' WHERE id = $1`, id)
			}
		}
	}
	for _, outcome := range pgtest.Query[string](t, url, `SELECT DISTINCT concat_ws(' ', kind, status, reason) FROM requests
		UNION SELECT DISTINCT 'late ' || kind FROM requests WHERE late UNION SELECT 'late seat' FROM requests WHERE late AND status = 'confirmed' UNION SELECT 'corrected' FROM requests WHERE corrected_after > 0`) {
		seen[outcome] = true
	}
	for _, want := range []string{
		"register confirmed", "register waitlisted", "register cancelled", "register cancelled removed", "register cancelled called_off",
		"register not_promoted", "register rejected full", "register rejected already_registered", "register rejected waitlist_too_long",
		"register rejected called_off", "cancel done", "cancel done no_effect", "resize done", "close_waitlist done", "call_off done", "late register", "late seat", "late cancel", "late resize", "corrected",
	} {
		if !seen[want] {
			t.Errorf("the lines have no %s: they test less than they should", want)
		}
	}
}

// TestDoctorAtWork checks all runs again and again while people come and go and
// lines are settled: there is never anything to find, nor to repair.
func TestDoctorAtWork(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	runs := []string{"a", "b", "c"}
	var ids []enroll.RunID
	for _, run := range runs {
		now := time.Now()
		ids = append(ids, enrolltest.CreateRun(t, s, enroll.Run{
			Slug: run, Capacity: enrolltest.Seats(5), WaitlistCapacity: enrolltest.Seats(30), OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour),
		}))
	}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	work := func(seed uint64, run string, do func(c *crowd) error) {
		working.Go(func() {
			c := &crowd{Rand: rand.New(rand.NewPCG(seed, 2)), run: run}
			for ctx.Err() == nil {
				if err := do(c); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	for n, run := range runs {
		work(uint64(n), run, func(c *crowd) error {
			if c.IntN(5) == 0 && c.last > 0 {
				return c.correct(context.Background(), s)
			}
			return c.ask(context.Background(), s)
		})
	}
	for n := range uint64(2) {
		work(10+n, "", func(c *crowd) error {
			_, err := s.Settle(context.Background(), ids, enrolltest.SettleLimits(3+c.IntN(60)))
			return err
		})
	}
	rounds := 0
	for began := time.Now(); time.Since(began) < 3*time.Second || rounds < 5; rounds++ {
		report, err := doctor.Visit(t.Context(), s, doctor.Options{Repair: rounds%2 == 0})
		// How far the lines lag behind depends on the machine.
		report.Findings = slices.DeleteFunc(report.Findings, func(f doctor.Finding) bool {
			return f.Code == doctor.LineBehind || f.Code == doctor.RowHeld
		})
		wrong, _ := report.Wrong()
		if err != nil || wrong > 0 || report.Runs != len(runs) {
			t.Errorf("round %d: %+v, %v", rounds, report, err)
			break
		}
		if rounds == 3 { // it goes on while a run ends
			for _, ending := range []enroll.Submission{enroll.NewCloseWaitlist("b"), enroll.NewCallOff("c")} {
				if _, err := s.Accept(t.Context(), []enroll.Submission{ending}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	stop()
	working.Wait()
	t.Logf("%d rounds over %v requests", rounds, pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`))
}

// TestDoctorRepairsAtWork repairs a run that is being settled: neither falls over
// the other.
func TestDoctorRepairsAtWork(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 10)
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		c := &crowd{Rand: rand.New(rand.NewPCG(1, 3)), run: "a"}
		for ctx.Err() == nil {
			err := c.ask(context.Background(), o.Store)
			_, settling := o.Settle(context.Background(), []enroll.RunID{o.run}, enrolltest.SettleLimits(50))
			if err := errors.Join(err, settling); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 20 {
		if _, err := o.Repair(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	stop()
	working.Wait()
	pgtest.RequireSound(t, o.url)
}
