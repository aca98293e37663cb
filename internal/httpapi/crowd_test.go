package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestTimingCrowd_that_waits_for_one_run_hears_at_once_and_with_few_reads(t *testing.T) {
	testwait.ParallelUnlessTiming(t)
	const people, places = 300, 20
	s := start(t, place{redis: redistest.Start(t)})
	s.later = true
	s.addRun("go-1", seats(places))
	var crowd []enroll.Submission
	for i := range people {
		sub, err := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Name: "A Person", Email: fmt.Sprintf("p%d@example.org", i)})
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, sub)
	}
	if _, err := s.store.Accept(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	var waits []func() answer
	for _, sub := range crowd {
		waits = append(waits, func() answer { return s.get("/v1/registrations/" + sub.ID.String() + "?wait=25") })
	}
	before := s.reads.ids.Load()
	answers := inTheBackground(waits...)
	testwait.Until(t, "everybody is held", func() bool { return s.reads.ids.Load() >= before+people })

	calls := s.reads.calls.Load()
	waiting := time.Now()
	startWorker(t, s)
	all := answers()
	calls, took := s.reads.calls.Load()-calls, time.Since(waiting)
	outcomes := make(map[string]int)
	var delays []time.Duration
	for _, a := range all {
		a.expect(http.StatusOK)
		r := a.registration()
		outcomes[r.outcome()]++
		if r.DecidedAt != nil {
			delays = append(delays, a.at.Sub(*r.DecidedAt))
		}
	}
	if outcomes["confirmed"] != places || outcomes["rejected full"] != people-places {
		t.Fatalf("outcomes: %v", outcomes)
	}
	slices.Sort(delays)
	t.Logf("from decision to hearing: median %v, latest %v; %d reads in %v", delays[people/2], delays[people-1], calls, took)
	// A fifth of a second on a quiet machine. Much more says that messages do not
	// get through; that they do is what the number of reads says below.
	testwait.Promised(t, "hearing of a decision", delays[people-1], 5*time.Second)
	// One for each of the few messages, and the safety reads while they waited.
	if most := 10 + int64(took/time.Second); calls > most {
		t.Errorf("it took %d reads to tell %d people, want at most %d", calls, people, most)
	}
}
