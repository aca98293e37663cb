package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

type auditEntry struct {
	Account, Token      *int64
	Client, Course, Run *string
	Action              string
	Ticket              *int64
	AboutAccount        *int64 `json:"about_account"`
	Details             map[string]any
}

// auditOf reads the whole audit that a token may read, page by page.
func (s *service) auditOf(token, query string, limit int) (entries []auditEntry) {
	s.t.Helper()
	next := fmt.Sprintf("/v1/audit?limit=%d%s", limit, query)
	for next != "" {
		a := s.as(token, call{method: http.MethodGet, path: next})
		a.expect(http.StatusOK)
		var page struct {
			Entries []auditEntry
			Next    *string
		}
		if err := json.Unmarshal(a.body, &page); err != nil {
			s.t.Fatal(err)
		}
		entries = append(entries, page.Entries...)
		if next = ""; page.Next != nil {
			next = *page.Next
		}
	}
	return entries
}

func actions(entries []auditEntry) string {
	var all []string
	for _, e := range slices.Backward(entries) {
		all = append(all, e.Action)
	}
	return strings.Join(all, " ")
}

// TestAudit goes through everything that is recorded: by whom, about what, and
// without anything that is a person's.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(2), withList(seats(2)))
	s.addRun("b", seats(1), func(r *enroll.Run) { r.Course = "another" })
	grace, token := s.token(access.Grants{"course": access.Organiser}, access.Limits{})
	_, other := s.token(access.Grants{"another": access.Organiser}, access.Limits{})
	s.register("a", ada, adaEmail) // the public's, which nobody records
	do := func(method, path, body string, want int) {
		t.Helper()
		s.as(token, call{method: method, path: path, body: body}).expect(want)
	}
	do(http.MethodPost, "/v1/runs/a/registrations", `{"name": "Grace", "email": "grace@example.org"}`, 202)
	do(http.MethodPatch, "/v1/runs/a", `{"capacity": 3}`, 202)
	s.settle()
	do(http.MethodPatch, "/v1/runs/a/registrations/1", `{"name": "Right Person", "email": "right@example.org"}`, 200)
	do(http.MethodGet, "/v1/runs/a/line", "", 200)
	do(http.MethodHead, "/v1/runs/a/line", "", 200) // tells nothing of people
	do(http.MethodGet, "/v1/runs/a/mails?ticket=1", "", 200)
	mail := s.sql(`UPDATE mails SET state = 'sent', ended_at = now() WHERE ticket = 2 RETURNING id::text`)[0]
	do(http.MethodPost, "/v1/runs/a/mails/"+mail+"/resend", "", 202)
	do(http.MethodDelete, "/v1/runs/a/registrations/2", "", 202)
	do(http.MethodPost, "/v1/runs/a/close-waitlist", "", 202)
	do(http.MethodPost, "/v1/runs/a/call-off", "", 202)
	do(http.MethodPost, fmt.Sprintf("/v1/accounts/%d/tokens", grace.ID), `{"name": "Quixote"}`, 201)
	do(http.MethodPatch, "/v1/runs/b", `{"capacity": 3}`, 403) // nothing happened

	const want = "role_granted register resize person_corrected line_read mails_read mail_resent cancel close_waitlist call_off"
	for _, limit := range []int{1, 3, 200} {
		mine := s.auditOf(token, "", limit)
		if got := actions(mine); got != want {
			t.Errorf("in pages of %d: %s\nwant %s", limit, got, want)
		}
		for _, e := range mine[:len(mine)-1] {
			if *e.Account != int64(grace.ID) || *e.Token != int64(idOf(token)) || *e.Course != "course" || *e.Run != "a" {
				t.Errorf("the entry is %+v", e)
			}
			if inLine := slices.Contains([]string{"register", "resize", "cancel", "close_waitlist", "call_off"}, e.Action); inLine != (e.Client == nil) || !inLine && *e.Client != "127.0.0.0/24" {
				t.Errorf("the client of %s is %v", e.Action, e.Client)
			}
		}
	}
	if got := actions(s.auditOf(token, "&run=a&course=course", 100)); got != strings.TrimPrefix(want, "role_granted ") {
		t.Errorf("about the run: %s", got)
	}
	if got := actions(s.auditOf(other, "", 100)); got != "role_granted" {
		t.Errorf("the other organiser reads %s", got)
	}
	all := s.auditOf(pgtest.AdminToken, "", 100)
	for _, action := range []string{"account_added", "token_added", "call_off"} {
		if !strings.Contains(actions(all), action) {
			t.Errorf("an admin does not read %s", action)
		}
	}
	for path, status := range map[string]int{"?course=another": 403, "?run=b": 403, "?run=nowhere": 404, "?course=nowhere": 404, "?run=-": 422, "?course=": 422, "?after=eA": 422} {
		s.as(token, call{method: http.MethodGet, path: "/v1/audit" + path}).expect(status)
	}
	for _, text := range append(s.sql(`SELECT audit::text FROM audit`), string(s.as(pgtest.AdminToken, call{method: http.MethodGet, path: "/v1/audit"}).body)) {
		for _, personal := range []string{"Ada", "ada@", "Grace", "grace", "Right", "right@", "Quixote", "127.0.0.1"} {
			if strings.Contains(text, personal) {
				t.Errorf("%s stands in the audit: %s", personal, text)
			}
		}
	}
}

// TestAudit_is_written_with_what_it_records: neither without the other.
func TestAudit_is_written_with_what_it_records(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(1))
	s.register("a", ada, adaEmail)
	s.settle()
	s.exec(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$`) // disk_full
	s.exec(`CREATE TRIGGER broken BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION broken()`)
	accounts := s.sql(`SELECT count(*)::text FROM accounts`)[0]
	for _, c := range []call{
		{method: http.MethodPatch, path: "/v1/runs/a/registrations/1", body: `{"name": "Right Person", "email": "right@example.org"}`},
		{method: http.MethodGet, path: "/v1/runs/a/line"}, {method: http.MethodGet, path: "/v1/runs/a/mails"},
		{method: http.MethodPost, path: "/v1/accounts", body: `{"name": "Grace", "email": "grace@example.org"}`},
		{method: http.MethodPost, path: "/v1/accounts/1000000/tokens", body: `{"name": "laptop"}`},
	} {
		a := s.as(pgtest.AdminToken, c)
		a.expectProblem(http.StatusServiceUnavailable, "unavailable", "")
		if strings.Contains(string(a.body), adaEmail) {
			t.Errorf("%s shows people and is not recorded", c.path)
		}
	}
	if got := s.sql(`SELECT name || (SELECT count(*) FROM accounts) || (SELECT count(*) FROM api_tokens) FROM requests`); got[0] != ada+accounts+"1" {
		t.Errorf("they have changed something: %s", got)
	}
}
