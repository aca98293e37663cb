package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/pgtest"
)

// organiserToken is the API token of an organiser of all courses.
var (
	organiserToken = pgtest.AdminToken
	bearer         = "Bearer " + organiserToken
)

type mailStatus struct {
	ID       uuid.UUID
	Ticket   int64
	Kind     string
	Sequence int
	Email    string
	State    string
	Attempts int
	DueAt    time.Time  `json:"due_at"`
	NextAt   *time.Time `json:"next_at"`
	EndedAt  *time.Time `json:"ended_at"`
	Problem  *string
	ToldBy   *uuid.UUID `json:"told_by"`
}

// mails lists the mails of a run, as an organiser.
func (c *client) mails(run, query string) (all []mailStatus) {
	c.t.Helper()
	a := c.do(call{method: http.MethodGet, path: "/v1/runs/" + run + "/mails" + query, header: http.Header{"Authorization": {bearer}}})
	a.expect(http.StatusOK)
	var list struct{ Mails []mailStatus }
	a.decode(&list)
	return list.Mails
}

func (c *client) send(path, body string, header ...string) answer {
	c.t.Helper()
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return c.do(call{method: http.MethodPost, path: path, header: h, body: body})
}

func TestMail_language_and_notify_belong_to_the_request(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(0))
	const path = "/v1/runs/go-1/registrations"
	s.send(path, `{"name": "Ada", "email": "ada@example.org", "language": "de", "notify": true}`, key, "k").expect(http.StatusAccepted)
	s.send(path, `{"email": "ada@example.org", "notify": true, "name": "Ada", "language": "de"}`, key, "k").expect(http.StatusAccepted)
	s.send(path, `{"name": "Bob", "email": "bob@example.org"}`).expect(http.StatusAccepted)
	for _, other := range []string{
		`{"name": "Ada", "email": "ada@example.org", "language": "de"}`,
		`{"name": "Ada", "email": "ada@example.org", "language": "de", "notify": false}`,
		`{"name": "Ada", "email": "ada@example.org", "language": "en", "notify": true}`,
		`{"name": "Ada", "email": "ada@example.org", "notify": true}`,
	} {
		s.send(path, other, key, "k").expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
	}
	if got, want := s.sql(`SELECT concat_ws(' ', ticket, language, notify::text) FROM requests ORDER BY ticket`), []string{"1 de true", "2 false"}; !slices.Equal(got, want) {
		t.Errorf("the line has %q, want %q", got, want)
	}
	for value, field := range map[string]string{`"fr"`: "language", `""`: "language", `null`: "language", `1`: "language", `"yes"`: "notify"} {
		c := call{method: http.MethodPost, path: path, header: http.Header{"Content-Type": {"application/json"}}, bad: true,
			body: fmt.Sprintf(`{"name": "Ada", "email": "ada@example.org", %q: %s}`, field, value)}
		s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	winner, loser := s.register("go-1", "Ada", "ada@example.org"), s.register("go-1", "Bob", "bob@example.org")
	s.get(winner.Links.Self+"/calendar.ics").expectProblem(http.StatusNotFound, "not_found", "")
	s.settle()
	winner, loser = s.decided(winner), s.decided(loser)
	if loser.Links.Calendar != nil {
		t.Error("a registration without a seat is shown a calendar entry")
	}
	s.get(loser.Links.Self+"/calendar.ics").expectProblem(http.StatusNotFound, "not_found", "")
	s.get("/v1/registrations/"+uuid.NewString()+"/calendar.ics").expectProblem(http.StatusNotFound, "not_found", "")
	if winner.Links.Calendar == nil {
		t.Fatal("there is no link to the calendar entry")
	}
	a := s.get(*winner.Links.Calendar)
	a.expect(http.StatusOK)
	text := string(a.body)
	for _, want := range []string{"BEGIN:VCALENDAR\r\n", "METHOD:PUBLISH\r\n", "SEQUENCE:0\r\n", "END:VCALENDAR\r\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, text)
		}
	}
	if strings.Contains(strings.ReplaceAll(text, "\r\n ", ""), winner.ID.String()) {
		t.Error("the entry holds the id of the registration")
	}
	if got := a.header.Get("Content-Type"); got != "text/calendar; charset=utf-8; method=PUBLISH" {
		t.Errorf("the type is %q", got)
	}
	s.exec(`UPDATE runs SET location = 'Elsewhere'`)
	if again := string(s.get(*winner.Links.Calendar).body); !strings.Contains(again, "SEQUENCE:2\r\n") || !strings.Contains(again, "LOCATION:Elsewhere\r\n") {
		t.Errorf("after a change it is\n%s", again)
	}
	head := s.do(call{method: http.MethodHead, path: *winner.Links.Calendar})
	head.expect(http.StatusOK)
}

func TestLinks_are_promised_to_everybody_alike(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	s.register("go-1", "Ada", "ada@example.org")
	known, unknown := s.send("/v1/links", `{"email": " ADA@example.org "}`), s.send("/v1/links", `{"email": "eve@example.org"}`)
	known.expect(http.StatusAccepted)
	unknown.expect(http.StatusAccepted)
	for _, a := range []*answer{&known, &unknown} {
		a.header.Del("X-Request-ID")
		a.header.Del("Date")
	}
	if string(known.body) != string(unknown.body) || fmt.Sprint(known.header) != fmt.Sprint(unknown.header) {
		t.Errorf("the answers differ:\n%v %s\n%v %s", known.header, known.body, unknown.header, unknown.body)
	}
	s.send("/v1/links", `{"email": "ada@example.org"}`).expect(http.StatusAccepted)
	if got, want := s.sql(`SELECT kind || ' ' || email_key FROM mails`), []string{"links ada@example.org"}; !slices.Equal(got, want) {
		t.Errorf("the outbox has %q, want %q", got, want)
	}
	bad := call{method: http.MethodPost, path: "/v1/links", header: http.Header{"Content-Type": {"application/json"}}, body: `{"email": "ada"}`}
	s.do(bad).expectProblem(http.StatusUnprocessableEntity, "invalid", "email")
	bad.bad = true
	for _, body := range []string{`{}`, `{"email": null}`} {
		bad.body = body
		s.do(bad).expectProblem(http.StatusUnprocessableEntity, "invalid", "email")
	}
}

func TestMails_are_for_organisers(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	s.addRun("go-2", nil)
	s.register("go-1", "Ada", "Ada@example.org")
	s.register("go-1", "Ada", "ada@example.org")
	s.register("go-2", "Bob", "bob@example.org")
	s.settle()
	s.send("/v1/runs/go-1/registrations", `{"name": "Cyd", "email": "cyd@example.org", "notify": true}`).expect(http.StatusAccepted)
	s.settle()

	all := s.mails("go-1", "")
	if len(all) != 3 || all[0].Kind != "confirmed" || all[1].Kind != "already_registered" || all[2].Kind != "full" {
		t.Fatalf("got %+v", all)
	}
	m := all[0]
	if m.Ticket != 1 || m.Email != "Ada@example.org" || m.State != "pending" || m.Attempts != 0 || m.NextAt == nil || m.EndedAt != nil || m.Problem != nil {
		t.Errorf("got %+v", m)
	}
	for query, want := range map[string]int{"?ticket=1": 2, "?ticket=2": 0, "?ticket=3": 1, "?after=0": 3, "?after=1": 1, "?after=3": 0, "?state=pending": 3, "?state=failed": 0, "?ticket=1&state=sent": 0} {
		if got := s.mails("go-1", query); len(got) != want {
			t.Errorf("%s: got %+v, want %d", query, got, want)
		}
	}
	resend := fmt.Sprintf("/v1/runs/go-1/mails/%s/resend", m.ID)
	again := func() (got mailStatus) {
		t.Helper()
		a := s.send(resend, "", "Authorization", bearer)
		a.expect(http.StatusAccepted)
		a.decode(&got)
		return got
	}
	if got := again(); got.ID != m.ID {
		t.Errorf("one that waits was doubled: %+v", got)
	}
	s.exec(`UPDATE mails SET state = 'failed', ended_at = now(), problem = '5.1.1 no such user' WHERE id = $1`, m.ID)
	if failed := s.mails("go-1", "?state=failed"); len(failed) != 1 || failed[0].Problem == nil || *failed[0].Problem != "5.1.1 no such user" || failed[0].NextAt != nil {
		t.Errorf("got %+v", failed)
	}
	if got := again(); got.ID == m.ID || got.Sequence != 1 || got.State != "pending" || got.Ticket != 1 {
		t.Errorf("got %+v", got)
	}

	t.Run("one that makes no sense any more", func(t *testing.T) {
		s.exec(`UPDATE mails SET state = 'failed', ended_at = now(), problem = 'no such user' WHERE ticket = 1`)
		const day = `UPDATE runs SET starts_at = starts_at + $1::interval, ends_at = ends_at + $1::interval WHERE slug = 'go-1'`
		s.exec(day, -30*24*time.Hour)
		c := call{method: http.MethodPost, path: resend, header: http.Header{"Authorization": {bearer}}}
		s.do(c).expectProblem(http.StatusConflict, "obsolete", "")
		s.exec(day, 30*24*time.Hour)
		if got := again(); got.State != "pending" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("what is not there", func(t *testing.T) {
		for _, path := range []string{
			"/v1/runs/go-3/mails/" + m.ID.String() + "/resend", "/v1/runs/go-2/mails/" + m.ID.String() + "/resend",
			"/v1/runs/go-1/mails/" + uuid.NewString() + "/resend", "/v1/runs/go-1/mails/none/resend",
		} {
			c := call{method: http.MethodPost, path: path, header: http.Header{"Authorization": {bearer}}, bad: true}
			s.do(c).expectProblem(http.StatusNotFound, "not_found", "")
		}
		c := call{method: http.MethodGet, path: "/v1/runs/go-3/mails", header: http.Header{"Authorization": {bearer}}}
		s.do(c).expectProblem(http.StatusNotFound, "not_found", "")
	})
	t.Run("parameters that cannot be", func(t *testing.T) {
		for query, field := range map[string]string{"?state=lost": "state", "?ticket=x": "ticket", "?after=-1": "after", "?ticket=99999999999999999999": "ticket",
			"?ticket=0": "ticket", "?ticket=": "ticket", "?ticket=1&after=1": "after", "?ticket=1&after=0": "after"} {
			c := call{method: http.MethodGet, path: "/v1/runs/go-1/mails" + query, header: http.Header{"Authorization": {bearer}}, bad: true}
			s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
		}
	})
	t.Run("nobody else", func(t *testing.T) {
		for _, header := range []http.Header{
			{}, {"Authorization": {"Bearer wrong"}}, {"Authorization": {"Bearer "}}, {"Authorization": {organiserToken}},
			{"Authorization": {"Basic " + organiserToken}}, {"Authorization": {bearer + "x"}},
		} {
			for _, c := range []call{{method: http.MethodGet, path: "/v1/runs/go-1/mails"}, {method: http.MethodPost, path: resend}} {
				c.header, c.bad = header, true
				a := s.do(c)
				a.expectProblem(http.StatusUnauthorized, "unauthorized", "")
				if strings.Contains(string(a.body), organiserToken) || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("got %v %s", a.header, a.body)
				}
			}
		}
		if strings.Contains(s.log.String(), organiserToken) {
			t.Error("the token is logged")
		}
	})
}
