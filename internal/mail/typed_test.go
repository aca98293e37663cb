package mail_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mail"
)

// typed are texts that people do or might type.
var typed = map[string]string{
	"quotes":                    `Conan "the Librarian" O'Brien, ‘a’ „b“`,
	"commas and semicolons":     `Smith, Ada; B: C`,
	"an ampersand":              "Søn & Co. &amp; &lt;",
	"markup":                    `<b>Robert</b> </td><script>alert(1)</script> "><img src=x onerror=y>`,
	"joined emoji":              "👩‍👩‍👧‍👦 Family 🏳️‍🌈",
	"right-to-left text":        "محمد بن سلمان דָּוִד (Dave)",
	"a header":                  "Bcc: x@y.z",
	"an address":                "Ada <ada@y.z>, eve@y.z",
	"an encoded word":           "=?utf-8?q?Bcc=3A_x?= and =?utf-8?b?eA==?=",
	"200 umlauts":               strings.Repeat("ü", 200),
	"200 emoji":                 strings.Repeat("🦉", 200),
	"200 letters":               strings.Repeat("m", 200),
	"runs of blanks":            "a" + strings.Repeat(" ", 150) + "b  c",
	"template syntax":           "{{.}} {{.Title}} {{define \"x\"}} %s %!d $x",
	"a backslash and a percent": `C:\new 100% \"`,
	"dots, which SMTP stuffs":   ".\u00a0..",
	"a link":                    "https://evil.example/?a=b&c=d",
	"a label":                   "Course: x",
}

// broken are texts that come through no door for names. Titles, locations and
// organisers may be such.
var broken = map[string]string{
	"a header on a line of its own": "x\r\nBcc: x@y.z\r\n\r\nbody",
	"line ends of all kinds":        "a\nb\rc\u0085d\u2028e\u2029f\x0b\x0c",
	"other control characters":      "a\x00b\x1bc\x7f\td",
	"what is not UTF-8":             "a\xff\xfeb",
}

var mailboxes = map[string]string{
	"Ada.Lovelace+go@example.org":               "Ada.Lovelace+go@example.org",
	"o'neil+tag@straße.example":                 "o'neil+tag@xn--strae-oqa.example",
	"ada@müller.example":                        "ada@xn--mller-kva.example",
	"Ada@ＥＸＡＭＰＬＥ.org":                           "Ada@example.org",
	"!#$%&'*+-/=?^_`{|}~@xn--mller-kva.example": "!#$%&'*+-/=?^_`{|}~@xn--mller-kva.example",
	strings.Repeat("a", 64) + "@example.org":    strings.Repeat("a", 64) + "@example.org",
}

// line returns what becomes of a text: one line.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func blanks(s string) string { return strings.Join(strings.Fields(line(s)), " ") }

// holds checks that a mail is what it would be of harmless texts, with the
// texts in their places.
func holds(t *testing.T, m enroll.Mail) {
	t.Helper()
	harmless := mailOf(t, m.Kind, m.Language)
	m.To, harmless.To = address(t, m.To.Typed), m.To
	for i := range harmless.About { // what is a link is not shown as a name
		if mail.Linkable(string(m.About[i].Name)) {
			harmless.About[i].Name = ""
		}
	}
	got, model := receive(t, m), receive(t, harmless)
	if len(got.header) != len(model.header) {
		t.Errorf("got the headers %q", got.header)
	}
	for name, values := range got.header {
		if len(values) != 1 || len(model.header[name]) != 1 {
			t.Errorf("got the header %s with %q", name, values)
		}
	}
	if got.structure != model.structure {
		t.Errorf("got the parts %s, want %s", got.structure, model.structure)
	}
	if to := got.header.Get("To"); to != "<"+m.To.Mailbox()+">" {
		t.Errorf("the mail is to %q, want %s", to, m.To.Mailbox())
	}

	e, simple := m.About[0], harmless.About[0]
	if m.Kind != enroll.MailLinks && m.Kind != enroll.MailMistakenAddress {
		if from := got.address(t, "From"); from.Name != blanks(e.For.Organiser) || from.Address != "hello@lastseat.example" {
			t.Errorf("the mail is from %q, want %q", from, blanks(e.For.Organiser))
		}
	}
	texts := []string{simple.For.Title, line(e.For.Title), simple.For.Location, line(e.For.Location), simple.For.Organiser, line(e.For.Organiser)}
	if simple.Name != "" {
		texts = append(texts, string(simple.Name), line(string(e.Name)))
	}
	change := strings.NewReplacer(texts...)
	if subject, want := got.decoded(t, "Subject"), change.Replace(model.decoded(t, "Subject")); subject != want {
		t.Errorf("got the subject %q, want %q", subject, want)
	}
	if want := change.Replace(model.plain); got.plain != want {
		t.Errorf("got the text\n%s\nwant\n%s", got.plain, want)
	}
	if want := change.Replace(model.shown()); got.shown() != want {
		t.Errorf("the HTML shows\n%s\nwant\n%s", got.shown(), want)
	}
	if g, w := strings.Count(got.html, "<"), strings.Count(model.html, "<"); g != w {
		t.Errorf("the HTML has %d tags, want %d:\n%s", g, w, got.html)
	}
}

// says puts texts into every registration of a mail.
func says(m enroll.Mail, name enroll.Name, text string) enroll.Mail {
	title := m.About[0].For.Title
	for i := range m.About {
		e := &m.About[i]
		e.Name, e.For.Organiser = name, text
		if e.For.Location != "" {
			e.For.Location, e.LastTold.Schedule.Location = text, text
		}
		if e.For.Title == title {
			e.For.Title = text
		}
	}
	return m
}

func TestCompose_keeps_what_was_typed(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		for what, text := range typed {
			t.Run(what, func(t *testing.T) {
				name, err := enroll.ParseName(text)
				if err != nil {
					t.Fatal(err)
				}
				holds(t, says(mailOf(t, m.Kind, m.Language), name, text))
			})
		}
		for what, text := range broken {
			t.Run(what, func(t *testing.T) {
				holds(t, says(mailOf(t, m.Kind, m.Language), "Ada", text))
			})
		}
		for typed, mailbox := range mailboxes {
			t.Run("to "+typed, func(t *testing.T) {
				m := mailOf(t, m.Kind, m.Language)
				m.To = address(t, typed)
				if got := receive(t, m).header.Get("To"); got != "<"+mailbox+">" {
					t.Errorf("the mail is to %q, want %s", got, mailbox)
				}
			})
		}
	})
}
