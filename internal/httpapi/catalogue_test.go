package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// addRun adds an open run with so many seats, nil being unlimited, and no waiting
// list. What change does to it comes before.
func (s *service) addRun(slug string, capacity *int, change ...func(*enroll.Run)) enroll.RunID {
	s.t.Helper()
	now := time.Now()
	r := enroll.Run{
		Slug: slug, Course: "course", TimeZone: "Europe/Berlin", Location: "Room 1", Capacity: capacity, WaitlistCapacity: seats(0),
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	}
	for _, c := range change {
		c(&r)
	}
	s.addCourse(r.Course)
	id, err := s.store.CreateRun(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// addCourse adds a course, unless it is there.
func (s *service) addCourse(slug string) {
	s.t.Helper()
	err := s.store.CreateCourse(s.t.Context(), enroll.Course{Slug: slug, Title: "About " + slug, Description: "All of it."})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		s.t.Fatal(err)
	}
}

func seats(n int) *int { return &n }

func TestCatalogue(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	slugs := func(path string) string {
		t.Helper()
		var list struct {
			Runs []runState
			Next *string
		}
		a := s.get(path)
		a.expect(http.StatusOK)
		a.decode(&list)
		var all []string
		for _, r := range list.Runs {
			all = append(all, r.Slug)
		}
		return strings.Join(all, " ")
	}
	if body := string(s.get("/v1/courses").body); body != `{"courses":[],"next":null}`+"\n" {
		t.Errorf("without courses the answer is %s", body)
	}
	if body := string(s.get("/v1/runs").body); body != `{"next":null,"runs":[]}`+"\n" {
		t.Errorf("without runs the answer is %s", body)
	}
	later := func(by time.Duration) func(*enroll.Run) {
		return func(r *enroll.Run) {
			r.OpensAt, r.ClosesAt, r.StartsAt, r.EndsAt = r.OpensAt.Add(by), r.ClosesAt.Add(by), r.StartsAt.Add(by), r.EndsAt.Add(by)
		}
	}
	s.addRun("open-2", nil, later(time.Minute))
	s.addRun("open-1", seats(3))
	s.addRun("over", seats(3), later(-24*time.Hour))
	s.addRun("to-come", seats(3), later(24*time.Hour))
	s.addRun("other", seats(3), later(2*time.Minute), func(r *enroll.Run) { r.Course = "another" })

	t.Run("courses are listed by title", func(t *testing.T) {
		var list struct {
			Courses []struct{ Slug, Title, Description string }
			Next    *string
		}
		s.get("/v1/courses").decode(&list)
		if len(list.Courses) != 2 || list.Courses[0].Slug != "another" || list.Courses[1].Title != "About course" {
			t.Errorf("got %+v", list)
		}
	})
	t.Run("a course is found by its slug", func(t *testing.T) {
		s.get("/v1/courses/another").expect(http.StatusOK)
	})
	t.Run("what does not exist is 404", func(t *testing.T) {
		for _, path := range []string{
			"/v1/courses/nope", "/v1/courses/NOPE", "/v1/courses/a--b", "/v1/courses/%00", "/v1/courses/" + strings.Repeat("a", 65),
			"/v1/runs/nope", "/v1/runs/OPEN-1", "/v1/runs/open-1%20", "/v1/runs/-", "/v1/runs/%ff", "/v1/runs/open-1%2f",
		} {
			a := s.do(call{method: http.MethodGet, path: path, bad: true})
			a.expectProblem(http.StatusNotFound, "not_found", "")
		}
	})
	t.Run("runs that are not over are listed by start", func(t *testing.T) {
		for path, want := range map[string]string{
			"/v1/runs":                                 "open-1 open-2 other to-come",
			"/v1/runs?registration=open":               "open-1 open-2 other",
			"/v1/runs?course=course":                   "open-1 open-2 to-come",
			"/v1/runs?course=course&registration=open": "open-1 open-2",
			"/v1/runs?course=nope":                     "",
		} {
			if got := slugs(path); got != want {
				t.Errorf("%s lists %q, want %q", path, got, want)
			}
		}
	})
	t.Run("a filter that cannot be is refused by name", func(t *testing.T) {
		for path, field := range map[string]string{
			"/v1/runs?course=No":           "course",
			"/v1/runs?course=%00":          "course",
			"/v1/runs?registration=closed": "registration",
			"/v1/runs?registration=OPEN":   "registration",
			"/v1/runs?limit=0":             "limit",
			"/v1/runs?limit=201":           "limit",
			"/v1/runs?after=":              "after",
			"/v1/runs?after=open-1":        "after",
			"/v1/runs?after=Z28tMQB4":      "after", // of a list of courses
			"/v1/courses?limit=x":          "limit",
			"/v1/courses?after=%00":        "after",
		} {
			a := s.do(call{method: http.MethodGet, path: path, bad: true})
			a.expectProblem(http.StatusUnprocessableEntity, "invalid", field)
		}
	})
	t.Run("a run tells its window", func(t *testing.T) {
		for slug, want := range map[string]string{"open-1": "open", "over": "over", "to-come": "not_open"} {
			if got := s.run(slug).Registration; got != want {
				t.Errorf("registration of %s is %s, want %s", slug, got, want)
			}
		}
	})
	t.Run("a run that is over is still found", func(t *testing.T) {
		if r := s.run("over"); r.Location != "Room 1" || r.TimeZone != "Europe/Berlin" || r.Title != "About course" || *r.SeatsLeft != 0 {
			t.Errorf("got %+v", r)
		}
	})
}
