// Package calendar writes the calendar entry of a registration (RFC 5545).
//
// It owns what an entry says, and what it must not say: people share calendars,
// so an entry holds neither the registration's id nor its link. It must not
// know how an entry travels; the HTTP API serves it, and mails carry it.
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

// Method is what a calendar must do with an entry (RFC 5546, 1.4).
type Method string

// The methods.
const (
	Publish Method = "PUBLISH" // add the event, or replace it
	Cancel  Method = "CANCEL"  // remove the event
)

// ContentType returns the media type of an entry, with its parameters.
func (m Method) ContentType() string { return "text/calendar; charset=utf-8; method=" + string(m) }

// Organiser is the organiser of an event. Its fields are those of
// net/mail.Address.
type Organiser struct{ Name, Address string }

// uidSpace distinguishes the UIDs of entries from other UUIDs made from the
// same ids.
var uidSpace = uuid.MustParse("0e9c6b52-5b86-4d0f-9a57-1b8f2f6f3c41")

// Entry returns the calendar entry of a registration, written at the given
// instant. o is the installation's organiser; the course's own name and reply
// address take precedence.
//
// All entries of one registration have the same UID. It is a hash of the id,
// because the id is the person's credential, and it has no host name (RFC 7986,
// 5.3).
func Entry(method Method, e enroll.Enrolment, o Organiser, at time.Time) []byte {
	run := e.For
	// A cancellation needs a higher sequence than the entry it removes (RFC
	// 5546, 2.1.4).
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
	event.SetClass(ics.ClassificationPrivate) // where a person goes is private
	event.SetTimeTransparency(ics.TransparencyOpaque)
	return []byte(c.Serialize(ics.WithNewLineWindows))
}

// setOrganiser sets the ORGANIZER property. golang-ical escapes parameters with
// backslashes, which are ordinary characters there (RFC 5545, 3.2). So the
// parameter becomes part of the property's name, which is written unchanged.
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

// text returns s as a TEXT value can hold it (RFC 5545, 3.3.11): lines end with
// LF, which golang-ical escapes, and tabs are the only other control
// characters.
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

// parameter returns s as a quoted parameter value can hold it (RFC 5545, 3.2),
// without quotes and line ends.
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
