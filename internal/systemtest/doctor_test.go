package systemtest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestDoctor runs `api doctor` on a ledger that is sound, broken and repaired.
func TestDoctor(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	run := enrolltest.OpenRun(t, s, "go-1", enrolltest.Seats(1))
	for n := range 3 {
		if _, err := s.Accept(t.Context(), []enroll.Submission{enrolltest.Person("go-1", n)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Settle(context.Background(), []enroll.RunID{run}, enrolltest.SettleLimits(10)); err != nil {
		t.Fatal(err)
	}
	doctor := func(wantCode int, want string, args ...string) string {
		t.Helper()
		code, out := runProgram(t, []string{"LASTSEAT_POSTGRES_URL=" + url}, "api", append([]string{"doctor"}, args...)...)
		if code != wantCode || !strings.Contains(out, want) {
			t.Errorf("doctor %v: status %d, want %d: %q, want %q", args, code, wantCode, out, want)
		}
		for _, secret := range []string{"example.org", "A Person", "hunter2"} {
			if strings.Contains(out, secret) {
				t.Errorf("doctor %v reveals %s: %s", args, secret, out)
			}
		}
		return out
	}
	doctor(0, "nothing is wrong (runs checked: 1, findings: 0")
	doctor(0, "usage: api", "-help")
	doctor(2, "usage: api", "--now")
	doctor(2, "usage: api", "go-1")
	if out := doctor(1, "api: there is no such run\n", "--run", "go-2"); strings.Count(out, "\n") != 1 {
		t.Errorf("about an unknown run it says %s", out)
	}

	pgtest.Exec(t, url, `UPDATE runs SET attendances_count = 0, capacity = 2`)
	for _, line := range []string{
		"run go-1: attendances_count is 0, but 1 person has a seat [--repair corrects it]\n",
		"run go-1: capacity is 2, but the line makes it 1: it was changed outside the line\n",
		"something is wrong (runs checked: 1, findings: 2",
	} {
		doctor(3, line)
		doctor(3, line, "--run", "go-1")
	}
	var told struct {
		Verdict  string
		Wrong    int
		Findings []struct {
			Run, Code  string
			Repairable bool
		}
	}
	// Warnings may follow, because the test server is not durable.
	if err := json.Unmarshal([]byte(doctor(3, `"verdict":"wrong"`, "--json")), &told); err != nil || told.Wrong != 2 || len(told.Findings) < 2 || told.Findings[0].Code != "capacity" || told.Findings[1].Code != "attendances_count" {
		t.Errorf("got %+v, %v", told, err)
	}
	repaired := doctor(3, "run go-1: repaired: attendances_count was 0 and is now 1\n", "--repair")
	if !strings.Contains(repaired, "outside the line [not repaired]\n") || !strings.Contains(repaired, "findings: 1") {
		t.Errorf("it says %s", repaired)
	}
	pgtest.Exec(t, url, `UPDATE runs SET capacity = 1, attendances_count = 5`)
	doctor(0, "nothing is wrong (runs checked: 1, findings: 0", "--repair")
	doctor(0, `"verdict":"sound"`, "--json")

	unchecked := func(want string, args ...string) {
		t.Helper()
		object, rest, _ := strings.Cut(doctor(1, "", append(args, "--json")...), "\n")
		var told struct {
			Verdict, Error string
			Findings       []string
		}
		err := json.Unmarshal([]byte(object), &told)
		if err != nil || told.Verdict != "unchecked" || !strings.Contains(told.Error, want) || told.Findings == nil || rest != "api: "+told.Error+"\n" {
			t.Errorf("doctor %v: got %s\n%s and %v, want %q", args, object, rest, err, want)
		}
	}
	unchecked("there is no such run", "--run", "go-2")
	url = pgtest.EmptyURL(t)
	doctor(1, "api migrate")
	unchecked("api migrate")
	url = "postgres://postgres:hunter2@127.0.0.1:1/none"
	doctor(1, "api: ")
	unchecked("unavailable")
	url = "postgres://postgres:hunter2@:x"
	unchecked("postgres.url")
}
