package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// resize changes capacities and returns the answer.
func (s *service) resize(run, body string) answer {
	s.t.Helper()
	a := s.organise(http.MethodPatch, "/v1/runs/"+run, body)
	a.expect(http.StatusAccepted)
	s.settle()
	return a
}

func TestChange_of_capacity_raised_promotes_in_order(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(2), withList(nil))
	crowd := s.crowd("go-1", 6)
	s.settle()
	s.expectOutcomes("confirmed, confirmed, waitlisted 1, waitlisted 2, waitlisted 3, waitlisted 4", crowd...)
	a := s.resize("go-1", `{"capacity": 5}`)
	if want := `{"ticket":7,"kind":"resize","status":"queued"}`; string(a.body) != want {
		t.Errorf("got %s, want %s", a.body, want)
	}
	s.expectOutcomes("confirmed, confirmed, confirmed, confirmed, confirmed, waitlisted 1", crowd...)
	for i, r := range crowd {
		if promoted := s.now(r).ChangedAt != nil; promoted != (i >= 2 && i < 5) {
			t.Errorf("ticket %d: promoted is %v", r.Ticket, promoted)
		}
	}
	if r := s.run("go-1"); *r.Capacity != 5 || r.SeatsTaken != 5 || *r.SeatsLeft != 0 || r.OverCapacity || r.Waitlist.Length != 1 || r.Waitlist.Capacity != nil {
		t.Errorf("got %+v", r)
	}
}

func TestChange_of_capacity_lowered_takes_nobodys_seat_away(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(3), withList(nil))
	crowd := s.crowd("go-1", 5)
	s.settle()
	s.resize("go-1", `{"capacity": 2}`)
	if r := s.run("go-1"); *r.Capacity != 2 || r.SeatsTaken != 3 || *r.SeatsLeft != 0 || !r.OverCapacity {
		t.Errorf("got %+v", r)
	}
	s.expectOutcomes("confirmed, confirmed, confirmed, waitlisted 1, waitlisted 2", crowd...)
	s.cancel(crowd[0]).expect(http.StatusAccepted)
	s.settle()
	s.expectOutcomes("cancelled, confirmed, confirmed, waitlisted 1, waitlisted 2", crowd...)
	if r := s.run("go-1"); r.OverCapacity || *r.SeatsLeft != 0 {
		t.Errorf("got %+v", r)
	}
	s.cancel(crowd[1]).expect(http.StatusAccepted)
	s.settle()
	s.expectOutcomes("cancelled, cancelled, confirmed, confirmed, waitlisted 1", crowd...)
}

func TestChange_tells_null_from_nothing(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(2)))
	limits := func() string {
		return s.sql(`SELECT coalesce(capacity::text, 'null') || ' ' || coalesce(waitlist_capacity::text, 'null') FROM runs`)[0]
	}
	for _, step := range []struct{ body, want string }{
		{`{"capacity": null}`, "null 2"},
		{`{"waitlist_capacity": null}`, "null null"},
		{`{"capacity": 0}`, "0 null"},
		{`{"capacity": 7, "waitlist_capacity": 0}`, "7 0"},
		{`{"waitlist_capacity": 1000000}`, "7 1000000"},
	} {
		s.resize("go-1", step.body)
		if got := limits(); got != step.want {
			t.Errorf("after %s it is %s, want %s", step.body, got, step.want)
		}
	}
	for _, test := range []struct {
		body   string
		status int
		code   string
		field  string
	}{
		{`{}`, 422, "invalid", "capacity"},
		{`null`, 400, "malformed", ""},
		{`[]`, 400, "malformed", ""},
		{`{"capacity": 1`, 400, "malformed", ""},
		{`{"capacity": 1, "capacity": 2}`, 400, "malformed", "capacity"},
		{`{"capacity": -1}`, 422, "invalid", "capacity"},
		{`{"waitlist_capacity": -1}`, 422, "invalid", "waitlist_capacity"},
		{`{"capacity": 1000001}`, 422, "invalid", "capacity"},
		{`{"capacity": 1.5}`, 422, "invalid", "capacity"},
		{`{"capacity": 99999999999999999999}`, 422, "invalid", "capacity"},
		{`{"capacity": "3"}`, 422, "invalid", "capacity"},
		{`{"capacity": {}}`, 422, "invalid", "capacity"},
		{`{"waitlist_capacity": true}`, 422, "invalid", "waitlist_capacity"},
		{`{"capacity": 3, "title": "x"}`, 422, "invalid", "title"},
		{`{"Capacity": 3}`, 422, "invalid", "Capacity"},
	} {
		c := organising(http.MethodPatch, "/v1/runs/go-1", test.body)
		c.bad = true
		s.do(c).expectProblem(test.status, test.code, test.field)
	}
	if got := limits(); got != "7 1000000" {
		t.Errorf("what was refused has made it %s", got)
	}
	if got := s.run("go-1").Line.SettledTicket; got != 5 {
		t.Errorf("the last ticket is %d", got)
	}
}

func TestChange_that_calls_the_run_off_tells_everybody(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(2), withList(seats(2)))
	crowd := s.crowd("go-1", 5)
	s.settle()
	behind := s.register("go-1", "A Person", "before@example.org")
	a := s.organise(http.MethodPost, "/v1/runs/go-1/call-off", "")
	a.expect(http.StatusAccepted)
	if want := `{"ticket":7,"kind":"call_off","status":"queued"}`; string(a.body) != want {
		t.Errorf("got %s, want %s", a.body, want)
	}
	after := s.register("go-1", "A Person", "after@example.org")
	s.settle()
	s.expectOutcomes("cancelled called_off, cancelled called_off, cancelled called_off, cancelled called_off, rejected full, rejected full, rejected called_off",
		append(crowd, behind, after)...)
	if r := s.now(crowd[0]); r.Reason.Message == "" || r.ChangedAt == nil || !r.Final {
		t.Errorf("got %+v", r)
	}
	p := s.post("go-1", ada, adaEmail).expectProblem(http.StatusConflict, "called_off", "")
	if !p.OpensAt.IsZero() {
		t.Errorf("it tells a window: %+v", p)
	}
	if r := s.run("go-1"); r.Registration != "called_off" || r.SeatsTaken != 0 || r.Waitlist.Length != 0 || !r.Waitlist.Ended {
		t.Errorf("got %+v", r)
	}
	if body := string(s.get("/v1/runs?registration=open").body); strings.Contains(body, "go-1") {
		t.Error("it is listed as open")
	}
	s.cancel(crowd[0]).expect(http.StatusOK)
	c := organising(http.MethodPost, "/v1/runs/go-1/registrations", `{"name": "Ada", "email": "ada@example.org", "outside_window": true}`)
	s.do(c).expectProblem(http.StatusConflict, "called_off", "")
	if text := string(s.get(crowd[1].Links.Self + "/calendar.ics").body); !strings.Contains(text, "METHOD:CANCEL") {
		t.Errorf("the entry is\n%s", text)
	}
}

func TestChange_of_what_is_not_there(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	for _, c := range []call{
		organising(http.MethodPatch, "/v1/runs/%s", `{"capacity": 3}`),
		organising(http.MethodPost, "/v1/runs/%s/close-waitlist", ""),
		organising(http.MethodPost, "/v1/runs/%s/call-off", ""),
		organising(http.MethodDelete, "/v1/runs/%s/registrations/1", ""),
		organising(http.MethodPatch, "/v1/runs/%s/registrations/1", `{"name": "Ada", "email": "ada@example.org"}`),
		organising(http.MethodGet, "/v1/runs/%s/line", ""),
		organising(http.MethodGet, "/v1/runs/%s/line?format=csv", ""),
	} {
		path := c.path
		for _, run := range []string{"nowhere", "NOWHERE"} {
			c.path, c.bad = fmt.Sprintf(path, run), true
			s.do(c).expectProblem(http.StatusNotFound, "not_found", "")
		}
	}
}
