package mail_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestCompose_shows_what_was_told_before checks that the first mail to tell a change
// shows the old time and location, whatever its kind.
func TestCompose_shows_what_was_told_before(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		change    func(*enroll.Schedule)
		subject   string // of the notice
		has, lack string
	}{
		{"another time", func(s *enroll.Schedule) { s.StartsAt = s.StartsAt.Add(-time.Hour) }, "New time: ", "Previous time: Monday, 1 March 2027, 08:00–17:00", "Previous location"},
		{"another zone", func(s *enroll.Schedule) { s.TimeZone = "Europe/London" }, "New time: ", "Previous time: Monday, 1 March 2027, 08:00–16:00 (Europe/London, GMT)", "Previous location"},
		{"another location", func(s *enroll.Schedule) { s.Location = "Room 6" }, "New location: ", "Previous location: Room 6\n", "Previous time"},
		{"a first location", func(s *enroll.Schedule) { s.Location = "" }, "New location: ", "Previous location: not announced yet\n", "Previous time"},
		{"both", func(s *enroll.Schedule) { s.Location, s.EndsAt = "Room 6", s.EndsAt.Add(time.Hour) }, "New time and location: ", "Previous location: Room 6\n", "\x00"},
	} {
		for _, kind := range []enroll.MailKind{enroll.MailChanged, enroll.MailReminder, enroll.MailPromoted} {
			t.Run(test.name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				m := mailOf(t, kind, enroll.English)
				told := m.About[0].For.Schedule()
				test.change(&told)
				m.About[0].LastTold = enroll.LastTold{Status: enroll.Confirmed, Schedule: told}
				got := receive(t, m)
				if !strings.Contains(got.plain, test.has) || strings.Contains(got.plain, test.lack) {
					t.Errorf("got\n%s", got.plain)
				}
				if subject := got.decoded(t, "Subject"); kind == enroll.MailChanged && !strings.HasPrefix(subject, test.subject) {
					t.Errorf("the subject is %q", subject)
				}
			})
		}
	}
}

// TestCompose_brings_every_calendar_up_to_date checks that a summary has an
// entry for each registration whose seat differs from what was told.
func TestCompose_brings_every_calendar_up_to_date(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status enroll.Status
		told   enroll.LastTold
		moved  bool
		want   string
	}{
		"a seat that was not told":             {enroll.Confirmed, enroll.LastTold{}, false, "PUBLISH"},
		"a seat from the list":                 {enroll.Confirmed, enroll.LastTold{Status: enroll.Waitlisted}, false, "PUBLISH"},
		"a seat that was told":                 {enroll.Confirmed, enroll.LastTold{Status: enroll.Confirmed, Entry: true}, false, ""},
		"a seat that was told, of another day": {enroll.Confirmed, enroll.LastTold{Status: enroll.Confirmed, Entry: true}, true, "PUBLISH"},
		"a seat that is gone":                  {enroll.Cancelled, enroll.LastTold{Status: enroll.Confirmed, Entry: true}, false, "CANCEL"},
		"a seat that may have been told":       {enroll.Cancelled, enroll.LastTold{Entry: true}, false, "CANCEL"},
		"a seat that was never told":           {enroll.Cancelled, enroll.LastTold{}, false, ""},
		"a place on the list that is gone":     {enroll.Cancelled, enroll.LastTold{Status: enroll.Waitlisted}, false, ""},
		"a seat that was told to be gone":      {enroll.Cancelled, enroll.LastTold{Status: enroll.Cancelled}, false, ""},
	} {
		m := mailOf(t, enroll.MailSummary, enroll.English)
		e := m.About[0]
		e.Status, e.LastTold = test.status, test.told
		e.LastTold.Schedule = e.For.Schedule()
		if test.moved {
			e.LastTold.Schedule.StartsAt = e.For.StartsAt.Add(-24 * time.Hour)
		}
		m.About = []enroll.Enrolment{e, e}
		got := receive(t, m)
		if n := strings.Count(got.structure, "(text/calendar)"); test.want == "" && n != 0 || test.want != "" && (n != 2 || !strings.Contains(got.calendar, "METHOD:"+test.want)) {
			t.Errorf("%s: got %s:\n%s", name, got.structure, got.calendar)
		}
	}
}
