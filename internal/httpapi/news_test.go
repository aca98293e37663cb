package httpapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestNews_of_a_promotion_and_of_a_cancellation_come_at_once(t *testing.T) {
	// Not parallel: it measures time, and runs alone for that.
	s := start(t, place{redis: redistest.Start(t)})
	startWorker(t, s)
	s.later = true
	s.addRun("go-1", seats(1), withList(nil))
	crowd := s.crowd("go-1", 4)
	for _, r := range crowd {
		s.get(r.Links.Self + "?wait=20").expect(http.StatusOK)
	}
	s.expectOutcomes("confirmed, waitlisted 1, waitlisted 2, waitlisted 3", crowd...)
	follow := func(r registration) func() answer { // until the status is another one
		tag := s.get(r.Links.Self).header.Get("ETag")
		before := s.now(r).Status
		return func() answer {
			for {
				a := s.poll(r.Links.Self+"?wait=20", tag)
				if a.status != http.StatusOK || a.registration().Status != before {
					return a
				}
				tag = a.header.Get("ETag") // the cancellation is in the line, and not done yet
			}
		}
	}
	var delays []time.Duration
	heard := func(a answer, status string) {
		t.Helper()
		a.expect(http.StatusOK)
		r := a.registration()
		if r.Status != status || r.ChangedAt == nil {
			t.Fatalf("it is %s", a.body)
		}
		delays = append(delays, a.at.Sub(*r.ChangedAt))
	}
	for i := range 2 {
		before := s.reads.ids.Load()
		answers := inTheBackground(follow(crowd[i]), follow(crowd[i+1]))
		testwait.Until(t, "both are held", func() bool { return s.watch.Waiting() == 2 && s.reads.ids.Load() >= before+2 })
		s.cancel(crowd[i]).expect(http.StatusAccepted)
		all := answers()
		heard(all[0], "cancelled")
		heard(all[1], "confirmed")
	}
	before := s.reads.ids.Load()
	answers := inTheBackground(follow(crowd[2]), follow(crowd[3]))
	testwait.Until(t, "both are held", func() bool { return s.watch.Waiting() == 2 && s.reads.ids.Load() >= before+2 })
	s.organise(http.MethodPost, "/v1/runs/go-1/call-off", "").expect(http.StatusAccepted)
	for _, a := range answers() {
		heard(a, "cancelled")
	}
	t.Logf("from settlement to hearing: %v", delays)
	if latest := slices.Max(delays); latest > 100*time.Millisecond {
		t.Errorf("a poll told %v after the settlement", latest)
	}
}
