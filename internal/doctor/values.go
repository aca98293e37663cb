package doctor

import (
	"errors"
	"strings"
	"unicode"

	"github.com/lastseat/lastseat/internal/enroll"
)

// values checks the values that are parsed only when a mail or a calendar entry
// is written. Since migration 9 the database refuses wrong ones, but older rows
// may have them.
func (c *Checkup) values() {
	r := c.run
	_, badZone := enroll.ParseTimeZone(r.TimeZone)
	c.value(TimeZone, badZone, "mails about it cannot be written")
	if r.Course.ReplyTo != "" {
		if _, err := enroll.ParseAddress(r.Course.ReplyTo); err != nil {
			c.add(ReplyTo, 0, "reply_to of its course %s is not a plain address like name@example.org, so replies go to the sender", r.Course.Slug)
		} else if !ascii(r.Course.ReplyTo) {
			c.add(ReplyTo, 0, "reply_to of its course %s must have its domain in ASCII, as in name@xn--mller-kva.example, before the course can be changed", r.Course.Slug)
		}
	}
	const shown = "mails, calendars and pages show something else"
	c.value(Text, enroll.CheckLine("location", r.Location), shown)
	c.value(Text, enroll.CheckLine("title of its course", r.Course.Title), shown)
	c.value(Text, enroll.CheckLine("organiser of its course", r.Course.Organiser), shown)
	c.value(Text, enroll.CheckLines("description of its course", r.Course.Description), shown)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// value adds a finding if the check of a field returned a fault.
func (c *Checkup) value(code Code, fault error, effect string) {
	if e, is := errors.AsType[*enroll.Error](fault); is {
		c.add(code, 0, "%s %s: %s", e.Faults[0].Field, e.Faults[0].Detail, effect)
	}
}
