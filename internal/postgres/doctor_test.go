package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// newPatient is a run with a bit of everything: of its tickets, 1 and 3 have a
// seat, 4 waits, 2 has cancelled (by 6), 5 was there already, 7 and 8 are queued.
func newPatient(t *testing.T) *office {
	t.Helper()
	o := newListOffice(t, 5)
	o.fall()
	return o
}

// fall makes the empty run a newPatient's.
func (o *office) fall() {
	o.t.Helper()
	o.do(ask(1), ask(2), ask(3), ask(4), ask(1))
	o.settleAll()
	o.do(cancel(2))
	o.settleAll()
	o.do(ask(7), ask(8))
}

// heal makes the run a newPatient's again, whatever was done to it.
func (o *office) heal() {
	o.t.Helper()
	o.exec(`WITH a AS (DELETE FROM attendances), w AS (DELETE FROM waiting), m AS (DELETE FROM mails), q AS (DELETE FROM requests),
		l AS (DELETE FROM lines), r AS (DELETE FROM runs) DELETE FROM users`) // faster than TRUNCATE
	now := time.Now()
	o.run = enrolltest.CreateRun(o.t, o.Store, enroll.Run{
		Slug: "a", Capacity: enrolltest.Seats(2), WaitlistCapacity: enrolltest.Seats(5), OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour),
	})
	o.fall()
}

// findings checks all and returns what was found, each as its code with its run,
// if that is not a, and its ticket.
func (o *office) findings(options doctor.Options) ([]string, doctor.Report) {
	o.t.Helper()
	report, err := doctor.Visit(o.t.Context(), o.Store, options)
	if err != nil {
		o.t.Fatal(err)
	}
	found := []string{}
	for _, f := range report.Findings {
		if f.Warning {
			continue // of the server that the tests run on
		}
		s := string(f.Code)
		if f.Run != "" && f.Run != "a" {
			s = f.Run + ": " + s
		}
		if f.Ticket != 0 {
			s += fmt.Sprint(" ", f.Ticket)
		}
		found = append(found, s)
		for _, secret := range append(pgtest.Query[string](o.t, o.url, `SELECT id::text FROM requests`), "Person", "@") {
			if strings.Contains(f.Text, secret) {
				o.t.Errorf("it gives somebody away: %s", f)
			}
		}
	}
	slices.Sort(found)
	return found, report
}

func (o *office) requireFindings(options doctor.Options, want ...string) doctor.Report {
	o.t.Helper()
	got, report := o.findings(options)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		o.t.Errorf("found %q, want %q\n%v", got, want, report.Findings)
	}
	return report
}

// TestDoctorFinds breaks a run by SQL, and repairs it as far as that has one
// right answer.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	same := []string{"same"} // the repair changes nothing
	o := newListOffice(t, 5)
	for name, c := range map[string]struct {
		sql         string
		found, left []string
	}{
		"nothing":                        {`SELECT`, nil, nil},
		"too small a count of seats":     {`UPDATE runs SET attendances_count = 0`, []string{"attendances_count"}, nil},
		"too large a count of places":    {`UPDATE runs SET waiting_count = 7`, []string{"waiting_count"}, nil},
		"a last ticket that lags behind": {`UPDATE lines SET last_ticket = 5`, []string{"last_ticket"}, nil},
		"an instant that lags behind":    {`UPDATE lines SET last_accepted_at = '-infinity'`, []string{"last_accepted_at"}, nil},
		"all that can be repaired": {`WITH l AS (UPDATE lines SET last_ticket = 1, last_accepted_at = '-infinity')
			UPDATE runs SET attendances_count = 3, waiting_count = 0`, []string{"attendances_count", "waiting_count", "last_ticket", "last_accepted_at"}, nil},
		"a lost end":               {`DELETE FROM requests WHERE ticket = 8`, []string{"last_ticket"}, same},
		"a hole ahead":             {`DELETE FROM requests WHERE ticket = 7`, []string{"hole 7"}, same},
		"a hole behind":            {`DELETE FROM requests WHERE ticket = 5`, []string{"hole 5"}, same},
		"a line settled too far":   {`UPDATE runs SET settled_ticket = 20`, []string{"settled_ticket", "undecided 7", "undecided 8"}, same},
		"time that runs backwards": {`UPDATE requests SET accepted_at = accepted_at - interval '1 second' WHERE ticket = 7`, []string{"accepted_at 7"}, same},
		"what was forgotten":       {`UPDATE requests SET status = 'queued', reason = NULL, decided_at = NULL WHERE ticket = 5`, []string{"undecided 5"}, same},
		"who did not wait":         {`UPDATE requests SET status = 'rejected', reason = 'full', decided_at = accepted_at WHERE ticket = 7`, []string{"decided_early 7"}, same},
		"a lost seat":              {`DELETE FROM attendances WHERE ticket = 1`, []string{"seat_missing 1", "attendances_count"}, same},
		"a lost place":             {`DELETE FROM waiting WHERE ticket = 4`, []string{"place_missing 4", "waiting_count"}, same},
		"a seat that was stolen": {`INSERT INTO attendances SELECT run_id, user_id + 1, 5 FROM attendances WHERE ticket = 1`,
			[]string{"seat_unearned 5", "other_address 5", "attendances_count"}, same},
		"a place that was stolen": {`INSERT INTO waiting SELECT run_id, user_id + 1, 5 FROM attendances WHERE ticket = 1`,
			[]string{"place_unearned 5", "other_address 5", "waiting_count"}, same},
		"a seat of nobody":  {`UPDATE attendances SET user_id = user_id + 1000 WHERE ticket = 1`, []string{"other_address 1"}, same},
		"a place of nobody": {`UPDATE waiting SET user_id = user_id + 1000`, []string{"other_address 4"}, same},
		"a seat by nothing": {`INSERT INTO attendances SELECT run_id, user_id + 1000, 99 FROM attendances WHERE ticket = 1`,
			[]string{"seat_unearned", "attendances_count"}, same},
		"a seat of another": {`UPDATE attendances SET user_id = user_id + 1 WHERE ticket = 1`, []string{"other_address 1"}, same},
		"both": {`UPDATE waiting SET user_id = (SELECT user_id FROM attendances WHERE ticket = 1)`,
			[]string{"seat_and_place 1", "other_address 4"}, same},
		"another refusal":             {`UPDATE requests SET reason = 'full' WHERE ticket = 5`, []string{"outcome 5"}, same},
		"a promotion out of turn":     {`UPDATE requests SET status = 'waitlisted' WHERE ticket = 3`, []string{"outcome 3", "seat_unearned 3", "place_missing 3"}, same},
		"a cancellation undone":       {`UPDATE requests SET status = 'not_promoted' WHERE ticket = 2`, []string{"outcome 2"}, same},
		"an effect denied":            {`UPDATE requests SET reason = 'no_effect' WHERE ticket = 6`, []string{"outcome 6"}, same},
		"another capacity":            {`UPDATE runs SET capacity = 9`, []string{"capacity"}, same},
		"no capacity any more":        {`UPDATE runs SET waitlist_capacity = NULL`, []string{"waitlist_capacity"}, same},
		"a list that was ended":       {`UPDATE runs SET waitlist_ended = true`, []string{"waitlist_ended"}, same},
		"a run that was called off":   {`UPDATE runs SET called_off = true`, []string{"called_off"}, same},
		"a list that is to end":       {`UPDATE runs SET promote_until = now() - interval '1 minute'`, nil, nil},
		"a list that does not end":    {`UPDATE runs SET promote_until = now() - interval '6 minutes'`, []string{"waitlist_overdue"}, same},
		"mails that are not sent":     {`UPDATE mails SET due_at = due_at - interval '2 hours'`, []string{"mails_waiting"}, same},
		"a line that does not get on": {`UPDATE requests SET accepted_at = accepted_at - interval '2 minutes', decided_at = decided_at - interval '2 minutes', changed_at = NULL`, []string{"line_behind"}, same},
	} {
		t.Run(name, func(t *testing.T) {
			o.t = t
			o.heal()
			pgtest.Damage(t, o.url, c.sql)
			before := o.outcomes()
			o.requireFindings(doctor.Options{}, c.found...)
			left := c.left
			if len(left) > 0 {
				left = c.found
			}
			report := o.requireFindings(doctor.Options{Repair: true}, left...)
			if (len(report.Repairs) > 0) != (len(left) < len(c.found)) {
				t.Errorf("it says that it did %v", report.Repairs)
			}
			o.requireFindings(doctor.Options{}, left...)
			if after := o.outcomes(); !slices.Equal(before, after) {
				t.Errorf("the repair made outcomes %v out of %v", after, before)
			}
		})
	}
}

func (o *office) outcomes() []string {
	return pgtest.Query[string](o.t, o.url, `SELECT concat_ws(' ', ticket, status, reason, decided_at, changed_at) FROM requests ORDER BY run_id, ticket`)
}

func TestDoctorOfOneRun(t *testing.T) {
	t.Parallel()
	o := newPatient(t)
	enrolltest.OpenRun(t, o.Store, "b", nil)
	enrolltest.OpenRun(t, o.Store, "c", nil)
	o.exec(`DELETE FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = 'c')`)
	pgtest.Damage(t, o.url, `UPDATE runs SET attendances_count = 1 WHERE slug <> 'c'`)
	o.exec(`UPDATE mails SET due_at = due_at - interval '2 hours'`)
	o.requireFindings(doctor.Options{}, "attendances_count", "b: attendances_count", "c: no_line", "mails_waiting")
	o.requireFindings(doctor.Options{Run: "b", Repair: true})
	o.requireFindings(doctor.Options{Run: "a"}, "attendances_count")
	if _, err := doctor.Visit(t.Context(), o.Store, doctor.Options{Run: "d"}); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := o.Repair(t.Context(), "d"); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("got %v", err)
	}
}

// TestDoctorSaysWhy has lines that do not get on for reasons that can be seen.
func TestDoctorSaysWhy(t *testing.T) {
	t.Parallel()
	why := func(o *office) string {
		o.t.Helper()
		_, report := o.findings(doctor.Options{Run: "a"})
		for _, f := range report.Findings {
			if f.Code == doctor.LineBehind {
				return f.Text
			}
		}
		o.t.Errorf("found %v", report.Findings)
		return ""
	}
	for name, c := range map[string]struct {
		hinder func(*office)
		want   string
	}{
		"no worker": {func(o *office) {}, "no session holds a lane lock"},
		"a worker that serves others": {func(o *office) {
			o.lane(enrolltest.OpenRun(o.t, o.Store, "b", nil))
		}, "no worker has its lane"},
		"a lane that does not get on": {func(o *office) { o.lane(o.run) }, "has its lane but makes no progress"},
		"a hole":                      {func(o *office) { o.exec(`DELETE FROM requests WHERE ticket = 7`) }, "tickets are missing"},
		"somebody's forgotten transaction": {func(o *office) {
			pgtest.Hold(o.t, o.url, `SELECT FROM runs WHERE id = $1 FOR UPDATE`, o.run)
		}, "idle in transaction) has held the run's row for up to 0s"},
		"a clock that was set back": {func(o *office) {
			o.exec(`UPDATE requests SET accepted_at = now() + interval '1 hour' WHERE ticket >= 7`)
		}, "the clock was set back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newPatient(t)
			o.exec(`UPDATE requests SET accepted_at = accepted_at - interval '2 minutes', decided_at = NULL, changed_at = NULL WHERE ticket >= 7`)
			c.hinder(o)
			if got := why(o); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// lane holds the run's lane until the test ends.
func (o *office) lane(run enroll.RunID) {
	o.t.Helper()
	locks, err := postgres.ConnectLaneLocks(o.t.Context(), o.url, pgtest.Options, time.Minute)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(locks.Close)
	if got, err := locks.TryLock(o.t.Context(), run); err != nil || len(got) == 0 {
		o.t.Fatal(got, err)
	}
}

// TestDoctorWaits: a repair does not work beside settling, and says so.
func TestDoctorWaits(t *testing.T) {
	t.Parallel()
	o := newPatient(t)
	o.exec(`UPDATE runs SET attendances_count = 1`)
	release := pgtest.Hold(t, o.url, `SELECT FROM runs FOR NO KEY UPDATE`)
	impatient := pgtest.Options
	impatient.LockTimeout = 50 * time.Millisecond
	report, err := doctor.Visit(t.Context(), pgtest.OpenWith(t, o.url, impatient), doctor.Options{Repair: true})
	if err != nil || len(report.Undone) != 1 || len(report.Repairs) != 0 || report.Findings[0].Code != doctor.AttendancesCount {
		t.Errorf("got %+v, %v", report, err)
	}
	release()
	o.requireFindings(doctor.Options{Repair: true})
}
