package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestPages: a client that follows next sees every entry once, in order, also where
// entries are alike, come, move and go meanwhile.
func TestPages(t *testing.T) {
	t.Parallel()
	type page struct {
		Runs    []runState
		Courses []struct{ Slug, Title, Description string }
		Next    *string
	}
	// walk follows next from a path, calls meanwhile after each page, and returns
	// what it saw and the number of pages.
	walk := func(s *service, path string, meanwhile func()) (seen []string, pages int) {
		t.Helper()
		for next := &path; next != nil; pages++ {
			var p page
			a := s.get(*next)
			a.expect(http.StatusOK)
			a.decode(&p)
			for _, r := range p.Runs {
				seen = append(seen, r.Slug)
			}
			for _, c := range p.Courses {
				seen = append(seen, c.Slug)
			}
			meanwhile()
			next = p.Next
		}
		return seen, pages
	}
	nothing := func() {}

	t.Run("of runs", func(t *testing.T) {
		t.Parallel()
		s := start(t, place{})
		var want []string
		s.addCourse("even")
		s.addCourse("odd")
		s.exec(`
			WITH made AS (
				INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at)
				SELECT c.id, 'run-' || lpad(n::text, 3, '0'), 'UTC', now() + n / 10 * interval '1 hour', now() + interval '1 year', now(), now() + interval '1 hour'
				FROM generate_series(0, 249) n JOIN courses c ON c.slug = (ARRAY['even', 'odd'])[1 + n % 2]
				RETURNING id
			)
			INSERT INTO lines (run_id) SELECT id FROM made`) // ten start at a time
		for n := range 250 {
			want = append(want, fmt.Sprintf("run-%03d", n))
		}
		for path, test := range map[string]struct {
			want  []string
			pages int
		}{
			"/v1/runs":            {want, 3},
			"/v1/runs?limit=200":  {want, 2},
			"/v1/runs?limit=50":   {want, 5}, // the last one is full
			"/v1/runs?limit=7":    {want, 36},
			"/v1/runs?course=odd": {everyOther(want), 2},
			"/v1/runs?course=odd&registration=open&limit=20": {everyOther(want), 7},
			"/v1/runs?course=none&limit=1":                   {nil, 1},
		} {
			if got, pages := walk(s, path, nothing); !slices.Equal(got, test.want) || pages != test.pages {
				t.Errorf("%s: %d runs on %d pages, want %d on %d: %v", path, len(got), pages, len(test.want), test.pages, got)
			}
		}

		// What a cursor names may change: others are neither left out nor repeated.
		page := 0
		got, _ := walk(s, "/v1/runs?limit=10", func() {
			s.exec(`UPDATE runs SET starts_at = starts_at - interval '1 day' WHERE slug = $1`, want[page*10+9])
			page++
		})
		if !slices.Equal(got, want) {
			t.Errorf("while runs were moved: %v", got)
		}
	})

	t.Run("of courses", func(t *testing.T) {
		t.Parallel()
		s := start(t, place{})
		var want []string
		for n := range 120 {
			slug := fmt.Sprintf("course-%03d", n)
			if err := s.store.CreateCourse(t.Context(), enroll.Course{Slug: slug, Title: fmt.Sprintf("Glas & Öfen %02d", n/10)}); err != nil {
				t.Fatal(err)
			}
			want = append(want, slug)
		}
		for path, pages := range map[string]int{"/v1/courses": 2, "/v1/courses?limit=120": 1, "/v1/courses?limit=11": 11} {
			if got, n := walk(s, path, nothing); !slices.Equal(got, want) || n != pages {
				t.Errorf("%s: %d courses on %d pages, want %d on %d: %v", path, len(got), n, len(want), pages, got)
			}
		}
	})
}

// everyOther returns the second, the fourth and so on.
func everyOther(all []string) (some []string) {
	for n := 1; n < len(all); n += 2 {
		some = append(some, all[n])
	}
	return some
}
