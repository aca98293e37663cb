package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// change sends a change made from a version.
func (s *service) change(path, tag, body string) answer {
	s.t.Helper()
	c := organising(http.MethodPatch, path, body)
	c.bad = true
	if tag != "" {
		c.header.Set("If-Match", tag)
	}
	return s.do(c)
}

func (s *service) admin(method, path, body string) answer {
	s.t.Helper()
	return s.as(pgtest.AdminToken, call{method: method, path: path, body: body})
}

// newRun returns the body of a run whose registration is open.
func newRun(slug string) string {
	now := time.Now().UTC()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	return fmt.Sprintf(`{"slug": %q, "location": "Room 1", "time_zone": "Europe/Berlin", "starts_at": %q, "ends_at": %q, "opens_at": %q, "closes_at": %q, "capacity": 1}`,
		slug, at(48*time.Hour), at(50*time.Hour), at(-time.Hour), at(24*time.Hour))
}

// TestEditing goes the way of an organiser: a course, a draft, its publication,
// people, and the archive.
func TestEditing(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	a := s.admin("POST", "/v1/courses", `{"slug": "glass", "title": "Glass", "reply_to": "office@example.org"}`)
	if a.expect(201); a.header.Get("Location") != s.base+"/v1/courses/glass" || a.header.Get("Etag") != `"1"` {
		t.Errorf("got %v", a.header)
	}
	s.admin("POST", "/v1/courses", `{"slug": "glass", "title": "Glass"}`).expectProblem(409, "conflict", "")
	a = s.change("/v1/courses/glass/settings", `"1"`, `{"description": "Two evenings."}`)
	if a.expect(200); a.header.Get("Etag") != `"2"` || !strings.Contains(string(a.body), `"reply_to":"office@example.org"`) {
		t.Errorf("got %v %s", a.header, a.body)
	}

	a = s.admin("POST", "/v1/courses/glass/runs", strings.Replace(newRun("glass-may"), "Room 1", "", 1))
	if a.expect(201); !strings.Contains(string(a.body), `"state":"draft"`) {
		t.Errorf("got %s", a.body)
	}
	tag := a.header.Get("Etag")
	s.admin("POST", "/v1/courses/glass/runs", newRun("glass-may")).expectProblem(409, "conflict", "")
	listed := func(query, token string) bool {
		t.Helper()
		a := s.as(token, call{method: "GET", path: "/v1/runs" + query})
		a.expect(200)
		return strings.Contains(string(a.body), "glass-may")
	}
	// Nobody outside knows of it.
	if listed("", "") || listed("?course=glass", "") || listed("?registration=open", "") || listed("", pgtest.AdminToken) || !listed("?state=draft", pgtest.AdminToken) {
		t.Error("the draft is in a list where it does not belong, or not where it does")
	}
	s.get("/v1/runs/glass-may").expectProblem(404, "not_found", "")
	s.ask("glass-may", `{"name": "Ada", "email": "ada@example.org"}`).expectProblem(404, "not_found", "")
	s.as("", call{method: "GET", path: "/v1/runs?state=draft"}).expectProblem(401, "unauthorized", "")
	_, door := s.token(access.Grants{"glass": access.Door}, access.Limits{})
	s.as(door, call{method: "GET", path: "/v1/runs?state=draft"}).expectProblem(403, "forbidden", "")
	if a := s.as(door, call{method: "GET", path: "/v1/runs/glass-may"}); a.status != 200 || !strings.Contains(string(a.body), `"registration":"draft"`) {
		t.Errorf("the door sees %d %s", a.status, a.body)
	}
	for _, more := range []string{"", `, "outside_window": true`} {
		s.as(pgtest.AdminToken, call{method: "POST", path: "/v1/runs/glass-may/registrations", body: `{"name": "Ada", "email": "ada@example.org"` + more + `}`}).
			expectProblem(409, "draft", "")
	}

	s.admin("POST", "/v1/runs/glass-may/publish", "").expectProblem(422, "invalid", "location")
	s.change("/v1/runs/glass-may/settings", tag, `{"location": "Room 2"}`).expect(200)
	s.admin("POST", "/v1/runs/glass-may/archive", "").expectProblem(409, "wrong_state", "")
	s.admin("POST", "/v1/runs/glass-may/publish", "").expect(200)
	s.admin("POST", "/v1/runs/glass-may/publish", "").expectProblem(409, "wrong_state", "")
	if !listed("", "") || !listed("?registration=open", "") || listed("?state=draft", pgtest.AdminToken) {
		t.Error("it is published, and not listed as such")
	}
	r := s.register("glass-may", ada, adaEmail)
	s.settle()
	s.expectOutcomes("confirmed", r)
	s.admin("DELETE", "/v1/runs/glass-may", "").expectProblem(409, "wrong_state", "")
	s.admin("POST", "/v1/runs/glass-may/archive", "").expectProblem(409, "wrong_state", "")
	s.admin("POST", "/v1/runs/glass-may/call-off", "").expect(202)
	s.settle()
	a = s.admin("POST", "/v1/runs/glass-may/archive", "")
	a.expect(200)
	if listed("", "") || !listed("?state=archived", pgtest.AdminToken) {
		t.Error("it is archived, and not listed as such")
	}
	s.get("/v1/runs/glass-may").expect(200)
	s.expectOutcomes("cancelled called_off", r)
	s.ask("glass-may", `{"name": "Eve", "email": "eve@example.org"}`).expectProblem(409, "called_off", "")
	s.change("/v1/runs/glass-may/settings", a.header.Get("Etag"), `{"location": "Room 3"}`).expectProblem(409, "wrong_state", "")
	s.admin("POST", "/v1/runs/glass-may/publish", "").expectProblem(409, "wrong_state", "")

	s.admin("POST", "/v1/courses/glass/runs", newRun("glass-june")).expect(201)
	if a := s.admin("DELETE", "/v1/runs/glass-june", ""); a.status != 204 || len(a.body) > 0 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	s.admin("GET", "/v1/runs/glass-june/settings", "").expectProblem(404, "not_found", "")
	want := "course_added course_changed run_added run_changed run_published call_off run_archived run_added run_deleted"
	if got := strings.Replace(actions(s.auditOf(pgtest.AdminToken, "&course=glass", 100)), "role_granted ", "", 1); got != want {
		t.Errorf("the audit has %s", got)
	}
}

// TestEditing_states: each state × what can be done with a run, as
// docs/design.md has it.
func TestEditing_states(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	type outcome struct{ draft, published, archived int }
	requests := map[string]struct {
		token string
		call
		outcome
	}{
		"the public reads it":        {"", call{method: "GET", path: ""}, outcome{404, 200, 200}},
		"the public asks for a seat": {"", call{method: "POST", path: "/registrations", body: `{"name": "Ada", "email": "ada@example.org"}`}, outcome{404, 202, 409}},
		"an organiser asks":          {"admin", call{method: "POST", path: "/registrations", body: `{"name": "Eve", "email": "eve@example.org"}`}, outcome{409, 202, 409}},
		"an organiser reads it":      {"admin", call{method: "GET", path: ""}, outcome{200, 200, 200}},
		"settings are read":          {"admin", call{method: "GET", path: "/settings"}, outcome{200, 200, 200}},
		"settings are changed":       {"admin", call{method: "PATCH", path: "/settings", body: `{"location": "Room 9"}`}, outcome{200, 200, 409}},
		"the capacity is changed":    {"admin", call{method: "PATCH", path: "", body: `{"capacity": 3}`}, outcome{202, 202, 202}},
		"the line is read":           {"admin", call{method: "GET", path: "/line"}, outcome{200, 200, 200}},
		"mails are listed":           {"admin", call{method: "GET", path: "/mails"}, outcome{200, 200, 200}},
		"the list is ended":          {"admin", call{method: "POST", path: "/close-waitlist"}, outcome{202, 202, 202}},
		"it is called off":           {"admin", call{method: "POST", path: "/call-off"}, outcome{202, 202, 202}},
		"it is published":            {"admin", call{method: "POST", path: "/publish"}, outcome{200, 409, 409}},
		"it is archived":             {"admin", call{method: "POST", path: "/archive"}, outcome{409, 409, 409}},
		"it is deleted":              {"admin", call{method: "DELETE", path: ""}, outcome{204, 409, 409}},
	}
	n := 0
	for name, r := range requests {
		for state, want := range map[enroll.State]int{enroll.Draft: r.draft, enroll.Published: r.published, enroll.Archived: r.archived} {
			n++
			slug := fmt.Sprintf("run-%d", n)
			s.addRun(slug, seats(1), func(r *enroll.Run) {
				if r.State = state; state == enroll.Archived {
					r.StartsAt, r.EndsAt = r.OpensAt, r.OpensAt.Add(time.Minute)
				}
			})
			c := r.call
			c.path, c.bad, c.header = "/v1/runs/"+slug+c.path, true, http.Header{"If-Match": {"*"}}
			if r.token != "" {
				c.header.Set("Authorization", bearer)
			}
			if c.body != "" {
				c.header.Set("Content-Type", "application/json")
			}
			if a := s.do(c); a.status != want {
				t.Errorf("%s, %s: %d, want %d: %s", state, name, a.status, want, a.body)
			}
		}
	}
}

func TestSettings_are_changed_from_a_version(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(5))
	const path = "/v1/runs/a/settings"
	tag := s.admin("GET", path, "").header.Get("Etag")
	s.change(path, "", `{"location": "Room 2"}`).expectProblem(428, "precondition_required", "")
	for _, other := range []string{`"99"`, "W/" + tag, "x", `"`} {
		a := s.change(path, other, `{"location": "Room 2"}`)
		a.expectProblem(412, "version_changed", "")
		var p struct{ Current struct{ Location string } }
		if err := json.Unmarshal(a.body, &p); err != nil || p.Current.Location != "Room 1" || a.header.Get("Etag") != tag {
			t.Errorf("with %s: %v %s", other, a.header, a.body)
		}
	}
	// Settling is no change of settings.
	s.crowd("a", 3)
	s.settle()
	a := s.change(path, tag, `{"location": "Room 2"}`)
	a.expect(200)
	again := s.change(path, a.header.Get("Etag"), `{"location": "Room 2"}`) // which changes nothing
	if again.expect(200); again.header.Get("Etag") != a.header.Get("Etag") {
		t.Errorf("no change raised the version to %s", again.header.Get("Etag"))
	}
	// Of two editors, one comes first.
	tag = again.header.Get("Etag")
	for round := range 10 {
		var both [2]answer
		var wg sync.WaitGroup
		for i := range both {
			wg.Go(func() { both[i] = s.change(path, tag, fmt.Sprintf(`{"location": "Room %d of round %d"}`, i, round)) })
		}
		wg.Wait()
		first, second := both[0], both[1]
		if first.status != 200 {
			first, second = second, first
		}
		first.expect(200)
		second.expectProblem(412, "version_changed", "")
		tag = first.header.Get("Etag")
		if second.header.Get("Etag") != tag {
			t.Fatalf("the second one is told the version %s, and it is %s", second.header.Get("Etag"), tag)
		}
	}
}

// TestSettings_window: a window that changes while people ask has a place between
// two tickets.
func TestSettings_window(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(5))
	s.crowd("a", 3)
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	s.change("/v1/runs/a/settings", "*", fmt.Sprintf(`{"closes_at": %q}`, past)).expect(200)
	s.ask("a", `{"name": "Ada", "email": "late@example.org"}`).expectProblem(409, "closed", "")
	entry := s.auditOf(pgtest.AdminToken, "&run=a", 1)[0]
	if entry.Action != "run_changed" || fmt.Sprint(entry.Details) != "map[after_ticket:3 fields:[closes_at]]" {
		t.Errorf("the audit has %+v", entry)
	}
	// While the line's head is held, the change waits for it, and is not made.
	release := pgtest.Hold(t, s.place.database, `SELECT FROM lines FOR NO KEY UPDATE`)
	result := make(chan answer, 1)
	go func() { result <- s.change("/v1/runs/a/settings", "*", `{"closes_at": "2099-01-01T00:00:00Z"}`) }()
	pgtest.AwaitLockWaiters(t, s.place.database, 1)
	if got := s.sql(`SELECT (closes_at < now())::text FROM runs`); got[0] != "true" {
		t.Error("the window moved while the line was held")
	}
	release()
	(<-result).expect(200)
	s.register("a", ada, "again@example.org")
}

func TestSettings_faults_are_told_all_at_once(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(5))
	for _, test := range []struct{ method, path, body, fields string }{
		{"POST", "/v1/courses", `{}`, "slug title"},
		{"POST", "/v1/courses", `{"slug": "4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e", "title": "\u0007", "reply_to": "x", "organiser": "a\nb"}`, "slug title organiser reply_to"},
		{"POST", "/v1/courses/course/runs", `{}`, "slug starts_at ends_at opens_at closes_at time_zone capacity"},
		{"POST", "/v1/courses/course/runs", strings.NewReplacer(`"capacity": 1`, `"capacity": -1, "waitlist_capacity": 9000000, "language": "fr"`, "Europe/Berlin", "Mars").Replace(newRun("A")), "slug time_zone language capacity waitlist_capacity"},
		{"PATCH", "/v1/runs/a/settings", `{"starts_at": "2027-03-28T02:30", "ends_at": "2027-10-31T02:30", "opens_at": "soon", "location": "a\nb"}`, "starts_at ends_at opens_at location"},
		{"PATCH", "/v1/runs/a/settings", `{"starts_at": "2027-05-04T18:00", "ends_at": "2027-05-04T17:00", "opens_at": "2027-05-04T18:00", "closes_at": "2027-05-04T18:00"}`, "ends_at closes_at"},
		{"PATCH", "/v1/courses/course/settings", `{"title": ""}`, "title"},
		{"PATCH", "/v1/courses/course/settings", fmt.Sprintf(`{"title": %q}`, strings.Repeat("x", 201)), "title"},
	} {
		c := organising(test.method, test.path, test.body)
		c.bad = true
		c.header.Set("If-Match", "*")
		a := s.do(c)
		p := a.expectProblem(422, "invalid", strings.Fields(test.fields)[0])
		var fields []string
		for _, e := range p.Errors {
			fields = append(fields, e.Field)
		}
		if got := strings.Join(fields, " "); got != test.fields {
			t.Errorf("%s: the faults are in %s, want %s\n%s", test.body, got, test.fields, a.body)
		}
	}
	a := s.change("/v1/runs/a/settings", "*", `{"time_zone": "America/New_York", "starts_at": "2027-05-04T18:00", "ends_at": "2027-05-04T20:00:00-04:00", "promote_until": "2027-05-01T00:00"}`)
	if a.expect(200); !strings.Contains(string(a.body), `"starts_at":"2027-05-04T22:00:00Z","ends_at":"2027-05-05T00:00:00Z"`) || !strings.Contains(string(a.body), `"promote_until":"2027-05-01T04:00:00Z"`) {
		t.Errorf("got %s", a.body)
	}
	if a := s.change("/v1/runs/a/settings", "*", `{"promote_until": null}`); !strings.Contains(string(a.body), `"promote_until":null`) {
		t.Errorf("got %s", a.body)
	}
}
