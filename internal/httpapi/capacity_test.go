package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/redistest"
)

// atOnce sends the calls as nearly at the same moment as it can, and returns the
// answers in the order of the calls.
func atOnce(calls ...func() answer) []answer {
	answers := make([]answer, len(calls))
	ready := make(chan struct{})
	var g sync.WaitGroup
	for i, each := range calls {
		g.Go(func() {
			<-ready
			answers[i] = each()
		})
	}
	close(ready)
	g.Wait()
	return answers
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	s := start(t, place{redis: redistest.Start(t)})
	startWorker(t, s)
	s.addRun("unlimited", nil)
	s.addRun("none", seats(0))
	s.addRun("three", seats(3))

	// rush has so many people ask for the run and returns how many had which
	// outcome.
	rush := func(run string, people int) map[string]int {
		t.Helper()
		var calls []func() answer
		for i := range people {
			calls = append(calls, func() answer { return s.post(run, "A Person", fmt.Sprintf("p%d@example.org", i)) })
		}
		outcomes := make(map[string]int)
		for _, a := range atOnce(calls...) {
			a.expect(http.StatusAccepted)
			outcomes[s.decided(a.registration()).outcome()]++
		}
		return outcomes
	}

	t.Run("null never fills", func(t *testing.T) {
		if got := rush("unlimited", 30); got["confirmed"] != 30 {
			t.Errorf("outcomes: %v", got)
		}
		a := s.get("/v1/runs/unlimited")
		for _, want := range []string{`"capacity":null`, `"seats_left":null`, `"seats_taken":30`, `"over_capacity":false`} {
			if !bytes.Contains(a.body, []byte(want)) {
				t.Errorf("there is no %s in %s", want, a.body)
			}
		}
	})
	t.Run("zero confirms nobody", func(t *testing.T) {
		for range 2 {
			if got := rush("none", 5); got["rejected full"] != 5 {
				t.Errorf("outcomes: %v", got)
			}
		}
		a := s.get("/v1/runs/none")
		for _, want := range []string{`"capacity":0`, `"seats_left":0`, `"seats_taken":0`, `"over_capacity":false`} {
			if !bytes.Contains(a.body, []byte(want)) {
				t.Errorf("there is no %s in %s", want, a.body)
			}
		}
	})
	t.Run("three seats go to the three smallest tickets", func(t *testing.T) {
		if got := rush("three", 20); got["confirmed"] != 3 || got["rejected full"] != 17 {
			t.Errorf("outcomes: %v", got)
		}
		if got := s.sql(`SELECT ticket::text FROM attendances a JOIN runs r ON r.id = a.run_id WHERE slug = 'three' ORDER BY ticket`); fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("seats went to the tickets %v", got)
		}
		if r := s.run("three"); r.SeatsTaken != 3 || *r.SeatsLeft != 0 || r.Line.Waiting != 0 || r.Line.SettledTicket != 20 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("lowered below the seats held it takes nobody's seat away", func(t *testing.T) {
		s.exec(`UPDATE runs SET capacity = 1 WHERE slug = 'three'`)
		if r := s.run("three"); r.SeatsTaken != 3 || *r.SeatsLeft != 0 || !r.OverCapacity {
			t.Errorf("got %+v", r)
		}
		if got := s.decided(s.register("three", "A Person", "late@example.org")).outcome(); got != "rejected full" {
			t.Errorf("over capacity, the next is %s", got)
		}
	})
}

func TestCapacity_a_double_click_takes_one_seat(t *testing.T) {
	t.Parallel()
	s := start(t, place{redis: redistest.Start(t)})
	startWorker(t, s)
	const runs = 10
	for i := range runs {
		s.addRun(fmt.Sprintf("run-%d", i), seats(2))
	}
	for i := range runs {
		run := fmt.Sprintf("run-%d", i)
		answers := atOnce(
			func() answer { return s.post(run, "Ada Lovelace", "ada@example.org") },
			func() answer { return s.post(run, "Ada Lovelace", " ADA@example.ORG ") },
		)
		first, second := answers[0], answers[1]
		if first.registration().Ticket > second.registration().Ticket {
			first, second = second, first
		}
		won, late := s.decided(first.registration()), s.get(second.registration().Links.Self+"?wait=20")
		if won.outcome() != "confirmed" || won.Ticket != 1 || late.registration().outcome() != "rejected already_registered" {
			t.Errorf("the first is %s, the second %s", won.outcome(), late.registration().outcome())
		}
		id := []byte(won.ID.String())
		for _, a := range []answer{second, late} {
			if a.registration().ID == won.ID || bytes.Contains(a.body, id) || bytes.Contains(fmt.Append(nil, a.header), id) {
				t.Errorf("the second's answer reveals the first's id: %v %s", a.header, a.body)
			}
		}
		if r := s.run(run); r.SeatsTaken != 1 || *r.SeatsLeft != 1 {
			t.Errorf("%d seats are taken", r.SeatsTaken)
		}
	}
}
