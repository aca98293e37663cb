package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestParseTimeZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "UTC", "GMT", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "US/Eastern", "CET"} {
		if zone, err := enroll.ParseTimeZone(name); err != nil || zone.String() != name {
			t.Errorf("%q: got %v, %v", name, zone, err)
		}
	}
	for _, name := range []string{
		"", " ", "Europe/Berln", "europe/berlin", "EUROPE/BERLIN", "utc", " Europe/Berlin", "Europe/Berlin ", "Europe/Berlin\n", "Europe", "Local", "localtime",
		"posixrules", "posix/Europe/Berlin", "right/Europe/Berlin", "Factory", "CEST", "+01:00", "EST5EDT4", "UTC+1", "../etc/passwd", "Mars/Olympus\r\nMons",
	} {
		if zone, err := enroll.ParseTimeZone(name); enroll.CodeOf(err) != enroll.Invalid {
			t.Errorf("%q: got %v, %v", name, zone, err)
		}
	}
}
