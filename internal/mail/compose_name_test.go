package mail_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestCompose_greets_nobody_by_the_name_of_another(t *testing.T) {
	t.Parallel()
	m := mailOf(t, enroll.MailLinks, enroll.German)
	m.About[1].Name = "Charles Babbage"
	got := receive(t, m)
	if !strings.HasPrefix(got.plain, "Guten Tag,\n") {
		t.Errorf("got\n%s", got.plain)
	}
	for _, name := range []string{"Name: Ada Lovelace\n", "Name: Charles Babbage\n"} {
		if !strings.Contains(got.plain, name) {
			t.Errorf("%q is missing in\n%s", name, got.plain)
		}
	}
}

func TestCompose_shows_no_name_that_is_a_link(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Win 1000 EUR at evil.example.com": "", "bit.example/3xyz": "", "x@evil.example": "", "paypa1.example/pay or call +49 30 1234567": "",
		"Win at https://evil.example/x": "", "例え。テスト": "", "evil／x": "", "call 0900 123456": "",
		"Ada Lovelace": " Ada Lovelace", "J.R.R. Tolkien": " J.R.R. Tolkien", "Dr. Ada: Countess": " Dr. Ada: Countess", "李小龍": " 李小龍",
	} {
		eachMail(t, func(t *testing.T, m enroll.Mail) {
			for i := range m.About {
				m.About[i].Name = enroll.Name(name)
			}
			got := receive(t, m)
			if strings.Contains(got.decoded(t, "Subject"), name) {
				t.Errorf("the subject names %q", name)
			}
			if m.Kind == enroll.MailMistakenAddress {
				if strings.Contains(got.plain, name) || strings.Contains(got.shown(), name) {
					t.Errorf("%q is shown in\n%s", name, got.plain)
				}
				return
			}
			greeting, _, _ := strings.Cut(got.plain, ",\n\n")
			if _, greeted, _ := strings.Cut(greeting, map[enroll.Language]string{enroll.English: "Hello", enroll.German: "Guten Tag"}[m.Language]); greeted != want {
				t.Errorf("%q is greeted as %q", name, greeted)
			}
			if want == "" && (strings.Contains(got.plain, name) || strings.Contains(got.shown(), name)) {
				t.Errorf("%q is shown in\n%s", name, got.plain)
			}
		})
	}
}

// TestCompose_goes_on_after_the_greeting checks that in German the text after
// the greeting's comma begins in lower case, unless its first word is always
// capitalised.
func TestCompose_goes_on_after_the_greeting(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		if m.Language != enroll.German {
			return
		}
		_, text, _ := strings.Cut(receive(t, m).plain, ",\n\n")
		word := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })[0]
		first, _ := utf8.DecodeRuneInString(word)
		if !unicode.IsLower(first) && word != "Sie" && !strings.HasPrefix(word, "Ihr") && word != "Ihnen" {
			t.Errorf("the greeting goes on with %q", word)
		}
	})
}
