package mail_test

import (
	"fmt"
	"maps"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mail"
)

// eachMail runs a test for every kind and language.
func eachMail(t *testing.T, test func(t *testing.T, m enroll.Mail)) {
	t.Helper()
	for _, kind := range enroll.MailKinds() {
		for _, language := range enroll.Languages {
			t.Run(string(kind)+" "+string(language), func(t *testing.T) {
				t.Parallel()
				test(t, mailOf(t, kind, language))
			})
		}
	}
}

func TestCompose_sets_the_headers(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		got := receive(t, m)
		want := map[string]string{
			"Auto-Submitted":           "auto-generated",
			"Content-Language":         string(m.Language),
			"Date":                     "Mon, 01 Feb 2027 12:30:15 +0000",
			"Message-Id":               "<c0ffee00-0000-4000-8000-000000000001@lastseat.example>",
			"Mime-Version":             "1.0",
			"X-Auto-Response-Suppress": "All",
			"From":                     `"Go School" <hello@lastseat.example>`,
			"To":                       "<Ada.Lovelace+go@example.org>",
			"Reply-To":                 "<office@go-school.example>",
		}
		if m.Kind == enroll.MailChanged || m.Kind == enroll.MailSummary {
			want["Message-Id"] = "<c0ffee00-0000-4000-8000-000000000001.1@lastseat.example>"
		}
		if m.Kind == enroll.MailLinks || m.Kind == enroll.MailMistakenAddress {
			want["From"] = `"Lastseat" <hello@lastseat.example>`
			delete(want, "Reply-To")
		}
		for name, value := range want {
			if all := got.header[name]; len(all) != 1 || all[0] != value {
				t.Errorf("%s: got %q, want %q", name, all, value)
			}
		}
		want["Content-Type"], want["Subject"] = "", ""
		if names := slices.Sorted(maps.Keys(got.header)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
			t.Errorf("got the headers %q", names)
		}
	})
}

// calendars are the kinds that carry a calendar entry, with its method.
var calendars = map[enroll.MailKind]string{
	enroll.MailConfirmed: "PUBLISH", enroll.MailPromoted: "PUBLISH", enroll.MailReminder: "PUBLISH",
	enroll.MailCancelled: "CANCEL", enroll.MailCalledOff: "CANCEL", enroll.MailChanged: "PUBLISH",
	enroll.MailSummary: "CANCEL", // of the one that the calendar has, and that was cancelled
}

func TestCompose_attaches_a_calendar_entry_to_mails_about_a_seat(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		got := receive(t, m)
		const parts = "multipart/alternative{(text/plain)(text/html)}"
		method := calendars[m.Kind]
		if method == "" {
			if got.structure != parts || got.calendar != "" {
				t.Errorf("got %s", got.structure)
			}
			return
		}
		if got.structure != "multipart/mixed{"+parts+"(text/calendar)}" || got.attachment != "go-1.ics" {
			t.Errorf("got %s and %q", got.structure, got.attachment)
		}
		for _, want := range []string{"METHOD:" + method, "DTSTART:20270301T080000Z", `ORGANIZER;CN="Go School":mailto:office@go-school.example`} {
			if !strings.Contains(got.calendar, want+"\r\n") {
				t.Errorf("the calendar lacks %s:\n%s", want, got.calendar)
			}
		}
		if strings.Contains(got.calendar, m.About[0].ID.String()) {
			t.Error("the calendar entry holds the registration's id")
		}
	})
}

func TestCompose_says_the_same_in_both_parts(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		got := receive(t, m)
		// In HTML, the button's text and the link are on lines of their own.
		plain := strings.ReplaceAll(got.plain, ": https:", "\nhttps:")
		if want, shown := words(plain), words(got.shown()); !slices.Equal(shown, want) {
			t.Errorf("the HTML says\n%q\nand the text\n%q", shown, want)
		}
		var want []string
		if m.Kind == enroll.MailMistakenAddress {
			m.About = nil // it leads nowhere
		}
		for _, e := range m.About {
			link := "https://lastseat.example/v1/registrations/" + e.ID.String()
			if want = append(want, link); !strings.Contains(got.plain, " "+link+"\n") {
				t.Errorf("the text lacks %s:\n%s", link, got.plain)
			}
		}
		if links := got.links(); !slices.Equal(links, want) {
			t.Errorf("got the links %q, want %q", links, want)
		}
	})
}

// words returns the lines that are not empty.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// TestCompose_says_that_a_location_was_removed: a mail without the line would leave
// the old location as the only one.
func TestCompose_says_that_a_location_was_removed(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		e := &m.About[0]
		e.LastTold.Status = enroll.Confirmed
		e.LastTold.Schedule = e.For.Schedule()
		e.LastTold.Schedule.Location = "Room 6"
		e.For.Location = ""
		said := map[enroll.Language]string{enroll.English: "Where: not announced yet\n", enroll.German: "Wo: noch nicht bekannt gegeben\n"}[m.Language]
		want := m.Kind != enroll.MailLinks && m.Kind != enroll.MailMistakenAddress
		if got := receive(t, m).plain; strings.Contains(got, said) != want {
			t.Errorf("got\n%s", got)
		}
	})
}

func TestCompose_makes_one_message_of_all_attempts(t *testing.T) {
	t.Parallel()
	m := mailOf(t, enroll.MailConfirmed, enroll.English)
	first := receive(t, m)
	m.Attempt++
	m.Now = m.Now.AddDate(0, 0, 1)
	if again := receive(t, m); again.header.Get("Message-Id") != first.header.Get("Message-Id") {
		t.Error("another attempt has another Message-ID")
	}
	m.ID = uuid.New()
	if other := receive(t, m); other.header.Get("Message-Id") == first.header.Get("Message-Id") {
		t.Error("another mail has the same Message-ID")
	}
}

// An earlier attempt may have been delivered. A later one that says something
// new must not pass for a copy of it.
func TestCompose_makes_another_message_of_another_time(t *testing.T) {
	t.Parallel()
	for kind, change := range map[enroll.MailKind]func(*enroll.Mail){
		enroll.MailConfirmed: func(m *enroll.Mail) { m.About[0].For.Revision++ },
		enroll.MailChanged:   func(m *enroll.Mail) { m.About[0].For.Revision++ },
		enroll.MailSummary:   func(m *enroll.Mail) { m.Attempt++ },
	} {
		m := mailOf(t, kind, enroll.English)
		first := receive(t, m)
		change(&m)
		if again := receive(t, m); again.header.Get("Message-Id") == first.header.Get("Message-Id") {
			t.Errorf("%s: it has the same Message-ID", kind)
		}
	}
}

func TestCompose_stands_in_with_the_installation(t *testing.T) {
	t.Parallel()
	for _, replyTo := range []string{"", "no address", "x@example.org\r\nBcc: y@example.org", "<x@example.org>, y@example.org"} {
		m := mailOf(t, enroll.MailConfirmed, enroll.English)
		m.About[0].For.Organiser, m.About[0].For.ReplyTo = "", replyTo
		got := receive(t, m)
		if from := got.address(t, "From"); from.Name != "Lastseat" {
			t.Errorf("the mail is from %v", from)
		}
		if got.header["Reply-To"] != nil || got.header["Bcc"] != nil {
			t.Errorf("for the address %q got %q", replyTo, got.header)
		}
		if !strings.HasSuffix(got.plain, "Lastseat\n") {
			t.Errorf("the mail is not signed:\n%s", got.plain)
		}
	}
}

func TestCompose_says_when_links_are_left_out(t *testing.T) {
	t.Parallel()
	for language, words := range map[enroll.Language][2]string{
		enroll.English: {"Below are all registrations made with", "Below are the newest 8 registrations made with"},
		enroll.German:  {"Unten finden Sie alle Anmeldungen mit", "Unten finden Sie die neuesten 8 Anmeldungen mit"},
	} {
		m := mailOf(t, enroll.MailLinks, language)
		for i, want := range words {
			m.More = i == 1
			if got := receive(t, m).plain; !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
	}
}

func TestCompose_refuses_an_invalid_mail(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*enroll.Mail){
		"of an unknown kind":         func(m *enroll.Mail) { m.Kind = "greetings" },
		"in an unknown language":     func(m *enroll.Mail) { m.Language = "tlh" },
		"in no language":             func(m *enroll.Mail) { m.Language = "" },
		"about nothing":              func(m *enroll.Mail) { m.About = nil },
		"of the links of nobody":     func(m *enroll.Mail) { m.Kind, m.About = enroll.MailLinks, nil },
		"of a kind that is a layout": func(m *enroll.Mail) { m.Kind = "layout" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mailOf(t, enroll.MailConfirmed, enroll.English)
			change(&m)
			msg, err := composer(t).Compose(m)
			if err == nil || msg != nil {
				t.Fatalf("got %v and %v", msg, err)
			}
			for _, secret := range []string{"Ada", "example.org", "7f1f0f9e"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error quotes personal data: %v", err)
				}
			}
		})
	}
}

func TestNew_wants_an_address_that_can_stand_in_a_header(t *testing.T) {
	t.Parallel()
	for typed, fine := range map[string]bool{
		"lastseat@localhost":                  true,
		"a@xn--strae-oqa.de":                  true,
		"":                                    false,
		"nobody":                              false,
		"a@straße.de":                         false,
		"A <a@example.org>":                   false,
		"a@example.org\r\nBcc: b@example.org": false,
	} {
		if _, err := mail.New(mail.Options{From: netmail.Address{Address: typed}}); (err == nil) != fine {
			t.Errorf("%q: got %v", typed, err)
		}
	}
}

// TestCompose_tells_a_mistaken_address_nothing about the registration.
func TestCompose_tells_a_mistaken_address_nothing(t *testing.T) {
	t.Parallel()
	for _, language := range enroll.Languages {
		m := mailOf(t, enroll.MailMistakenAddress, language)
		got := receive(t, m)
		e := m.About[0]
		text := got.plain + got.html + got.decoded(t, "Subject") + got.decoded(t, "From") + got.calendar + fmt.Sprint(got.header)
		for _, secret := range []string{string(e.Name), e.For.Title, e.For.Location, e.For.Organiser, e.For.ReplyTo, e.Run, e.ID.String(), "2027-03", "http"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: it says %q:\n%s", language, secret, text)
			}
		}
	}
}
