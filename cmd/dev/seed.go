package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// The example courses, and one run for each state that a run can be in.
var exampleCourses = []enroll.Course{
	{
		Slug: "go", Title: "Go for people who ship", Description: "Two days of Go, from the first test to the first deployment.",
		Organiser: "The Go School", ReplyTo: "hello@go-school.example",
	},
	{Slug: "sql", Title: "SQL evenings", Description: "Five evenings about queries, locks and the plans behind them."},
}

const day = 24 * time.Hour

// exampleSeats is the capacity of the run that is nearly full; one seat is left.
const exampleSeats = 10

// The run that is full and has a waiting list, on which nobody waits yet.
const (
	exampleWaitlistRun   = "go-waiting-list"
	exampleWaitlistSeats = 3
)

func exampleRuns(now time.Time) []enroll.Run {
	today := now.UTC().Truncate(day)
	seats := func(n int) *int { return &n }
	run := func(course, slug, location string, capacity, waitlist *int, opens, closes time.Time) enroll.Run {
		starts := closes.Add(30*day + 9*time.Hour)
		return enroll.Run{
			Course: course, Slug: slug, Location: location, TimeZone: "Europe/Berlin", Capacity: capacity, WaitlistCapacity: waitlist,
			StartsAt: starts, EndsAt: starts.Add(8 * time.Hour), OpensAt: opens, ClosesAt: closes,
		}
	}
	german := func(r enroll.Run) enroll.Run {
		r.Language = enroll.German
		return r
	}
	past, future := today.Add(-7*day), today.Add(365*day)
	return []enroll.Run{
		run("go", exampleRun, "Berlin, Room 2", seats(exampleSeats), seats(0), past, future),
		run("go", "go-not-yet-open", "Hamburg", seats(30), seats(0), future, future.Add(30*day)),
		run("go", exampleWaitlistRun, "Munich, Room 7", seats(exampleWaitlistSeats), seats(5), past, future),
		run("go", "go-closed", "Online", seats(30), seats(0), past.Add(-30*day), today),
		german(run("sql", "sql-unlimited", "Online", nil, seats(0), past, future)),
		run("sql", exampleFull, "Leipzig", seats(0), seats(0), past, future),
	}
}

// seed creates the example courses and runs that are not there yet, and takes
// all seats but one of the example run, and all of the one with a waiting list,
// through the front door.
func seed(ctx context.Context, s *stack) error {
	store, err := openStore(ctx, s.PostgresURL)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, c := range exampleCourses {
		if err := store.CreateCourse(ctx, c); err != nil && enroll.CodeOf(err) != enroll.Conflict {
			return err
		}
	}
	for _, r := range exampleRuns(time.Now()) {
		if _, err := store.CreateRun(ctx, r); err != nil && enroll.CodeOf(err) != enroll.Conflict {
			return err
		}
	}
	for _, taken := range []struct {
		run   string
		seats int
	}{{exampleRun, exampleSeats - 1}, {exampleWaitlistRun, exampleWaitlistSeats}} {
		for n := range taken.seats {
			// The key makes it the same request at every start.
			if err := askOnce(ctx, s, taken.run, fmt.Sprintf("Example Person %d", n+1), fmt.Sprintf("person-%d@example.org", n+1), fmt.Sprintf("seed-%d", n+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

func openStore(ctx context.Context, url string) (*postgres.Store, error) {
	return postgres.Open(ctx, url, postgres.Options{
		Name: "dev", MaxConns: 2, ConnectTimeout: 5 * time.Second,
		StatementTimeout: 30 * time.Second, LockTimeout: 5 * time.Second, IdleInTransactionTimeout: 10 * time.Second,
	})
}

func askOnce(ctx context.Context, s *stack, run, name, email, key string) error {
	body, err := json.Marshal(map[string]string{"name": name, "email": email})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.APIURL+"/v1/runs/"+run+"/registrations", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("asking for a seat in run %s: %s", run, answer.Status)
	}
	return nil
}
