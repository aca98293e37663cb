package oversell

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/pgtest"
)

func TestDemonstrate(t *testing.T) {
	t.Parallel()
	const people, seats, connections = 60, 10, 6
	url := pgtest.EmptyURL(t)
	var names []string
	err := Demonstrate(t.Context(), url, people, seats, connections, func(r Result) {
		names = append(names, r.Name)
		if r.People != people || r.Seats != seats || r.Took <= 0 {
			t.Errorf("%s: an incomplete result: %+v", r.Name, r)
		}
		if r.Seated < seats || r.Oversold != r.Seated-seats {
			t.Errorf("%s: %d of %d seats given away, %d of them called oversold", r.Name, r.Seated, seats, r.Oversold)
		}
		if r.Overtaken > people-r.Seated || r.PassedBy > r.Seated || (r.Overtaken == 0) != (r.PassedBy == 0) {
			t.Errorf("%s: %d of %d refused were overtaken, by %d of %d seated", r.Name, r.Overtaken, people-r.Seated, r.PassedBy, r.Seated)
		}
		if !strings.HasPrefix(r.Name, "as asked") && r.Oversold != 0 {
			t.Errorf("%s oversold %d seats", r.Name, r.Oversold)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"as asked, ==", "as asked, >=", "version column", "touch and retry", "SELECT … FOR UPDATE", "guarded UPDATE"}
	if !slices.Equal(names, want) {
		t.Errorf("demonstrated %q, want %q", names, want)
	}
	if left := pgtest.Query[string](t, url, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'demo%'`); len(left) > 0 {
		t.Errorf("it left the schemas %q behind", left)
	}
}

func TestDemonstrateNeedsARush(t *testing.T) {
	t.Parallel()
	for _, n := range [][3]int{{0, 1, 1}, {1, -1, 1}, {1, 1, 0}} {
		err := Demonstrate(t.Context(), "postgres://nobody@nowhere/none", n[0], n[1], n[2], func(Result) { t.Error("a result") })
		if err == nil || !strings.Contains(err.Error(), "not a rush") {
			t.Errorf("%v: got %v", n, err)
		}
	}
}

// The safe answers while all people go for the last seats at once: there are more
// connections than seats, so that all ask before the run is full.
func TestSafeAnswersNeverOversell(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	for _, d := range demonstrated[2:] {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			result, err := demonstrate(t.Context(), url, d.contender, 40, 3, 8)
			if err != nil {
				t.Fatal(err)
			}
			if result.Seated != 3 || result.Oversold != 0 {
				t.Errorf("sold %d of 3 seats, %d of them twice", result.Seated, result.Oversold)
			}
		})
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	at := func(asked, sent int, seated bool) outcome {
		zero := time.Now()
		return outcome{asked: zero.Add(time.Duration(asked) * time.Hour), sent: zero.Add(time.Duration(sent) * time.Hour), seated: seated}
	}
	for _, c := range []struct {
		name             string
		outcomes         []outcome
		people, passedBy int
	}{
		{"no people", nil, 0, 0},
		{"the first is served first", []outcome{at(1, 2, true), at(3, 4, false)}, 0, 0},
		{"a later person got the seat", []outcome{at(1, 2, false), at(3, 4, true)}, 1, 1},
		{"both on their way at once", []outcome{at(1, 4, false), at(2, 3, true)}, 0, 0},
		{"two of three refused", []outcome{at(1, 2, false), at(3, 4, true), at(5, 6, false), at(7, 8, true), at(9, 10, false)}, 2, 2},
		{"no person got a seat", []outcome{at(1, 2, false), at(3, 4, false)}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			people, passedBy := overtaken(c.outcomes)
			if people != c.people || passedBy != c.passedBy {
				t.Errorf("got %d people, passed by %d; want %d and %d", people, passedBy, c.people, c.passedBy)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := WriteTable(&b, []Result{
		{Name: "as asked", People: 100, Seats: 5, Seated: 15, Oversold: 10, Took: time.Second / 2},
		{Name: "SELECT … FOR UPDATE", People: 100, Seats: 5, Seated: 5, Retries: 123456, Overtaken: 7, PassedBy: 321, Took: 2 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %d lines, want a head, a rule and two rows:\n%s", len(lines), b.String())
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) != utf8.RuneCountInString(lines[0]) {
			t.Errorf("the columns do not stand below each other:\n%s", b.String())
			break
		}
	}
	for _, cell := range []string{"15 of 5", "10", "500ms", "200", "123456", "7", "321", "50"} {
		if !strings.Contains(b.String(), " "+cell+" |") {
			t.Errorf("%q is not in the table:\n%s", cell, b.String())
		}
	}
}
