package mail

import (
	"fmt"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// period returns when a run takes place, in its zone. It names the day and the
// zone once, unless the run goes past midnight or the clocks change. It returns
// an error if the zone does not exist.
func (w wording) period(s enroll.Schedule) (string, error) {
	zone, err := enroll.ParseTimeZone(s.TimeZone)
	if err != nil {
		return "", err
	}
	from, to := s.StartsAt.In(zone), s.EndsAt.In(zone)
	if from.Format(time.DateOnly+" -0700") != to.Format(time.DateOnly+" -0700") {
		return fmt.Sprintf("%s, %s %s – %s, %s %s (%s)",
			w.day(from), w.hour(from), abbreviation(from), w.day(to), w.hour(to), abbreviation(to), zone), nil
	}
	named := zone.String()
	if short := abbreviation(from); short != named {
		named += ", " + short
	}
	return fmt.Sprintf("%s, %s–%s (%s)", w.day(from), from.Format("15:04"), w.hour(to), named), nil
}

func (w wording) day(t time.Time) string {
	return fmt.Sprintf(w.date, w.weekdays[t.Weekday()], t.Day(), w.months[t.Month()-1], t.Year())
}

func (w wording) hour(t time.Time) string { return t.Format("15:04") + w.clock }

// abbreviation returns the zone's abbreviation at that instant, such as CET, or
// its offset if it has none.
func abbreviation(t time.Time) string {
	short, _ := t.Zone()
	if strings.HasPrefix(short, "+") || strings.HasPrefix(short, "-") {
		return "UTC" + short
	}
	return short
}
