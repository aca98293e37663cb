package mail

import (
	"strconv"
	"strings"

	"github.com/lastseat/lastseat/internal/enroll"
)

// letter is what a mail says, in order. Its text part and its HTML part are
// both rendered from it. Every string is one line.
type letter struct {
	Language      enroll.Language
	Subject       string
	Greeting      string // without the name
	Name          string // empty = none is shown
	Paragraphs    []string
	Registrations []entry
	Open          string // the label of the button that opens a registration
	Closing       string
	Sender        string // may be empty
}

// entry is a registration in a letter.
type entry struct {
	Facts []fact
	Link  string
}

type fact struct {
	Label, Value string
	Typed        bool // by people, so it may be in any script
}

// about is what the templates can refer to.
type about struct {
	Title  string // of the course
	Newest int    // how many registrations are listed; 0 = all

	Waits   bool // it is on the waiting list
	Removed bool // the organiser cancelled it
	Refused bool // it never had a seat or a place
	Seated  bool // it has or had a seat
	Others  bool // the address was used again for another person

	NewTime, NewLocation bool // since the person was last told
	Entries              bool // calendar entries are attached

	// What the run's life allows now; see enroll.Life. No mail asks for
	// anything that the API refuses.
	Begun       bool // the run has begun
	MayGiveUp   bool // the person can give up the seat or the place
	MayRegister bool // people can register
	ListOpen    bool // people on the waiting list can still be promoted
}

// letter returns the letter of a mail.
func (c *Composer) letter(k kind, m enroll.Mail) (letter, error) {
	w := words[m.Language]
	first := m.About[0]
	life := first.For.LifeAt(m.Now)
	a := about{
		Title: oneLine(first.For.Title),
		Waits: first.Status == enroll.Waitlisted, Removed: first.Reason == enroll.Removed, Refused: first.Status == enroll.Rejected,
		Seated: first.Seated, Others: len(first.AskedFor) > 0,
		Begun: life.Begun, MayGiveUp: life.MayGiveUp(first.Status), MayRegister: life.MayRegister(), ListOpen: !life.ListEnded,
	}
	a.NewTime, a.NewLocation = changes(first)
	for _, e := range m.About {
		a.Entries = a.Entries || k.entry(m, e) != ""
	}
	if m.More {
		a.Newest = len(m.About)
	}
	subject, body, err := k.write(m.Language, a)
	if err != nil {
		return letter{}, err
	}
	l := letter{
		Language: m.Language,
		Subject:  subject,
		Greeting: w.greeting,
		Open:     w.open,
		Closing:  w.closing,
		Sender:   oneLine(c.sender(m)),
	}
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" {
			l.Paragraphs = append(l.Paragraphs, line)
		}
	}
	if m.Kind == enroll.MailMistakenAddress {
		return l, nil // the stranger who owns the address learns nothing about the registration
	}
	l.Name = shownName(nameOf(m.About))
	for _, e := range m.About {
		facts, err := w.facts(m, e)
		if err != nil {
			return letter{}, err
		}
		l.Registrations = append(l.Registrations, entry{Facts: facts, Link: c.link(e.Registration)})
	}
	return l, nil
}

// nameOf returns the name of the registrations if all have the same, else "":
// people who share a mailbox must not be greeted by the name of one of them.
func nameOf(all []enroll.Enrolment) enroll.Name {
	for _, e := range all {
		if e.Name != all[0].Name || len(e.AskedFor) > 0 {
			return ""
		}
	}
	return all[0].Name
}

// shownName returns the name as mails show it, or "" if a mail program could
// turn part of it into a link, an address or a telephone number. Any client can
// enter any address with any name, and nothing proves that the owner of the
// address typed the name.
func shownName(n enroll.Name) string {
	name := oneLine(string(n))
	if linkable(name) {
		return ""
	}
	return name
}

// facts returns the facts about a registration that the mail shows. A mail
// about several registrations shows the name and the status of each. A person
// who simply comes to the course needs no ticket number.
//
// It returns an error if the time cannot be stated, except for the mail with
// links: one run's wrong zone must not keep people from their other
// registrations.
func (w wording) facts(m enroll.Mail, e enroll.Enrolment) ([]fact, error) {
	facts := []fact{{w.course, oneLine(e.For.Title), true}}
	if when, err := w.period(e.For.Schedule()); err == nil {
		facts = append(facts, fact{w.when, when, false})
	} else if m.Kind != enroll.MailLinks {
		return nil, err
	}
	if e.For.Location != "" {
		facts = append(facts, fact{w.where, oneLine(e.For.Location), true})
	} else if _, removed := changes(e); removed && (m.Kind == enroll.MailChanged || m.Kind != enroll.MailLinks && e.Moved()) {
		facts = append(facts, fact{w.where, w.nowhere, false})
	}
	if m.Kind == enroll.MailChanged || m.Kind != enroll.MailLinks && e.Moved() {
		facts = append(facts, w.before(e)...)
	}
	if m.Kind == enroll.MailLinks || m.Kind == enroll.MailSummary {
		facts = appendName(facts, w.name, e.Name)
		facts = append(facts, fact{w.state, w.status(e.Registration), false})
	}
	if len(e.AskedFor) > 0 {
		facts = appendName(facts, w.registered, e.Name)
		for _, name := range e.AskedFor {
			facts = appendName(facts, w.notRegistered, name)
		}
	}
	if e.WaitlistPosition > 0 {
		facts = append(facts, fact{w.place, strconv.Itoa(e.WaitlistPosition), false})
	}
	switch m.Kind {
	case enroll.MailConfirmed, enroll.MailPromoted, enroll.MailReminder, enroll.MailChanged:
	default:
		facts = append(facts, fact{w.ticket, strconv.FormatInt(e.Ticket, 10), false})
	}
	return facts, nil
}

// appendName appends a name if it can be shown.
func appendName(facts []fact, label string, n enroll.Name) []fact {
	if name := shownName(n); name != "" {
		facts = append(facts, fact{label, name, true})
	}
	return facts
}

// before returns the time and the location that the person was last told, where
// they differ from the run's.
func (w wording) before(e enroll.Enrolment) []fact {
	time, location := changes(e)
	old := e.LastTold.Schedule
	var facts []fact
	if time {
		if when, err := w.period(old); err == nil { // otherwise the change corrected a wrong zone
			facts = append(facts, fact{w.whenBefore, when, false})
		}
	}
	if location && old.Location != "" {
		facts = append(facts, fact{w.whereBefore, oneLine(old.Location), true})
	} else if location {
		facts = append(facts, fact{w.whereBefore, w.nowhere, false})
	}
	return facts
}

// changes tells whether the run's time and location differ from what the person
// was last told.
func changes(e enroll.Enrolment) (time, location bool) {
	now, old := e.For.Schedule(), e.LastTold.Schedule
	location = now.Location != old.Location
	old.Location = now.Location
	return !now.Equal(old), location
}
