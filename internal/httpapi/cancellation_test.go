package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/httpapi"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestCancellation(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(1)))
	crowd := s.crowd("go-1", 3)

	t.Run("while queued", func(t *testing.T) {
		late := s.crowd("go-1", 4)[3]
		a := s.cancel(late)
		a.expect(http.StatusAccepted)
		if got := a.registration(); got.Status != "queued" || got.Final || *got.Cancellation != (cancellation{late.Ticket + 1, "queued"}) {
			t.Errorf("got %s", a.body)
		}
		if a.header.Get("Location") != late.Links.Self || a.header.Get("Retry-After") != "1" || a.header.Get("ETag") == "" {
			t.Errorf("got %v", a.header)
		}
	})
	s.settle()
	s.expectOutcomes("confirmed, waitlisted 1, rejected full", crowd...)
	held := s.now(crowd[0])
	t.Run("is done in its turn", func(t *testing.T) {
		before := s.get(held.Links.Self).header.Get("ETag")
		a := s.cancel(held)
		a.expect(http.StatusAccepted)
		first := a.registration()
		if first.Status != "confirmed" || first.Final || first.Cancellation == nil || first.Cancellation.Status != "queued" || first.Links.Calendar == nil {
			t.Errorf("got %s", a.body)
		}
		if a.header.Get("ETag") == before || s.get(held.Links.Self).header.Get("ETag") != a.header.Get("ETag") {
			t.Error("the ETag is not that of a registration with a cancellation")
		}
		again := s.cancel(held)
		again.expect(http.StatusAccepted)
		if got := again.registration(); *got.Cancellation != *first.Cancellation {
			t.Errorf("asked again it is %+v, want %+v", got.Cancellation, first.Cancellation)
		}
		s.settle()
		if got := s.get(held.Links.Self).header.Get("ETag"); got == a.header.Get("ETag") {
			t.Error("done, it has the same ETag")
		}
	})
	t.Run("gives the seat to the first on the list", func(t *testing.T) {
		s.expectOutcomes("cancelled, confirmed, rejected full", crowd...)
		gone, promoted := s.now(crowd[0]), s.now(crowd[1])
		if gone.ChangedAt == nil || gone.Cancellation.Status != "done" || gone.Links.Calendar != nil || !gone.Final {
			t.Errorf("got %+v", gone)
		}
		if promoted.ChangedAt == nil || !promoted.ChangedAt.After(*promoted.DecidedAt) || promoted.Cancellation != nil || promoted.Links.Calendar == nil {
			t.Errorf("got %+v", promoted)
		}
	})
	t.Run("of what is cancelled is nothing new", func(t *testing.T) {
		last := s.run("go-1").Line
		a := s.cancel(held)
		a.expect(http.StatusOK)
		if got := a.registration(); got.Status != "cancelled" || got.Cancellation.Status != "done" || a.header.Get("Location") != "" || a.header.Get("Retry-After") != "" {
			t.Errorf("got %v %s", a.header, a.body)
		}
		if now := s.run("go-1").Line; now != last {
			t.Errorf("the line has moved from %+v to %+v", last, now)
		}
	})
	t.Run("of what is not held is refused", func(t *testing.T) {
		s.cancel(crowd[2]).expectProblem(http.StatusConflict, "not_held", "")
		s.addRun("ended", seats(0), withList(nil))
		r := s.register("ended", ada, adaEmail)
		s.organise(http.MethodPost, "/v1/runs/ended/close-waitlist", "").expect(http.StatusAccepted)
		s.settle()
		s.expectOutcomes("not_promoted", r)
		s.cancel(r).expectProblem(http.StatusConflict, "not_held", "")
	})
	t.Run("of a stranger is refused", func(t *testing.T) {
		for _, id := range []string{uuid.NewString(), "x"} {
			s.do(call{method: http.MethodDelete, path: "/v1/registrations/" + id, bad: true}).expectProblem(http.StatusNotFound, "not_found", "")
		}
	})
	t.Run("is too late once the run has begun, unless it is in the line", func(t *testing.T) {
		s.addRun("soon", seats(2))
		pair := s.crowd("soon", 2)
		s.settle()
		s.cancel(pair[1]).expect(http.StatusAccepted)
		s.exec(`UPDATE runs SET opens_at = now() - interval '2 h', closes_at = now() - interval '1 h', starts_at = now() WHERE slug = 'soon'`)
		s.cancel(pair[0]).expectProblem(http.StatusConflict, "begun", "")
		s.cancel(pair[1]).expect(http.StatusAccepted)
		s.settle()
		s.expectOutcomes("confirmed, cancelled", pair...)
		s.cancel(pair[1]).expect(http.StatusOK)
		s.cancel(pair[0]).expectProblem(http.StatusConflict, "begun", "")
	})
}

func TestCancellation_strikes_the_calendar_entry_out(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	r := s.register("go-1", ada, adaEmail)
	s.settle()
	published := string(s.get(r.Links.Self + "/calendar.ics").body)
	s.cancel(r).expect(http.StatusAccepted)
	s.settle()
	a := s.get(r.Links.Self + "/calendar.ics")
	a.expect(http.StatusOK)
	uid := func(text string) string {
		_, rest, _ := strings.Cut(text, "UID:")
		id, _, _ := strings.Cut(rest, "\r\n")
		return id
	}
	if text := string(a.body); !strings.Contains(text, "METHOD:CANCEL\r\n") || uid(text) != uid(published) || uid(text) == "" {
		t.Errorf("got\n%s\nafter\n%s", text, published)
	}
	if got := a.header.Get("Content-Type"); got != "text/calendar; charset=utf-8; method=CANCEL" {
		t.Errorf("the type is %q", got)
	}
}

func TestCancellation_by_many_at_once_frees_one_seat(t *testing.T) {
	t.Parallel()
	a := start(t, place{})
	b := start(t, place{database: a.place.database})
	a.addRun("go-1", seats(1), withList(nil))
	crowd := a.crowd("go-1", 4)
	a.settle()
	var calls []func() answer
	for i := range 40 {
		s := []*service{a, b}[i%2]
		calls = append(calls, func() answer {
			return s.do(call{method: http.MethodDelete, path: "/v1/registrations/" + crowd[0].ID.String()})
		})
	}
	for i := range 10 {
		s := []*service{a, b}[i%2]
		calls = append(calls, func() answer { return s.organise(http.MethodDelete, "/v1/runs/go-1/registrations/1", "") })
	}
	for _, each := range atOnce(calls...) {
		each.expect(http.StatusAccepted)
		if !strings.Contains(string(each.body), `"cancellation":{"ticket":5,"status":"queued"}`) {
			t.Errorf("got %s", each.body)
		}
	}
	a.settle()
	a.expectOutcomes("confirmed, waitlisted 1, waitlisted 2", crowd[1:]...)
	if got := a.now(crowd[0]); got.Status != "cancelled" { // by the person or by the organiser, who came first
		t.Errorf("the one who left is %s", got.outcome())
	}
	if got := a.run("go-1"); got.SeatsTaken != 1 || got.Waitlist.Length != 2 || got.Line.SettledTicket != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestCancellation_then_again(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(nil))
	crowd := s.crowd("go-1", 4)
	s.settle()

	s.cancel(crowd[2]).expect(http.StatusAccepted) // leaving the list frees nothing
	s.settle()
	s.expectOutcomes("confirmed, waitlisted 1, cancelled, waitlisted 2", crowd...)
	if got := s.run("go-1"); got.SeatsTaken != 1 || *got.SeatsLeft != 0 || got.Waitlist.Length != 2 {
		t.Errorf("got %+v", got)
	}

	back := s.register("go-1", "A Person", "p2@example.org")
	if back.Ticket != 6 || back.ID == crowd[2].ID {
		t.Errorf("asking again gets %+v", back)
	}
	s.settle()
	s.expectOutcomes("confirmed, waitlisted 1, cancelled, waitlisted 2, waitlisted 3", append(slices.Clone(crowd), back)...)
	s.cancel(crowd[2]).expect(http.StatusOK) // the old link acts on nothing
	s.settle()
	s.expectOutcomes("cancelled, waitlisted 3", crowd[2], back)
}

// forgetful is an intake that does not know how it ended.
type forgetful struct {
	httpapi.Intake
	on atomic.Bool
}

func (f *forgetful) Accept(ctx context.Context, sub enroll.Submission) (enroll.Receipt, error) {
	receipt, err := f.Intake.Accept(ctx, sub)
	if f.on.Load() {
		return receipt, enroll.Errorf(enroll.OutcomeUnknown, "it broke off")
	}
	return receipt, err
}

func TestCancellation_of_which_nobody_knows_how_it_ended(t *testing.T) {
	t.Parallel()
	var f forgetful
	s := start(t, place{intake: func(in httpapi.Intake) httpapi.Intake { f.Intake = in; return &f }})
	s.addRun("go-1", seats(1))
	r := s.register("go-1", ada, adaEmail)
	f.on.Store(true)
	a := s.cancel(r)
	a.expectProblem(http.StatusServiceUnavailable, "outcome_unknown", "")
	if a.header.Get("Location") != r.Links.Self || a.header.Get("Retry-After") != "1" {
		t.Errorf("got %v", a.header)
	}
	s.cancel(r).expect(http.StatusAccepted) // it was accepted, and is found
	b := s.organise(http.MethodPatch, "/v1/runs/go-1", `{"capacity": 2}`)
	if b.expectProblem(http.StatusServiceUnavailable, "outcome_unknown", ""); b.header.Get("Location") != "" {
		t.Errorf("got %v", b.header)
	}
	f.on.Store(false)
	s.settle()
	s.expectOutcomes("cancelled", r)
	if n := s.sql(`SELECT count(*)::text FROM requests WHERE kind = 'cancel'`); n[0] != "1" {
		t.Errorf("%s requests to cancel are in the line", n[0])
	}
}

func TestCancellation_that_may_have_been_accepted_can_be_tried_again(t *testing.T) {
	t.Parallel()
	s := start(t, place{commitTimeout: 15 * time.Second}) // half of it suffices for a first try, also on a very busy machine
	s.addRun("go-1", seats(1))
	r := s.register("go-1", ada, adaEmail)
	release := s.block("go-1")
	s.cancel(r).expectProblem(http.StatusServiceUnavailable, "outcome_unknown", "")
	release()
	testwait.Until(t, "it is accepted", func() bool { return s.cancel(r).status == http.StatusAccepted })
	s.settle()
	s.expectOutcomes("cancelled", r)
}
