package doctor

import (
	"errors"
	"strings"
	"unicode"

	"github.com/lastseat/lastseat/internal/enroll"
)

// values checks what is parsed only when a mail or a calendar entry is written.
// The database refuses such values since migration 9; older rows may have them.
func (c *Checkup) values() {
	r := c.run
	_, badZone := enroll.ParseTimeZone(r.TimeZone)
	c.value(TimeZone, badZone, "mails about it cannot be written")
	if r.Course.ReplyTo != "" {
		if _, err := enroll.ParseAddress(r.Course.ReplyTo); err == nil && !ascii(r.Course.ReplyTo) {
			c.add(ReplyTo, 0, "reply_to of its course %s must have its domain in ASCII, as in name@xn--mller-kva.example: it cannot be written again", r.Course.Slug)
		} else if err != nil {
			c.add(ReplyTo, 0, "reply_to of its course %s is not a plain address like name@example.org: replies go to the sender", r.Course.Slug)
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

// value adds a finding about the field of a value that is not as it must be.
func (c *Checkup) value(code Code, fault error, effect string) {
	if e, is := errors.AsType[*enroll.Error](fault); is {
		c.add(code, 0, "%s %s: %s", e.Faults[0].Field, e.Faults[0].Detail, effect)
	}
}
