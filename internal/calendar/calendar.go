// Package calendar writes the calendar entry of a registration (RFC 5545).
//
// It owns what an entry says and what it must keep to itself: calendars get
// shared, so neither the registration's id nor its link stands in one. It must
// not know how an entry travels: the HTTP API serves it and mails carry it.
package calendar

import (
	"cmp"
	"net/url"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Method is what a calendar shall do with an entry (RFC 5546, 1.4).
type Method string

// The methods.
const (
	Publish Method = "PUBLISH" // add it, or replace what is there
	Cancel  Method = "CANCEL"  // strike it out
)

// ContentType returns the media type of an entry, with its parameters.
func (m Method) ContentType() string { return "text/calendar; charset=utf-8; method=" + string(m) }

// Organiser is who calls people together. Its fields are those of a
// net/mail.Address.
type Organiser struct{ Name, Address string }

// uidSpace keeps the UIDs of entries apart from other UUIDs made of the same
// ids.
var uidSpace = uuid.MustParse("0e9c6b52-5b86-4d0f-9a57-1b8f2f6f3c41")

// Entry returns the entry of a registration. The organiser is the
// installation's; what the course says of its own goes before it. The instant
// is that of writing the entry.
//
// The UID is the same for every entry of one registration, whatever else
// changes. It is a hash, since the id is all that somebody needs to act for the
// person, and it has no host name (RFC 7986, 5.3).
func Entry(method Method, e enroll.Enrolment, o Organiser, at time.Time) []byte {
	run := e.For
	// A cancellation has to be later than what it cancels (RFC 5546, 2.1.4).
	sequence, status := 2*run.Revision, ics.ObjectStatusConfirmed
	if method == Cancel {
		sequence, status = 2*run.Revision+1, ics.ObjectStatusCancelled
	}

	c := ics.NewCalendarFor("")
	c.SetProductId("-//Lastseat//Lastseat//EN")
	c.SetMethod(ics.Method(method))
	event := c.AddEvent(uuid.NewSHA1(uidSpace, e.ID[:]).String())
	event.SetDtStampTime(at)
	event.SetSequence(sequence)
	event.SetStartAt(run.StartsAt)
	event.SetEndAt(run.EndsAt)
	event.SetSummary(text(run.Title))
	if run.Location != "" {
		event.SetLocation(text(run.Location))
	}
	setOrganiser(event, run, o)
	event.SetStatus(status)
	event.SetClass(ics.ClassificationPrivate) // who goes where is for the person to tell
	event.SetTimeTransparency(ics.TransparencyOpaque)
	return []byte(c.Serialize(ics.WithNewLineWindows))
}

// setOrganiser writes the ORGANIZER property. The library escapes parameters
// with backslashes, which are plain characters there (RFC 5545, 3.2), so the
// parameter comes with the name of the property, which is written as it is.
func setOrganiser(event *ics.VEvent, run enroll.Run, o Organiser) {
	property := string(ics.ComponentPropertyOrganizer)
	if name := parameter(cmp.Or(run.Organiser, o.Name)); name != "" {
		property += `;CN="` + name + `"`
	}
	address := o.Address
	if reply, err := enroll.ParseAddress(run.ReplyTo); err == nil {
		address = reply.Mailbox()
	}
	address = "mailto:" + url.PathEscape(address)
	event.SetProperty(ics.ComponentProperty(property), address)
}

// text returns what a TEXT value can hold (RFC 5545, 3.3.11): lines end with
// LF, which the library escapes, and there are no other control characters than
// tabs.
func text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return ' '
		}
		return r
	}, s)
}

// parameter returns what can stand in a quoted parameter value (RFC 5545,
// 3.2): it has no way to say a quote or a line end.
func parameter(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}
