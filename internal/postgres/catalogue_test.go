package postgres_test

import (
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

func TestCatalogue(t *testing.T) {
	t.Parallel()
	s := pgtest.Store(t)
	if err := s.CreateCourse(t.Context(), enroll.Course{Slug: "rust", Title: "Rust"}); err != nil {
		t.Fatal(err)
	}
	enrolltest.OpenRun(t, s, "open", nil)
	now := time.Now()
	enrolltest.CreateRun(t, s, enroll.Run{Slug: "early", OpensAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour)})
	enrolltest.CreateRun(t, s, enroll.Run{Slug: "over", OpensAt: now.Add(-9 * time.Hour), ClosesAt: now.Add(-8 * time.Hour)})

	slugs := func(course string, open bool) (all []string) {
		runs, err := s.Runs(t.Context(), enroll.RunQuery{Course: course, Open: open, Most: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			all = append(all, r.Slug)
		}
		return all
	}
	if got := slugs("", false); len(got) != 2 {
		t.Errorf("runs that are not over: %v", got)
	}
	if got := slugs("", true); len(got) != 1 || got[0] != "open" {
		t.Errorf("runs that are open: %v", got)
	}
	if got := slugs("rust", false); len(got) != 0 {
		t.Errorf("runs of the other course: %v", got)
	}
	if _, err := s.Run(t.Context(), "nowhere"); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("an unknown run: %v", err)
	}
	if _, err := s.Course(t.Context(), "nowhere"); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("an unknown course: %v", err)
	}
	if err := s.CreateCourse(t.Context(), enroll.Course{Slug: "rust", Title: "Rust"}); enroll.CodeOf(err) != enroll.Conflict {
		t.Errorf("a course that exists: %v", err)
	}
	if _, err := s.CreateRun(t.Context(), enroll.Run{
		Course: "nowhere", Slug: "x", TimeZone: "UTC",
		StartsAt: now, EndsAt: now.Add(time.Hour), OpensAt: now, ClosesAt: now.Add(time.Hour),
	}); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("a run of an unknown course: %v", err)
	}
	courses, err := s.Courses(t.Context(), enroll.CourseQuery{Most: 10})
	if err != nil || len(courses) != 2 || courses[1].Slug != "rust" {
		t.Errorf("courses %v: %v", courses, err)
	}
}
