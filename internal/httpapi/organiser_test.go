package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOrganisers_accept_outside_the_window(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	now := time.Now()
	s.addRun("early", seats(1), window(now.Add(time.Hour), now.Add(2*time.Hour)))
	s.addRun("late", seats(1), window(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	for _, run := range []string{"early", "late"} {
		ask := func(n int, more string) answer {
			return s.ask(run, fmt.Sprintf(`{"name": "Ada", "email": "p%d@example.org"%s}`, n, more), "Authorization", bearer)
		}
		code := map[string]string{"early": "not_open", "late": "closed"}[run]
		ask(1, ``).expectProblem(http.StatusConflict, code, "")
		ask(1, `, "outside_window": false`).expectProblem(http.StatusConflict, code, "")
		a, b := ask(1, `, "outside_window": true`), ask(2, `, "outside_window": true`)
		a.expect(http.StatusAccepted)
		b.expect(http.StatusAccepted)
		s.settle()
		s.expectOutcomes("confirmed, rejected full", a.registration(), b.registration()) // never above capacity
		if got := a.header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("Cache-Control is %s", got)
		}
		if line := s.line(run, ""); !line[0].ByOrganiser || line[0].Kind != "register" {
			t.Errorf("the line is %+v", line)
		}
	}
	// Inside the window, too, a token is a good one or refused.
	s.addRun("open", nil)
	s.ask("open", `{"name": "Ada", "email": "c@example.org", "outside_window": true}`, "Authorization", bearer).expect(http.StatusAccepted)
	for _, header := range []string{"Bearer wrong", "nonsense", ""} {
		s.ask("open", `{"name": "Ada", "email": "a@example.org"}`, "Authorization", header).expectProblem(http.StatusUnauthorized, "unauthorized", "")
	}
	wrong := call{method: http.MethodPost, path: "/v1/runs/open/registrations", bad: true, body: `{"name": "", "email": "d", "outside_window": true}`,
		header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer wrong"}}}
	s.do(wrong).expectProblem(http.StatusUnauthorized, "unauthorized", "")
}

func TestOrganisers_remove_somebody(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(1)))
	crowd := s.crowd("go-1", 3)
	s.settle()
	remove := func(run string, ticket any) answer {
		t.Helper()
		c := organising(http.MethodDelete, fmt.Sprintf("/v1/runs/%s/registrations/%v", run, ticket), "")
		c.bad = true
		return s.do(c)
	}
	for _, status := range []int{http.StatusAccepted, http.StatusAccepted} {
		a := remove("go-1", 1)
		a.expect(status)
		if want := `{"ticket":1,"status":"confirmed","reason":null,"cancellation":{"ticket":4,"status":"queued"}}`; string(a.body) != want {
			t.Errorf("got %s, want %s", a.body, want)
		}
	}
	s.settle()
	s.expectOutcomes("cancelled removed, confirmed, rejected full", crowd...)
	a := remove("go-1", 1)
	a.expect(http.StatusOK)
	if !strings.Contains(string(a.body), `"code":"removed"`) || strings.Contains(string(a.body), crowd[0].ID.String()) {
		t.Errorf("got %s", a.body)
	}
	s.cancel(crowd[0]).expect(http.StatusOK)
	remove("go-1", 3).expectProblem(http.StatusConflict, "not_held", "")
	for _, ticket := range []any{4, 5, 0, -1, "x", "01", "+1", "1e0", "99999999999999999999"} { // 4 is no registration
		remove("go-1", ticket).expectProblem(http.StatusNotFound, "not_found", "")
	}
	// After the run has begun, too: then the seat goes to nobody.
	s.addRun("begun", seats(1), withList(seats(1)))
	pair := s.crowd("begun", 2)
	s.settle()
	s.exec(`UPDATE runs SET opens_at = now() - interval '2 h', closes_at = now() - interval '1 h', starts_at = now() WHERE slug = 'begun'`)
	s.cancel(pair[0]).expectProblem(http.StatusConflict, "begun", "")
	remove("begun", 1).expect(http.StatusAccepted)
	s.settle()
	s.expectOutcomes("cancelled removed, waitlisted 1", pair...)
}

func TestOrganisers_correct_a_person(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(1)))
	crowd := s.crowd("go-1", 4)
	correct := func(ticket any, body string) answer {
		t.Helper()
		c := organising(http.MethodPatch, fmt.Sprintf("/v1/runs/go-1/registrations/%v", ticket), body)
		c.bad = true
		return s.do(c)
	}
	const grace = `{"name": " Grace Hopper ", "email": "Grace@example.org"}`
	correct(1, grace).expectProblem(http.StatusConflict, "not_held", "") // queued: nothing is held yet
	s.settle()
	for ticket, status := range map[int]string{1: "confirmed", 2: "waitlisted"} {
		body := strings.ReplaceAll(grace, "Grace@", fmt.Sprintf("Grace%d@", ticket))
		a := correct(ticket, body)
		a.expect(http.StatusOK)
		if want := fmt.Sprintf(`{"ticket":%d,"name":"Grace Hopper","email":"Grace%d@example.org","status":%q}`, ticket, ticket, status); string(a.body) != want {
			t.Errorf("got %s, want %s", a.body, want)
		}
		correct(ticket, body).expect(http.StatusOK) // again
	}
	correct(1, strings.ReplaceAll(grace, "Grace@", "grace2@")).expectProblem(http.StatusConflict, "conflict", "")
	correct(3, grace).expectProblem(http.StatusConflict, "not_held", "")
	correct(9, grace).expectProblem(http.StatusNotFound, "not_found", "")
	correct("x", grace).expectProblem(http.StatusNotFound, "not_found", "")
	for body, field := range map[string]string{
		`{"name": "Ada"}`: "email", `{"email": "ada@example.org"}`: "name", `{}`: "name", `{"name": "\u0007", "email": "ada"}`: "name",
		`{"name": "Ada", "email": "ada"}`: "email", `{"name": "Ada", "email": "ada@example.org", "status": "confirmed"}`: "status",
	} {
		p := correct(1, body).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
		if both := strings.Contains(body, "0007") || body == "{}"; both != (len(p.Errors) == 2) {
			t.Errorf("%s: got %+v", body, p.Errors)
		}
	}
	c := organising(http.MethodPatch, "/v1/runs/go-1/registrations/1", "")
	c.bad = true
	s.do(c).expectProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	s.expectOutcomes("rejected full, rejected full", crowd[2:]...)
	s.get(crowd[0].Links.Self).corrected(s)
	line := s.line("go-1", "")
	if line[0].Status != "confirmed" || line[1].Status != "waitlisted" || *line[0].Name != "Grace Hopper" || *line[0].Email != "Grace1@example.org" || *line[2].Email != "p2@example.org" {
		t.Errorf("the line is %+v", line)
	}
	// The old address is free again, the new one is not.
	for email, want := range map[string]string{"p0@example.org": "rejected full", "grace1@example.org": "rejected already_registered"} {
		r := s.register("go-1", "A Person", email)
		s.settle()
		s.expectOutcomes(want, r)
	}
}
