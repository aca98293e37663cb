package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/enroll"
)

// exampleCourses have a run for each state that a run can be in.
var exampleCourses = []enroll.Course{
	{
		Slug: "go", Title: "Go for people who ship", Description: "Two days of Go, from the first test to the first deployment.",
		Organiser: "The Go School", ReplyTo: "hello@go-school.example",
	},
	{Slug: "sql", Title: "SQL evenings", Description: "Five evenings about queries, locks and the plans behind them."},
}

const day = 24 * time.Hour

const (
	// exampleRun is the run that is nearly full: one seat is left.
	exampleRun   = "go-last-seat"
	exampleSeats = 10
	// exampleWaitlistRun is full and has an empty waiting list.
	exampleWaitlistRun   = "go-waiting-list"
	exampleWaitlistSeats = 3
	// exampleFull has no seats at all.
	exampleFull = "sql-no-seats"
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

// seed creates the example courses and runs that are not there yet. Through the
// API, it takes all seats but one of exampleRun and all of exampleWaitlistRun. It
// returns an admin's API token.
func seed(ctx context.Context, s *stack.Stack) (token string, err error) {
	if token, err = stack.AddAdmin(ctx, s.PostgresURL); err != nil {
		return "", err
	}
	return token, seedCourses(ctx, s)
}

func seedCourses(ctx context.Context, s *stack.Stack) error {
	store, err := stack.OpenStore(ctx, s.PostgresURL)
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
	api := clients.New(1, s.APIURL)
	defer api.Close()
	for _, taken := range []struct {
		run   string
		seats int
	}{{exampleRun, exampleSeats - 1}, {exampleWaitlistRun, exampleWaitlistSeats}} {
		for n := range taken.seats {
			if err := register(ctx, api, taken.run, n+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// register sends the registration of example person n for the run. The key makes
// it the same request at every start.
func register(ctx context.Context, api *clients.Client, run string, n int) error {
	body, err := json.Marshal(map[string]string{"name": fmt.Sprintf("Example Person %d", n), "email": fmt.Sprintf("person-%d@example.org", n)})
	if err != nil {
		return err
	}
	answer, err := api.Do(ctx, clients.Request{
		Method: http.MethodPost, Path: "/v1/runs/" + run + "/registrations", Body: string(body),
		Header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {fmt.Sprintf("seed-%d", n)}},
	})
	if err != nil {
		return err
	}
	if answer.Status != http.StatusAccepted {
		return fmt.Errorf("asking for a seat in run %s: status %d", run, answer.Status)
	}
	return nil
}
