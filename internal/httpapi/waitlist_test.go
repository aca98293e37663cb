package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// withList gives a run a waiting list with so many places, nil being unlimited.
func withList(places *int) func(*enroll.Run) {
	return func(r *enroll.Run) { r.WaitlistCapacity = places }
}

// crowd registers so many people, in order.
func (s *service) crowd(run string, people int) (all []registration) {
	s.t.Helper()
	for i := range people {
		all = append(all, s.register(run, "A Person", fmt.Sprintf("p%d@example.org", i)))
	}
	return all
}

// outcomes returns how the registrations stand, with their places on the list.
func (s *service) outcomes(all ...registration) string {
	s.t.Helper()
	var text []string
	for _, r := range all {
		r = s.now(r)
		each := r.outcome()
		if r.WaitlistPosition != nil {
			each += fmt.Sprintf(" %d", *r.WaitlistPosition)
		}
		text = append(text, each)
	}
	return strings.Join(text, ", ")
}

func (s *service) expectOutcomes(want string, all ...registration) {
	s.t.Helper()
	if got := s.outcomes(all...); got != want {
		s.t.Errorf("they are\n%s, want\n%s", got, want)
	}
}

func (c *client) ask(run, body string, header ...string) answer {
	c.t.Helper()
	return c.send("/v1/runs/"+run+"/registrations", body, header...)
}

func TestWaitlist(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(3)))
	crowd := s.crowd("go-1", 2)
	ask := func(name, more string) {
		t.Helper()
		a := s.ask("go-1", fmt.Sprintf(`{"name": "A Person", "email": "%s@example.org"%s}`, name, more))
		a.expect(http.StatusAccepted)
		crowd = append(crowd, a.registration())
	}
	ask("one", `, "max_waitlist_position": 1`)
	ask("nothing", `, "waitlist": false`)
	ask("two", `, "max_waitlist_position": 2, "waitlist": true`)
	ask("any", `, "waitlist": true`)
	ask("late", ``)
	ask("late-limit", `, "max_waitlist_position": 9`)
	s.settle()
	s.expectOutcomes("confirmed, waitlisted 1, rejected waitlist_too_long, rejected full, waitlisted 2, waitlisted 3, rejected full, rejected full", crowd...)

	t.Run("is shown with the registration", func(t *testing.T) {
		a := s.get(crowd[1].Links.Self)
		r := a.registration()
		if r.Final || r.DecidedAt == nil || r.ChangedAt != nil || r.Position != nil || r.Reason != nil || r.Links.Calendar != nil {
			t.Errorf("got %s", a.body)
		}
		if got := a.header.Get("Retry-After"); got != "30" {
			t.Errorf("Retry-After is %q", got)
		}
		s.get(r.Links.Self+"/calendar.ics").expectProblem(http.StatusNotFound, "not_found", "")
	})
	t.Run("is shown with the run", func(t *testing.T) {
		r := s.run("go-1")
		if w := r.Waitlist; *w.Capacity != 3 || w.Length != 3 || w.Ended || !w.PromoteUntil.Equal(r.StartsAt) || r.SeatsTaken != 1 || *r.SeatsLeft != 0 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("moving up is nothing to tell", func(t *testing.T) {
		tag := s.get(crowd[5].Links.Self).header.Get("ETag")
		s.cancel(crowd[4]).expect(http.StatusAccepted)
		s.settle()
		s.expectOutcomes("waitlisted 2", crowd[5])
		s.poll(crowd[5].Links.Self, tag).expect(http.StatusNotModified)
	})
	t.Run("leaving it strikes nothing out of a calendar", func(t *testing.T) {
		s.expectOutcomes("cancelled", crowd[4])
		s.get(crowd[4].Links.Self+"/calendar.ics").expectProblem(http.StatusNotFound, "not_found", "")
	})
	t.Run("ends where the organiser says so", func(t *testing.T) {
		a := s.organise(http.MethodPost, "/v1/runs/go-1/close-waitlist", "")
		a.expect(http.StatusAccepted)
		if want := `{"ticket":10,"kind":"close_waitlist","status":"queued"}`; string(a.body) != want {
			t.Errorf("got %s, want %s", a.body, want)
		}
		s.settle()
		s.expectOutcomes("confirmed, not_promoted, not_promoted", crowd[0], crowd[1], crowd[5])
		if got := s.now(crowd[1]); !got.Final || got.ChangedAt == nil {
			t.Errorf("got %+v", got)
		}
		if w := s.run("go-1").Waitlist; !w.Ended || w.Length != 0 {
			t.Errorf("got %+v", w)
		}
	})
}

func TestWaitlist_fields_that_cannot_be(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	for more, code := range map[string]string{
		`"max_waitlist_position": 0`:                      "range",
		`"max_waitlist_position": -1`:                     "range",
		`"max_waitlist_position": 1000001`:                "range",
		`"max_waitlist_position": 1.5`:                    "type",
		`"max_waitlist_position": "3"`:                    "type",
		`"max_waitlist_position": 1e3`:                    "type",
		`"max_waitlist_position": 3, "waitlist": false`:   "excluded",
		`"max_waitlist_position": 0, "waitlist": false`:   "excluded",
		`"waitlist": "no"`:                                "type",
		`"waitlist": 0`:                                   "type",
		`"outside_window": 1`:                             "type",
		`"email": "x", "max_waitlist_position": 0`:        "form range",
		`"name": "", "email": "", "waitlist": false`:      "required required",
		`"name": "\u0007", "max_waitlist_position": 0`:    "forbidden_character range",
		`"waitlist_limit": 3`:                             "unknown",
		`"outside_window": null, "outside_window": false`: "duplicate",
	} {
		body := `{` + more
		for _, each := range []string{"name", "email"} {
			if !strings.Contains(more, `"`+each+`"`) {
				body += fmt.Sprintf(`, %q: %q`, each, map[string]string{"name": ada, "email": adaEmail}[each])
			}
		}
		c := call{method: http.MethodPost, path: "/v1/runs/go-1/registrations", header: http.Header{"Content-Type": {"application/json"}}, body: body + `}`, bad: true}
		a := s.do(c)
		var p problem
		a.decode(&p)
		var codes []string
		for _, e := range p.Errors {
			codes = append(codes, e.Code)
		}
		if got := strings.Join(codes, " "); got != code || (a.status != http.StatusUnprocessableEntity && code != "duplicate") {
			t.Errorf("%s: got %s, want %s", body, a.body, code)
		}
	}
}

func TestWaitlist_belongs_to_the_idempotent_request(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(0), withList(nil))
	const who = `{"name": "Ada", "email": "ada@example.org"`
	first := s.ask("go-1", who+`, "max_waitlist_position": 3}`, key, "k")
	first.expect(http.StatusAccepted)
	s.ask("go-1", who+`, "waitlist": true, "max_waitlist_position": 3}`, key, "k").same(first.registration())
	for _, other := range []string{`}`, `, "max_waitlist_position": 2}`, `, "waitlist": false}`, `, "waitlist": true}`} {
		s.ask("go-1", who+other, key, "k").expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
	}
	any := s.ask("go-1", `{"name": "Bob", "email": "bob@example.org", "waitlist": true}`, key, "l").registration()
	s.ask("go-1", `{"name": "Bob", "email": "bob@example.org"}`, key, "l").same(any)
	s.settle()
	s.cancel(any).expect(http.StatusAccepted)

	// Asked again, it is shown as it stands: the tag is the same as of a look.
	for _, test := range []struct{ body, key, want string }{
		{who + `, "max_waitlist_position": 3}`, "k", "waitlisted"},
		{`{"name": "Bob", "email": "bob@example.org"}`, "l", "waitlisted"},
	} {
		a := s.ask("go-1", test.body, key, test.key)
		a.expect(http.StatusAccepted)
		r := a.registration()
		if r.Status != test.want || r.WaitlistPosition == nil || (test.key == "l") != (r.Cancellation != nil) {
			t.Errorf("got %s", a.body)
		}
		if tag := s.get(r.Links.Self).header.Get("ETag"); tag != a.header.Get("ETag") {
			t.Errorf("the tag is %s, of a look %s", a.header.Get("ETag"), tag)
		}
	}
}
