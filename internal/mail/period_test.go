package mail_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestCompose_names_the_zone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone, start, end string // in UTC
		english, german        string
	}{
		{"a day in winter", "Europe/Berlin", "2027-03-01 08:00", "2027-03-01 16:00",
			"Monday, 1 March 2027, 09:00–17:00 (Europe/Berlin, CET)",
			"Montag, 1. März 2027, 09:00–17:00 Uhr (Europe/Berlin, CET)"},
		{"a day in summer", "Europe/Berlin", "2027-07-04 07:00", "2027-07-04 15:00",
			"Sunday, 4 July 2027, 09:00–17:00 (Europe/Berlin, CEST)",
			"Sonntag, 4. Juli 2027, 09:00–17:00 Uhr (Europe/Berlin, CEST)"},
		{"several days", "Europe/Berlin", "2027-12-30 08:00", "2028-01-01 16:00",
			"Thursday, 30 December 2027, 09:00 CET – Saturday, 1 January 2028, 17:00 CET (Europe/Berlin)",
			"Donnerstag, 30. Dezember 2027, 09:00 Uhr CET – Samstag, 1. Januar 2028, 17:00 Uhr CET (Europe/Berlin)"},
		{"the night the clocks go forward", "Europe/Berlin", "2027-03-28 00:30", "2027-03-28 01:30",
			"Sunday, 28 March 2027, 01:30 CET – Sunday, 28 March 2027, 03:30 CEST (Europe/Berlin)",
			"Sonntag, 28. März 2027, 01:30 Uhr CET – Sonntag, 28. März 2027, 03:30 Uhr CEST (Europe/Berlin)"},
		{"the night the clocks go back", "America/New_York", "2027-11-07 05:30", "2027-11-07 06:30",
			"Sunday, 7 November 2027, 01:30 EDT – Sunday, 7 November 2027, 01:30 EST (America/New_York)",
			"Sonntag, 7. November 2027, 01:30 Uhr EDT – Sonntag, 7. November 2027, 01:30 Uhr EST (America/New_York)"},
		{"half an hour beside the others", "Asia/Kolkata", "2027-08-31 20:00", "2027-08-31 21:00",
			"Wednesday, 1 September 2027, 01:30–02:30 (Asia/Kolkata, IST)",
			"Mittwoch, 1. September 2027, 01:30–02:30 Uhr (Asia/Kolkata, IST)"},
		{"the other side of the date line", "Pacific/Auckland", "2027-10-22 20:00", "2027-10-23 04:00",
			"Saturday, 23 October 2027, 09:00–17:00 (Pacific/Auckland, NZDT)",
			"Samstag, 23. Oktober 2027, 09:00–17:00 Uhr (Pacific/Auckland, NZDT)"},
		{"a zone without an abbreviation", "America/Sao_Paulo", "2027-05-07 12:00", "2027-05-07 20:00",
			"Friday, 7 May 2027, 09:00–17:00 (America/Sao_Paulo, UTC-03)",
			"Freitag, 7. Mai 2027, 09:00–17:00 Uhr (America/Sao_Paulo, UTC-03)"},
		{"UTC", "UTC", "2027-06-01 09:00", "2027-06-01 17:00",
			"Tuesday, 1 June 2027, 09:00–17:00 (UTC)",
			"Dienstag, 1. Juni 2027, 09:00–17:00 Uhr (UTC)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for language, want := range map[enroll.Language]string{enroll.English: "When: " + test.english, enroll.German: "Wann: " + test.german} {
				m := mailOf(t, enroll.MailConfirmed, language)
				run := &m.About[0].For
				run.TimeZone, run.StartsAt, run.EndsAt = test.zone, instant(t, test.start), instant(t, test.end)
				got := receive(t, m)
				if !strings.Contains(got.plain, want+"\n") || !strings.Contains(got.shown(), want+"\n") {
					t.Errorf("%s: want %q in\n%s", language, want, got.plain)
				}
			}
		})
	}
}

// TestCompose_does_not_guess_a_zone: a time in another zone than the run's is
// read as one in the run's. A mail about many runs does without the time.
func TestCompose_does_not_guess_a_zone(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		for _, zone := range []string{"Europe/Berln", "europe/berlin", "", "Local", "posix/Europe/Berlin", "Mars/Olympus\r\nMons"} {
			m.About[0].For.TimeZone = zone
			msg, err := composer(t).Compose(m)
			if m.Kind == enroll.MailMistakenAddress { // says no time
				if err != nil {
					t.Errorf("%q: got %v", zone, err)
				}
				continue
			}
			if m.Kind != enroll.MailLinks {
				if msg != nil || enroll.CodeOf(err) != enroll.Invalid || !strings.Contains(err.Error(), "time_zone") {
					t.Errorf("%q: got %v, %v", zone, msg, err)
				}
				continue
			}
			label := map[enroll.Language]string{enroll.English: "When: ", enroll.German: "Wann: "}[m.Language]
			if got := receive(t, m); strings.Count(got.plain, label) != len(m.About)-1 || strings.Contains(got.plain, "UTC") {
				t.Errorf("%q: got\n%s", zone, got.plain)
			}
		}
	})
}

func TestCompose_names_every_month_and_weekday_in_German(t *testing.T) {
	t.Parallel()
	english := time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for day := range 365 {
		m := mailOf(t, enroll.MailConfirmed, enroll.German)
		run := &m.About[0].For
		run.TimeZone, run.StartsAt = "UTC", english.AddDate(0, 0, day)
		run.EndsAt = run.StartsAt.Add(time.Hour)
		if day < 7 || run.StartsAt.Day() == 1 {
			_, when, _ := strings.Cut(receive(t, m).plain, "Wann: ")
			seen[strings.FieldsFunc(when, func(r rune) bool { return r == ' ' || r == ',' })[0]] = true
			seen[strings.Fields(when)[2]] = true
		}
	}
	for _, name := range strings.Fields("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag " +
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember") {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(seen) != 7+12 {
		t.Errorf("got %v", seen)
	}
}

func instant(t *testing.T, utc string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", utc)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
