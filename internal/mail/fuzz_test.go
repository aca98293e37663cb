package mail_test

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzCompose looks for texts that leave their place: into another header,
// another part or a tag.
func FuzzCompose(f *testing.F) {
	for _, texts := range []map[string]string{typed, broken} {
		for _, text := range texts {
			f.Add(text, text, text, "o'neil+tag@straße.example")
		}
	}
	f.Add("Ada", "x", "x", "ada@example.org")
	f.Fuzz(func(t *testing.T, person, text, other, to string) {
		m := mailOf(t, enroll.MailConfirmed, enroll.English)
		// Only values that validation and the database let in.
		a, err := enroll.ParseAddress(to)
		if err != nil {
			a = m.To
		}
		name, err := enroll.ParseName(person)
		if err != nil {
			name = m.About[0].Name
		}
		m.To, m.About[0].Name = a, name
		m.About[0].For.Title, m.About[0].For.Location, m.About[0].For.Organiser = bounded(text), bounded(other), bounded(other+text)
		holds(t, m)
	})
}

// bounded returns a text of 1 to 200 runes with a visible character.
func bounded(s string) string {
	if blanks(s) == "" {
		return "x"
	}
	runes := []rune(strings.ToValidUTF8(s, "\ufffd"))
	return string(runes[:min(len(runes), 200)])
}
