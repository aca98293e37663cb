package mail_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// situations are what can happen between the event that a mail tells and the
// mail itself.
var situations = []struct {
	name   string
	happen func(*enroll.Mail)
}{
	{"in time", func(*enroll.Mail) {}},
	{"late", func(m *enroll.Mail) { m.Now = m.About[0].For.StartsAt.Add(time.Hour) }},
	{"moved", func(m *enroll.Mail) {
		each(m, func(e *enroll.Enrolment) {
			if e.LastTold = (enroll.LastTold{Schedule: e.For.Schedule()}); e.Status != enroll.Queued {
				e.LastTold.Status, e.LastTold.At, e.LastTold.Seat, e.LastTold.Entry = e.Status, m.DueAt.AddDate(0, 0, -7), e.Seated, e.Seated
			}
			e.For.StartsAt, e.For.EndsAt = e.For.StartsAt.AddDate(0, 1, 0), e.For.EndsAt.AddDate(0, 1, 0)
			e.For.Location, e.For.Revision = "Online", 2
		})
	}},
	{"over", func(m *enroll.Mail) { m.Now = m.About[0].For.EndsAt.Add(48 * time.Hour) }},
	{"called off", func(m *enroll.Mail) {
		each(m, func(e *enroll.Enrolment) {
			e.For.CalledOff = true
			if e.Status == enroll.Confirmed || e.Status == enroll.Waitlisted {
				e.Status, e.Reason, e.WaitlistPosition = enroll.Cancelled, enroll.RunCalledOff, 0
			}
		})
	}},
	{"corrected", func(m *enroll.Mail) {
		m.To = enroll.Address{Typed: "Augusta@example.net", Key: "augusta@example.net"}
		each(m, func(e *enroll.Enrolment) { e.Name, e.ID = "Augusta Ada King", uuid.NewSHA1(uuid.Nil, e.ID[:]) })
	}},
}

func each(m *enroll.Mail, change func(*enroll.Enrolment)) {
	for i := range m.About {
		change(&m.About[i])
	}
}

// readers are the kinds of mail with the different readers that each addresses.
var readers = []struct {
	kind   enroll.MailKind
	who    string
	change func(*enroll.Enrolment)
}{
	{enroll.MailAlreadyRegistered, "asked for another person", func(e *enroll.Enrolment) { e.AskedFor = []enroll.Name{"Charles Babbage"} }},
	{enroll.MailCancelled, "waited", func(e *enroll.Enrolment) { e.Seated, e.LastTold = false, enroll.LastTold{} }},
	{enroll.MailCancelled, "was not told of the seat", func(e *enroll.Enrolment) { e.LastTold = enroll.LastTold{} }},
	{enroll.MailCancelled, "was removed", func(e *enroll.Enrolment) { e.Reason = enroll.Removed }},
	{enroll.MailCalledOff, "waited", func(e *enroll.Enrolment) { e.Seated, e.LastTold = false, enroll.LastTold{} }},
	{enroll.MailCalledOff, "was refused", func(e *enroll.Enrolment) { e.Status, e.Seated, e.LastTold = enroll.Rejected, false, enroll.LastTold{} }},
	{enroll.MailChanged, "waits", func(e *enroll.Enrolment) { e.Status, e.Seated, e.WaitlistPosition = enroll.Waitlisted, false, 3 }},
}

// TestMatrix renders every kind of mail for each of its readers in every
// situation, and compares the text with one that people have read and approved.
// The matrix also says which mails are not sent.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, language := range enroll.Languages {
		t.Run(string(language), func(t *testing.T) {
			t.Parallel()
			kinds := enroll.MailKinds()
			slices.Sort(kinds)
			var all strings.Builder
			for _, kind := range kinds {
				render(t, &all, mailOf(t, kind, language), "")
				for _, r := range readers {
					if r.kind == kind {
						m := mailOf(t, kind, language)
						each(&m, r.change)
						render(t, &all, m, r.who)
					}
				}
			}
			compareGolden(t, fmt.Sprintf("testdata/matrix.%s.golden", language), all.String())
		})
	}
}

// render returns a mail in all situations.
func render(t *testing.T, all *strings.Builder, m enroll.Mail, who string) {
	t.Helper()
	for _, s := range situations {
		now := m
		now.About = slices.Clone(m.About)
		s.happen(&now)
		fmt.Fprintf(all, "######## %s %s: %s\n", m.Kind, who, s.name)
		if why := now.Obsolete(); why != "" {
			fmt.Fprintf(all, "is not sent: %s\n\n", why)
			continue
		}
		got := receive(t, now)
		fmt.Fprintf(all, "Subject: %s\n\n%s\n", got.decoded(t, "Subject"), got.plain)
		for _, line := range regexp.MustCompile(`(?m)^(METHOD|SEQUENCE|DTSTART|STATUS|LOCATION):.*`).FindAllString(got.calendar, -1) {
			fmt.Fprintln(all, "calendar", strings.TrimSpace(line))
		}
		fmt.Fprintln(all)
		requireTrue(t, now, got)
	}
}

// requireTrue checks a mail's statements against the state that it is about.
func requireTrue(t *testing.T, m enroll.Mail, got received) {
	t.Helper()
	text := strings.ToLower(got.plain)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	first := m.About[0]
	life := first.For.LifeAt(m.Now)
	published := strings.Contains(got.calendar, "METHOD:PUBLISH")
	for what, wrong := range map[string]bool{
		"an attached entry that is not":     says("is attached", "liegt bei", "liegt dieser nachricht") != (got.calendar != "") && !strings.Contains(got.calendar, "METHOD:CANCEL"),
		"an entry without a seat":           published && first.Status != enroll.Confirmed,
		"looking forward to what has begun": says("look forward", "freuen uns") && life.Begun,
		"to delete what was never there":    says("please delete", "löschen sie") && !first.Seated,
		"a striking out of what never was":  strings.Contains(got.calendar, "METHOD:CANCEL") && !slices.ContainsFunc(m.About, func(e enroll.Enrolment) bool { return e.LastTold.Entry || e.LastTold.Seat }),
		"looking forward to what is over":   says("look forward", "freuen uns") && (life.Window == enroll.Over || life.Window == enroll.WindowCalledOff),
		"a place on a list that has ended":  says("keep your place", "behalten ihren platz auf der warteliste") && life.ListEnded,
		"an old time that was not told":     says("previous", "bisheriger") && first.LastTold.Status == "",
		"nothing of what has moved":         m.Kind != enroll.MailLinks && m.Kind != enroll.MailMistakenAddress && first.Moved() && !says("previous", "bisheriger"),
		"the old name":                      m.To.Typed == "Augusta@example.net" && says("lovelace"),
	} {
		if wrong {
			t.Errorf("%s at %s says %s:\n%s\n%s", m.Kind, m.Now, what, got.plain, got.calendar)
		}
	}
	for _, a := range asks {
		if says(a.words) && !a.may(life, first.Status) {
			t.Errorf("%s at %s asks for what is refused, %q:\n%s", m.Kind, m.Now, a.words, got.plain)
		}
	}
}
