package enroll_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestParseInstant(t *testing.T) {
	t.Parallel()
	berlin, err := enroll.ParseTimeZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2027-05-04T18:00:00+02:00": "2027-05-04T16:00:00Z",
		"2027-05-04T18:00:00Z":      "2027-05-04T18:00:00Z",
		"2027-05-04T18:00":          "2027-05-04T16:00:00Z",
		"2027-05-04T18:00:30":       "2027-05-04T16:00:30Z",
		"2027-12-04T18:00":          "2027-12-04T17:00:00Z",
		"2027-03-28T01:59":          "2027-03-28T00:59:00Z",
		"2027-03-28T03:00":          "2027-03-28T01:00:00Z",
		"2027-10-31T01:59":          "2027-10-30T23:59:00Z",
		"2027-10-31T03:00":          "2027-10-31T02:00:00Z",
		"2027-03-28T02:30":          "nonexistent 2027-03-28T01:30:00+01:00 or 2027-03-28T03:30:00+02:00",
		"2027-03-28T02:00":          "nonexistent 2027-03-28T01:00:00+01:00 or 2027-03-28T03:00:00+02:00",
		"2027-10-31T02:30":          "ambiguous 2027-10-31T02:30:00+02:00 or 2027-10-31T02:30:00+01:00",
		"2027-10-31T02:00":          "ambiguous 2027-10-31T02:00:00+02:00 or 2027-10-31T02:00:00+01:00",
		"":                          "form", "tomorrow": "form", "2027-02-30T10:00": "form", "2027-05-04": "form", "1969-12-31T10:00": "range", "9999-06-01T00:00:00Z": "range",
	} {
		at, err := enroll.ParseInstant("starts_at", text, berlin)
		if err != nil {
			if code, rest, _ := strings.Cut(want, " "); enroll.CodeOf(err) != enroll.Invalid || !strings.Contains(err.Error(), "starts_at") || !strings.Contains(err.Error(), rest) {
				t.Errorf("%q: %v, want %s", text, err, code)
			}
			continue
		}
		if got := at.Format(time.RFC3339); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestParseInstant_of_what_a_clock_shows: an instant is found by what a clock on
// the wall shows then, or among the two that are named.
func TestParseInstant_of_what_a_clock_shows(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := enroll.ParseTimeZone(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_700_000_000, 1_800_000_000).Draw(t, "instant"), 0).In(zone)
		got, err := enroll.ParseInstant("starts_at", at.Format("2006-01-02T15:04:05"), zone)
		if err != nil && !strings.Contains(err.Error(), at.Format(time.RFC3339)) || err == nil && !got.Equal(at) {
			t.Errorf("%s is %v, %v", at, got, err)
		}
	})
}
