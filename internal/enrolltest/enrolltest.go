// Package enrolltest makes runs and submissions for tests of any package.
package enrolltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// OpenRun creates a run whose registration is open, with the capacity (nil =
// unlimited), and the course "course" if it is not there yet.
func OpenRun(t testing.TB, s *postgres.Store, slug string, capacity *int) enroll.RunID {
	t.Helper()
	now := time.Now()
	return CreateRun(t, s, enroll.Run{Slug: slug, Capacity: capacity, OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour)})
}

// CreateRun creates a run with the slug, capacities and window of r. Its
// waiting list has no places unless r says otherwise.
func CreateRun(t testing.TB, s *postgres.Store, r enroll.Run) enroll.RunID {
	t.Helper()
	err := s.CreateCourse(t.Context(), enroll.Course{Slug: "course", Title: "Course"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		t.Fatal(err)
	}
	r.Course, r.TimeZone = "course", "Europe/Berlin"
	if r.WaitlistCapacity == nil {
		r.WaitlistCapacity = Seats(0)
	}
	r.StartsAt, r.EndsAt = r.ClosesAt.Add(time.Hour), r.ClosesAt.Add(2*time.Hour)
	id, err := s.CreateRun(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// SettleLimits returns the limits of a settling transaction of at most budget
// requests.
func SettleLimits(budget int) enroll.SettleLimits {
	return enroll.SettleLimits{Budget: budget, LateAfter: 30 * time.Second}
}

// Seats returns a capacity.
func Seats(n int) *int { return &n }

// Person returns the submission of person n for a seat.
func Person(run string, n int) enroll.Submission {
	return Submission(run, fmt.Sprintf("p%d@example.org", n), "")
}

// Submission returns the submission of an address, with an IdempotencyKey or
// "".
func Submission(run, email, key string) enroll.Submission {
	sub, err := enroll.NewRegister(enroll.RegisterInput{Run: run, Name: "A Person", Email: email, IdempotencyKey: key})
	if err != nil {
		panic(err) // the test passed something invalid
	}
	return sub
}
