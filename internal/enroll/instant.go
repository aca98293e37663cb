package enroll

import (
	"fmt"
	"time"
)

// ParseInstant returns the instant that a text names: a time with an offset (RFC
// 3339), or a local time without one, such as 2027-05-04T18:00, in the zone. The
// error has code Invalid, and its fault names the field. A local time that does
// not exist in the zone, or exists twice, is refused with both instants that it
// may mean.
func ParseInstant(field, text string, zone *time.Location) (time.Time, error) {
	fault := func(code, detail string) (time.Time, error) {
		return time.Time{}, FaultIn(field, Invalid, code, detail)
	}
	at, err := time.Parse(time.RFC3339, text)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if err == nil {
			break
		}
		local, bad := time.Parse(layout, text)
		if bad != nil {
			continue
		}
		before, after := localInstants(local, zone)
		switch exists := before.Format(layout) == text; {
		case !before.Equal(after) && exists:
			return fault("ambiguous", fmt.Sprintf("exists twice in this time zone: send %s or %s", before.Format(time.RFC3339), after.Format(time.RFC3339)))
		case !before.Equal(after):
			return fault("nonexistent", fmt.Sprintf("does not exist in this time zone: send %s or %s", after.Format(time.RFC3339), before.Format(time.RFC3339)))
		}
		at, err = before, nil
	}
	switch {
	case err != nil:
		return fault("form", "must be a time with an offset, such as 2027-05-04T18:00:00+02:00, or a local time without one, such as 2027-05-04T18:00")
	case at.UTC().Year() < 1970 || at.UTC().Year() > 9998:
		return fault("range", "must be between the years 1970 and 9998")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// localInstants returns the instants that a local time means by the zone's offset
// of the day before and by that of the day after. They are the same unless the
// offset changes in between and the time is skipped or repeated by that.
func localInstants(local time.Time, zone *time.Location) (before, after time.Time) {
	const day = 24 * time.Hour
	with := func(near time.Time) time.Time {
		_, offset := near.In(zone).Zone()
		return local.Add(-time.Duration(offset) * time.Second).In(zone)
	}
	shows := func(at time.Time) bool {
		y, m, d := at.Date()
		hour, minute, second := at.Clock()
		return time.Date(y, m, d, hour, minute, second, 0, time.UTC).Equal(local.Truncate(time.Second))
	}
	before, after = with(local.Add(-day)), with(local.Add(day))
	switch first, second := shows(before), shows(after); {
	case first && !second:
		return before, before
	case second && !first:
		return after, after
	}
	return before, after
}
