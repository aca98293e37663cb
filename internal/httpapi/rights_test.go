package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// token adds an account with grants and returns it with a token of it.
func (s *service) token(grants access.Grants, limits access.Limits) (access.Account, string) {
	s.t.Helper()
	n := s.sql(`SELECT count(*)::text FROM accounts`)[0]
	account, err := access.NewAccount(access.AccountInput{Name: "Organiser " + n, Email: "organiser-" + n + "@example.org"})
	if err != nil {
		s.t.Fatal(err)
	}
	account.Grants = grants
	if account, err = s.store.AddAccount(s.t.Context(), access.Operator, account); err != nil {
		s.t.Fatal(err)
	}
	return account, s.tokenOf(account, limits)
}

func (s *service) tokenOf(account access.Account, limits access.Limits) string {
	s.t.Helper()
	token, err := access.NewToken(access.TokenInput{Name: "test", Limits: limits}, account.ID, nil, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	secret := access.NewSecret()
	if token, err = s.store.AddToken(s.t.Context(), access.Operator, token, secret); err != nil {
		s.t.Fatal(err)
	}
	return access.FormatToken(token.ID, secret)
}

// as sends a call with a token, or without one if it is "".
func (s *service) as(token string, c call) answer {
	s.t.Helper()
	c.header, c.bad = make(http.Header), true
	if token != "" {
		c.header.Set("Authorization", "Bearer "+token)
	}
	if c.body != "" {
		c.header.Set("Content-Type", "application/json")
	}
	return s.do(c)
}

// rights are what callers of each kind get. A token that is not valid gets 401
// everywhere.
type rights struct {
	path, body                                    string
	none, readOnly, door, other, organiser, admin int
}

// rightsOf has a row for each route. "{own}" is the account of the organiser, and
// the read-only token is the organiser's.
var rightsOf = map[string]rights{
	"GET /v1/courses":                        {"/v1/courses", "", 200, 200, 200, 200, 200, 200},
	"GET /v1/courses/:course":                {"/v1/courses/course", "", 200, 200, 200, 200, 200, 200},
	"GET /v1/runs":                           {"/v1/runs", "", 200, 200, 200, 200, 200, 200},
	"GET /v1/runs/:run":                      {"/v1/runs/a", "", 200, 200, 200, 200, 200, 200},
	"POST /v1/runs/:run/registrations":       {"/v1/runs/a/registrations", `{"name": "Ada", "email": "ada@example.org"}`, 202, 403, 202, 202, 202, 202},
	"GET /v1/registrations/:id":              {"{registration}", "", 200, 200, 200, 200, 200, 200},
	"DELETE /v1/registrations/:id":           {"{registration}", "", 202, 403, 202, 202, 202, 202},
	"GET /v1/registrations/:id/calendar.ics": {"{registration}/calendar.ics", "", 404, 404, 404, 404, 404, 404}, // it is queued
	"POST /v1/links":                         {"/v1/links", `{"email": "ada@example.org"}`, 202, 403, 202, 202, 202, 202},

	"PATCH /v1/runs/:run":                        {"/v1/runs/a", `{"capacity": 3}`, 401, 403, 403, 403, 202, 202},
	"POST /v1/runs/:run/close-waitlist":          {"/v1/runs/a/close-waitlist", "", 401, 403, 403, 403, 202, 202},
	"POST /v1/runs/:run/call-off":                {"/v1/runs/off/call-off", "", 401, 403, 403, 403, 202, 202},
	"DELETE /v1/runs/:run/registrations/:ticket": {"/v1/runs/a/registrations/1", "", 401, 403, 403, 403, 202, 202},
	"PATCH /v1/runs/:run/registrations/:ticket":  {"/v1/runs/a/registrations/1", `{"name": "Eve", "email": "eve@example.org"}`, 401, 403, 403, 403, 409, 409},
	"GET /v1/runs/:run/line":                     {"/v1/runs/a/line?format=csv", "", 401, 200, 403, 403, 200, 200},
	"GET /v1/runs/:run/mails":                    {"/v1/runs/a/mails", "", 401, 200, 403, 403, 200, 200},
	"POST /v1/runs/:run/mails/:mail/resend":      {"/v1/runs/a/mails/7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55/resend", "", 401, 403, 403, 403, 404, 404},

	// The read-only token belongs to the organiser of the course. Changes without If-Match and with no body are refused later.
	"POST /v1/courses":                   {"/v1/courses", `{"slug": "course", "title": "Course"}`, 401, 403, 403, 403, 403, 409},
	"GET /v1/courses/:course/settings":   {"/v1/courses/course/settings", "", 401, 200, 403, 403, 200, 200},
	"PATCH /v1/courses/:course/settings": {"/v1/courses/course/settings", `{}`, 401, 403, 403, 403, 428, 428},
	"POST /v1/courses/:course/runs":      {"/v1/courses/course/runs", `{}`, 401, 403, 403, 403, 422, 422},
	"GET /v1/runs/:run/settings":         {"/v1/runs/draft/settings", "", 401, 200, 403, 404, 200, 200},
	"PATCH /v1/runs/:run/settings":       {"/v1/runs/draft/settings", `{}`, 401, 403, 403, 404, 428, 428},
	"POST /v1/runs/:run/publish":         {"/v1/runs/a/publish", "", 401, 403, 403, 403, 409, 409},
	"POST /v1/runs/:run/archive":         {"/v1/runs/draft/archive", "", 401, 403, 403, 404, 409, 409},
	"DELETE /v1/runs/:run":               {"/v1/runs/a", "", 401, 403, 403, 403, 409, 409},

	"GET /v1/audit":                              {"/v1/audit?course=course", "", 401, 200, 403, 403, 200, 200},
	"GET /v1/me":                                 {"/v1/me", "", 401, 200, 200, 200, 200, 200},
	"GET /v1/accounts/:account":                  {"/v1/accounts/{own}", "", 401, 200, 404, 404, 200, 200},
	"GET /v1/accounts/:account/tokens":           {"/v1/accounts/{own}/tokens", "", 401, 200, 404, 404, 200, 200},
	"POST /v1/accounts/:account/tokens":          {"/v1/accounts/{own}/tokens", `{"name": "laptop"}`, 401, 403, 404, 404, 201, 201},
	"DELETE /v1/accounts/:account/tokens/:token": {"/v1/accounts/{own}/tokens/{spare}", "", 401, 403, 404, 404, 200, 200},

	"GET /v1/accounts":                   {"/v1/accounts", "", 401, 403, 403, 403, 403, 200},
	"POST /v1/accounts":                  {"/v1/accounts", `{"name": "Eve", "email": "eve@example.org"}`, 401, 403, 403, 403, 403, 201},
	"POST /v1/accounts/:account/grant":   {"/v1/accounts/{own}/grant", `{"role": "organiser", "course": "course"}`, 401, 403, 403, 403, 403, 200},
	"POST /v1/accounts/:account/revoke":  {"/v1/accounts/{own}/revoke", `{"course": null}`, 401, 403, 403, 403, 403, 200},
	"POST /v1/accounts/:account/disable": {"/v1/accounts/{spare account}/disable", "", 401, 403, 403, 403, 403, 200},
	"POST /v1/accounts/:account/enable":  {"/v1/accounts/{spare account}/enable", "", 401, 403, 403, 403, 403, 200},
}

// TestRights: each route × each kind of caller. The table is compared with the
// routes, so that a route without a row fails.
func TestRights(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(1))
	s.addRun("off", seats(1))
	s.addRun("draft", seats(1), func(r *enroll.Run) { r.State = enroll.Draft })
	s.addCourse("another")
	r := s.register("a", ada, "first@example.org")

	organiser, organiserToken := s.token(access.Grants{"course": access.Organiser}, access.Limits{})
	readOnly := s.tokenOf(organiser, access.Limits{ReadOnly: true})
	_, door := s.token(access.Grants{"course": access.Door}, access.Limits{})
	_, other := s.token(access.Grants{"another": access.Organiser}, access.Limits{})
	disabled, disabledToken := s.token(access.Grants{"": access.Organiser}, access.Limits{})
	if _, err := s.store.SetDisabled(t.Context(), access.Operator, disabled.ID, true); err != nil {
		t.Fatal(err)
	}
	revoked, expired, spare := s.tokenOf(organiser, access.Limits{}), s.tokenOf(organiser, access.Limits{}), s.tokenOf(organiser, access.Limits{})
	spareAccount, _ := s.token(nil, access.Limits{})
	s.exec(`UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, idOf(revoked))
	s.exec(`UPDATE api_tokens SET created_at = now() - interval '2 d', expires_at = now() - interval '1 d' WHERE id = $1`, idOf(expired))
	fill := strings.NewReplacer("{registration}", strings.TrimPrefix(r.Links.Self, s.base), "{own}", fmt.Sprint(organiser.ID),
		"{spare}", fmt.Sprint(idOf(spare)), "{spare account}", fmt.Sprint(spareAccount.ID))
	invalid := map[string]string{
		"malformed": "ls_1", "wrong": pgtest.AdminToken[:len(pgtest.AdminToken)-1] + "f", "unknown": access.FormatToken(999_999, access.NewSecret()),
		"revoked": revoked, "expired": expired, "of a disabled account": disabledToken, "empty": " ",
	}

	seen := make(map[string]bool)
	for _, route := range s.routes {
		name := strings.Replace(route.Method+" "+route.Path, "HEAD", "GET", 1)
		row, is := rightsOf[name]
		if !is {
			t.Errorf("%s has no row: who may use it?", name)
			continue
		}
		seen[name] = true
		c := call{method: route.Method, path: fill.Replace(row.path), body: row.body}
		for kind, token := range invalid {
			if a := s.as(token, c); a.status != http.StatusUnauthorized {
				t.Errorf("%s %s with a token that is %s: %d", route.Method, row.path, kind, a.status)
			}
		}
		for _, caller := range []struct {
			kind, token string
			want        int
		}{
			{"no token", "", row.none}, {"a read-only token", readOnly, row.readOnly}, {"the door's token", door, row.door},
			{"a token of another course's organiser", other, row.other}, {"an organiser's token", organiserToken, row.organiser}, {"an admin's token", pgtest.AdminToken, row.admin},
		} {
			if a := s.as(caller.token, c); a.status != caller.want {
				t.Errorf("%s %s with %s: %d, want %d\n%s", route.Method, row.path, caller.kind, a.status, caller.want, a.body)
			}
		}
	}
	for name := range rightsOf {
		if !seen[name] {
			t.Errorf("the row of %s is for no route", name)
		}
	}
	for kind, token := range invalid {
		if a := s.as(token, call{method: http.MethodGet, path: "/nowhere"}); a.status != http.StatusUnauthorized {
			t.Errorf("nowhere, with a token that is %s: %d", kind, a.status)
		}
		if len(token) > 10 && strings.Contains(s.log.String(), token[len(token)-60:]) {
			t.Errorf("a token that is %s is logged", kind)
		}
	}
	a := s.do(call{method: http.MethodGet, path: "/v1/me", bad: true, header: http.Header{"Cookie": {"token=" + pgtest.AdminToken + "; Authorization=Bearer " + pgtest.AdminToken}}})
	a.expectProblem(http.StatusUnauthorized, "unauthorized", "")
	a = s.do(call{method: http.MethodGet, path: "/v1/me", bad: true, header: http.Header{"Authorization": {bearer, bearer}}})
	a.expectProblem(http.StatusUnauthorized, "unauthorized", "")
}

// idOf returns the number of a token.
func idOf(token string) int {
	id, _, ok := access.ParseToken(token)
	if !ok {
		panic("no token")
	}
	return int(id)
}

func TestRights_of_tokens_with_limits(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("a", seats(1))
	s.addRun("b", seats(1), func(r *enroll.Run) { r.Course = "another" })
	everywhere, _ := s.token(access.Grants{"": access.Organiser}, access.Limits{})
	limited := s.tokenOf(everywhere, access.Limits{Courses: []string{"course"}})
	admin, _ := s.token(access.Grants{"": access.Admin}, access.Limits{})
	line := func(token, run string) int {
		return s.as(token, call{method: http.MethodGet, path: "/v1/runs/" + run + "/line"}).status
	}
	if a, b, c := line(limited, "a"), line(limited, "b"), line(limited, "c"); a != 200 || b != 403 || c != 404 {
		t.Errorf("a token for one course reads the lines as %d, %d, %d", a, b, c)
	}
	for kind, limits := range map[string]access.Limits{"read-only": {ReadOnly: true}, "limited to a course": {Courses: []string{"course"}}} {
		a := s.as(s.tokenOf(admin, limits), call{method: http.MethodGet, path: "/v1/accounts"})
		a.expectProblem(http.StatusForbidden, "forbidden", "")
		_ = kind
	}
	// What registers outside the window needs the right for that course.
	early := `{"name": "Ada", "email": "ada@example.org", "outside_window": true}`
	s.as(limited, call{method: http.MethodPost, path: "/v1/runs/b/registrations", body: early}).expectProblem(http.StatusForbidden, "forbidden", "")
	s.as(limited, call{method: http.MethodPost, path: "/v1/runs/a/registrations", body: early}).expect(http.StatusAccepted)

	tokens := fmt.Sprintf("/v1/accounts/%d/tokens", everywhere.ID)
	for body, field := range map[string]string{
		`{"name": "x"}`:                         "courses", // more than the token that asks
		`{"name": "x", "courses": ["another"]}`: "courses",
		`{"name": "x", "courses": []}`:          "courses",
		`{"name": "", "courses": ["course"]}`:   "name",
		`{"name": "x", "courses": ["course"], "expires_at": "2020-01-01T00:00:00Z"}`: "expires_at",
		`{"name": "x", "courses": ["course"], "expires_at": "2999-01-01T00:00:00Z"}`: "expires_at",
		`{"name": "x", "courses": ["course"], "expires_at": "tomorrow"}`:             "expires_at",
	} {
		s.as(limited, call{method: http.MethodPost, path: tokens, body: body}).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
	}
	a := s.as(limited, call{method: http.MethodPost, path: tokens, body: `{"name": "x", "courses": ["course"]}`})
	a.expect(http.StatusCreated)
	var made struct{ Token string }
	if err := json.Unmarshal(a.body, &made); err != nil || line(made.Token, "a") != 200 || line(made.Token, "b") != 403 {
		t.Errorf("what it made is %s", a.body)
	}
	if got := s.sql(`SELECT count(*)::text FROM api_tokens WHERE expires_at > (SELECT expires_at FROM api_tokens WHERE id = $1) AND account_id = $2`, idOf(limited), everywhere.ID); got[0] != "0" {
		t.Errorf("%s tokens expire later than the one that made them", got[0])
	}
}

// TestRights_a_revoked_token_is_refused_by_every_process: there is no Redis, and
// the other process had the token in its memory.
func TestRights_a_revoked_token_is_refused_by_every_process(t *testing.T) {
	t.Parallel()
	one := start(t, place{})
	other := start(t, place{database: one.place.database})
	account, token := one.token(access.Grants{"": access.Organiser}, access.Limits{})
	me := call{method: http.MethodGet, path: "/v1/me"}
	one.as(token, me).expect(http.StatusOK)
	other.as(token, me).expect(http.StatusOK)
	path := fmt.Sprintf("/v1/accounts/%d/tokens/%d", account.ID, idOf(token))
	one.as(token, call{method: http.MethodDelete, path: path}).expect(http.StatusOK) // it ends itself
	for _, s := range []*service{one, other} {
		testwait.Until(t, "the token is refused", func() bool { return s.as(token, me).status == http.StatusUnauthorized })
	}
	second := one.tokenOf(account, access.Limits{})
	other.as(second, me).expect(http.StatusOK)
	one.admin(http.MethodPost, fmt.Sprintf("/v1/accounts/%d/disable", account.ID), "").expect(http.StatusOK)
	for _, s := range []*service{one, other} {
		testwait.Until(t, "the account is refused", func() bool { return s.as(second, me).status == http.StatusUnauthorized })
	}
}
