package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// BenchmarkLone measures one request on an idle run, whose lane has to be
// started: from POST to the outcome by long poll.
func BenchmarkLone(b *testing.B) {
	s := newSite(b)
	api := s.start("api")
	s.start("worker")
	store := pgtest.Open(b, s.url)
	var took []float64
	for i := 0; b.Loop(); i++ {
		run := fmt.Sprintf("run-%d", i)
		enrolltest.OpenRun(b, store, run, nil)
		began := time.Now()
		s.askAndWait(api, run, 1)
		took = append(took, milliseconds(time.Since(began)))
	}
	report(b, took)
}

// BenchmarkTrickle measures ten requests a second on one run, from accepted to
// decided by the database's clock.
func BenchmarkTrickle(b *testing.B) {
	s := newSite(b)
	api := s.start("api")
	s.start("worker")
	enrolltest.OpenRun(b, pgtest.Open(b, s.url), "a", nil)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; b.Loop(); i++ {
		<-tick.C
		s.askAndWait(api, "a", i)
	}
	report(b, pgtest.Query[float64](b, s.url, `
		SELECT extract(epoch FROM decided_at - accepted_at)::float8 * 1000 FROM requests`))
}

// askAndWait asks for a seat, and returns when the outcome is known.
func (s *site) askAndWait(api *process, run string, n int) {
	s.t.Helper()
	var asked, outcome told
	if err := s.ask(api, run, n, &asked); err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+api.API+"/v1/registrations/"+asked.ID.String()+"?wait=20", nil)
	if err == nil {
		err = do(r, http.StatusOK, &outcome)
	}
	if err != nil || !outcome.Final {
		s.t.Fatalf("no outcome: %v", err)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func report(b *testing.B, took []float64) {
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[len(took)/2], "ms-median")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
}
