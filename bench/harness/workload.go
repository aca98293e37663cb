package harness

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/rivals"
)

// workload is people who ask for seats of some runs.
type workload struct {
	people int
	runs   int           // that they are spread over
	seats  int           // of all runs together
	limit  time.Duration // after which no more people ask; 0 = never
	prefix string        // of the runs' slugs; empty = run
	first  int           // the number of the first person
}

// smaller returns a workload with fewer people and seats, but one of each for each
// run.
func (w workload) smaller(by int) workload {
	w.people, w.seats = max(w.people/by, w.runs), max(w.seats/by, w.runs)
	return w
}

// runList returns the runs.
func (w workload) runList() (all []rivals.Run) {
	for i := range w.runs {
		seats := w.seats / w.runs
		if i < w.seats%w.runs {
			seats++
		}
		all = append(all, rivals.Run{Slug: w.slug(i), Seats: seats})
	}
	return all
}

func (w workload) slug(i int) string { return fmt.Sprintf("%s-%d", cmp.Or(w.prefix, "run"), i+1) }

// slugs returns the slugs of all runs.
func (w workload) slugs() []string {
	all := make([]string, w.runs)
	for i := range all {
		all[i] = w.slug(i)
	}
	return all
}

// requests returns the requests of the people, for each run in turn.
func (w workload) requests() [][]byte {
	all := make([][]byte, w.people)
	for i := range all {
		all[i] = request(w.slug(i%w.runs), w.first+i)
	}
	return all
}

// request returns the request of person n for a seat, as a good client sends it.
func request(slug string, n int) []byte {
	return load.Post("/v1/runs/"+slug+"/registrations", uuid.NewString(),
		fmt.Sprintf(`{"name": "Person %d", "email": "person-%d@example.org"}`, n, n))
}
