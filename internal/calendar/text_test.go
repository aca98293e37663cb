package calendar_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

func TestEntry_keeps_texts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text string }{
		{"quotes and apostrophes", `The "Go" of O'Brien`},
		{"commas, semicolons and colons", "a,b;c:d,,;;::"},
		{"backslashes", `\ \\ \n \, C:\new`},
		{"line ends", "one\ntwo\n\nthree\n"},
		{"tabs", "a\tb"},
		{"runs of blanks", "a" + strings.Repeat(" ", 198) + "b"},
		{"blanks at the ends", "  a  "},
		{"joined emoji", strings.Repeat("👩‍👩‍👧‍👦🏳️‍🌈", 20)},
		{"right-to-left text", "مقدمة في لغة Go، דָּוִד בֶּן־גּוּרִיּוֹן"},
		{"200 umlauts", strings.Repeat("ü", 200)},
		{"200 runes of four octets", strings.Repeat("𠮷", 200)},
		{"an entry in an entry", "x\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:y"},
		{"a parameter", `x;CN="y":mailto:z@example.org`},
		{"template syntax", "{{.}} %s %d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := enrolment()
			e.For.Title, e.For.Location = test.text, test.text
			_, event := parse(t, calendar.Entry(calendar.Publish, e, house, at))
			for _, name := range []string{"SUMMARY", "LOCATION"} {
				if got := value(t, event, name); got != test.text {
					t.Errorf("%s: got %q, want %q", name, got, test.text)
				}
			}
		})
	}
}

func TestEntry_keeps_any_text(t *testing.T) {
	t.Parallel()
	nasty := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\r\n\t \\,;:\"'^\x00\x7f\u0085"))), 1, 200, -1)
	rapid.Check(t, func(t *rapid.T) {
		checkTexts(t, nasty.Draw(t, "title"), nasty.Draw(t, "location"), nasty.Draw(t, "organiser"), nasty.Draw(t, "reply-to"))
	})
}

// checkTexts checks what holds for every text that an operator may enter for a
// course.
func checkTexts(t rapid.TB, title, location, organiser, replyTo string) {
	t.Helper()
	// Every line end becomes LF, and every character that TEXT cannot hold
	// becomes a blank.
	want := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return ' '
			}
			return r
		}, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\ufffd")))
	}
	e := enrolment()
	e.For.Title, e.For.Location, e.For.Organiser, e.For.ReplyTo = title, location, organiser, replyTo
	_, event := parse(t, calendar.Entry(calendar.Publish, e, house, at))
	if got := value(t, event, "SUMMARY"); got != want(title) {
		t.Errorf("got the title %q, want %q", got, want(title))
	}
	if location == "" {
		if event.Props.Get("LOCATION") != nil {
			t.Error("there is a location")
		}
	} else if got := value(t, event, "LOCATION"); got != want(location) {
		t.Errorf("got the location %q, want %q", got, want(location))
	}
	by := event.Props.Get("ORGANIZER")
	if by == nil || !strings.HasPrefix(by.Value, "mailto:") || len(by.Params) > 1 || event.Props.Get("ATTENDEE") != nil {
		t.Fatalf("the organiser %q at %q is %+v", organiser, replyTo, by)
	}
	if _, err := enroll.ParseAddress(replyTo); err != nil && by.Value != "mailto:"+house.Address {
		t.Errorf("replies go to %q", by.Value)
	}
}

func FuzzEntry(f *testing.F) {
	for _, seed := range []string{
		"x", "", "a,b;c:d", `\n \,`, "x\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:y", "a\r\nATTENDEE:y", `x";CN="y`, "\x00\x7f\u0085\u2028", "\xff\xfe", "👩‍👩‍👧‍👦",
		strings.Repeat("ü", 75), " ", "\ufeff", "^n^'",
	} {
		f.Add(seed, seed, seed, "go@school.example")
		f.Add(seed, "", seed, seed)
	}
	f.Fuzz(func(t *testing.T, title, location, organiser, replyTo string) {
		checkTexts(t, title, location, organiser, replyTo)
	})
}

func TestEntry_names_the_organiser(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, organiser, replyTo, wantName, wantAddress string }{
		{"of the installation", "", "", "Lastseat", "mailto:hello@lastseat.example"},
		{"of the course", "Go School", "go@school.example", "Go School", "mailto:go@school.example"},
		{"with marks that end a parameter", "Smith; Sons: Partners, Ltd", "", "Smith; Sons: Partners, Ltd", "mailto:hello@lastseat.example"},
		{"with quotes, which a parameter cannot hold", `The "Best" O'School\`, "", `The 'Best' O'School\`, "mailto:hello@lastseat.example"},
		{"with line ends", "A\r\nATTENDEE:mailto:x@example.org", "", "A  ATTENDEE:mailto:x@example.org", "mailto:hello@lastseat.example"},
		{"with a long name", strings.Repeat("Ü", 200), "", strings.Repeat("Ü", 200), "mailto:hello@lastseat.example"},
		{"with an address that a URI quotes", "", "o'neil+go%x@school.example", "Lastseat", "mailto:o%27neil+go%25x@school.example"},
		{"of the installation, if the course's address is none", "", "x\r\nATTENDEE:y", "Lastseat", "mailto:hello@lastseat.example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := enrolment()
			e.For.Organiser, e.For.ReplyTo = test.organiser, test.replyTo
			_, event := parse(t, calendar.Entry(calendar.Publish, e, house, at))
			got := event.Props.Get("ORGANIZER")
			if got == nil || got.Value != test.wantAddress || got.Params.Get("CN") != test.wantName {
				t.Errorf("got %+v, want %q at %q", got, test.wantName, test.wantAddress)
			}
			if event.Props.Get("ATTENDEE") != nil {
				t.Error("there is an attendee, which a published entry must not have")
			}
		})
	}
	t.Run("without a name", func(t *testing.T) {
		t.Parallel()
		_, event := parse(t, calendar.Entry(calendar.Publish, enrolment(), calendar.Organiser{Address: "a@example.org"}, at))
		if got := event.Props.Get("ORGANIZER"); got.Value != "mailto:a@example.org" || len(got.Params) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}
