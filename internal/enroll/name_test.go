package enroll_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// fault returns the only fault of a refusal.
func fault(t rapid.TB, err error) enroll.Fault {
	t.Helper()
	e, ok := errors.AsType[*enroll.Error](err)
	if !ok || e.Code != enroll.Invalid || len(e.Faults) != 1 {
		t.Fatalf("got %v, want an error of code invalid with one fault", err)
	}
	if e.Faults[0].Detail == "" {
		t.Errorf("the fault %+v has no detail for people", e.Faults[0])
	}
	return e.Faults[0]
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, typed string }{
		{"a plain name", "Ada Lovelace"},
		{"one letter", "X"},
		{"a digit", "7"},
		{"quotes, apostrophes and an ampersand", `Conan "the Librarian" O'Brien & Søn`},
		{"typographic quotes", "Siobhán O’Brien „Mo“"},
		{"markup", "<b>Robert</b>'); DROP TABLE users;--"},
		{"template syntax", "{{.Name}} ${name} %s {% raw %} #{1+1}"},
		{"a spreadsheet formula", `=HYPERLINK("x")`},
		{"an address", "Ada <ada@example.org>"},
		{"an emoji joined from several", "👩‍👩‍👧‍👦 Family"},
		{"an emoji with a skin tone and a selector", "Ada 🏳️‍🌈👍🏽"},
		{"a flag made of tags", "Ada 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"},
		{"combining marks", "Zoe\u0308 a\u0301\u0302\u0303\u0304"},
		{"letters not normalised", "Zo\u00eb Zoe\u0308"},
		{"Arabic", "محمد بن سلمان"},
		{"Hebrew", "דָּוִד בֶּן־גּוּרִיּוֹן"},
		{"Hebrew and Latin", "David דוד Ben"},
		{"a direction mark, which overrides nothing", "דוד\u200f (Dave)\u200e"},
		{"Persian with a non-joiner", "علی\u200cرضا"},
		{"Devanagari", "श्रीमान"},
		{"Han beyond the first plane", "𠮷野家"},
		{"several blanks inside", "Ada  King\u00a0of\u3000Lovelace"},
		{"a byte order mark before letters", "\ufeffAda"},
		{"a soft hyphen", "Love\u00adlace"},
		{"a replacement character", "Ad\ufffda"},
		{"200 letters", strings.Repeat("a", 200)},
		{"200 runes of four bytes", strings.Repeat("𠮷", 200)},
	} {
		t.Run("keeps "+test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := enroll.ParseName(test.typed); err != nil || string(got) != test.typed {
				t.Errorf("got %q and %v, want %q", got, err, test.typed)
			}
		})
	}

	for _, test := range []struct{ name, typed string }{
		{"blanks", "  Ada  "},
		{"a line end", "Ada\r\n"},
		{"tabs and vertical tabs", "\t\v\fAda\t\v\f"},
		{"wide blanks and separators", "\u00a0\u2003\u3000\u0085Ada\u2028\u2029"},
	} {
		t.Run("removes around a name "+test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := enroll.ParseName(test.typed); err != nil || got != "Ada" {
				t.Errorf("got %q and %v", got, err)
			}
		})
	}

	t.Run("counts what is left without blanks", func(t *testing.T) {
		t.Parallel()
		typed := strings.Repeat("é", 200)
		if got, err := enroll.ParseName(" " + typed + " "); err != nil || string(got) != typed {
			t.Errorf("got %q and %v", got, err)
		}
	})

	for _, test := range []struct{ name, typed, code string }{
		{"nothing", "", "required"},
		{"blanks alone", " \t\r\n\u00a0\u3000\u2028", "required"},
		{"201 letters", strings.Repeat("a", 201), "too_long"},
		{"201 runes of four bytes", strings.Repeat("𠮷", 201), "too_long"},
		{"201 runes that show 101", strings.Repeat("e\u0301", 100) + "e", "too_long"},
		{"invalid UTF-8", "Ad\xff", "invalid_text"},
		{"a cut rune", "Ad\xc3", "invalid_text"},
		{"a surrogate", "Ad\xed\xa0\x80", "invalid_text"},
		{"an overlong NUL", "Ad\xc0\x80", "invalid_text"},
		{"NUL", "Ada\x00Lovelace", "forbidden_character"},
		{"NUL at the end", "Ada\x00", "forbidden_character"},
		{"a line feed", "Ada\nBcc: all@example.org", "forbidden_character"},
		{"a carriage return", "Ada\rLovelace", "forbidden_character"},
		{"a line end", "Ada\r\nSubject: x", "forbidden_character"},
		{"a tab", "Ada\tLovelace", "forbidden_character"},
		{"an escape", "Ada\x1b[31m", "forbidden_character"},
		{"delete", "Ada\x7f", "forbidden_character"},
		{"a C1 control", "Ada\u009bLovelace", "forbidden_character"},
		{"next line", "Ada\u0085Lovelace", "forbidden_character"},
		{"a line separator", "Ada\u2028Lovelace", "forbidden_character"},
		{"a paragraph separator", "Ada\u2029Lovelace", "forbidden_character"},
		{"an embedding to the left", "Ada\u202aLovelace", "forbidden_character"},
		{"a direction override", "Ada\u202eecalevol", "forbidden_character"},
		{"an isolate", "Ada\u2066Lovelace", "forbidden_character"},
		{"the end of an isolate", "Ada\u2069", "forbidden_character"},
		{"a zero-width space alone", "\u200b", "invisible"},
		{"zero-width characters alone", "\u200b\u200c\u200d\u2060\ufeff\u200e", "invisible"},
		{"a soft hyphen alone", "\u00ad", "invisible"},
		{"a combining mark alone", "\u0301", "invisible"},
		{"a variation selector alone", "\ufe0f", "invisible"},
		{"a Hangul filler alone", "\u3164", "invisible"},
		{"the other Hangul fillers alone", "\u115f\u1160 \uffa0", "invisible"},
		{"an empty Braille pattern alone", "\u2800", "invisible"},
		{"a private character alone", "\ue000", "invisible"},
	} {
		t.Run("refuses "+test.name, func(t *testing.T) {
			t.Parallel()
			got, err := enroll.ParseName(test.typed)
			if f := fault(t, err); f.Code != test.code || f.Field != "name" || got != "" {
				t.Errorf("got %q and %+v, want a fault %s of name", got, f, test.code)
			}
		})
	}
}

// checkName checks what holds for every text that a client may send as a name.
func checkName(t rapid.TB, typed string) {
	t.Helper()
	got, err := enroll.ParseName(typed)
	if err != nil {
		codes := []string{"required", "too_long", "invalid_text", "forbidden_character", "invisible"}
		if f := fault(t, err); f.Field != "name" || !slices.Contains(codes, f.Code) || got != "" {
			t.Errorf("ParseName(%q) = %q, %+v", typed, got, f)
		}
		return
	}
	name := string(got)
	if name != strings.TrimSpace(typed) {
		t.Errorf("ParseName(%q) = %q", typed, name)
	}
	if again, err := enroll.ParseName(name); err != nil || again != got {
		t.Errorf("ParseName(%q) = %q, %v", name, again, err)
	}
	if n := utf8.RuneCountInString(name); !utf8.ValidString(name) || n < 1 || n > enroll.MaxName {
		t.Errorf("%q has %d runes or is not valid", name, n)
	}
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r) {
			t.Errorf("%q has %U", name, r)
		}
	}
}

// drawText draws text that is often near a rule.
func drawText(t *rapid.T) string {
	near := rapid.SampledFrom([]rune("aZ9 .-@'\"<&\t\r\n\x00\x7f\u0085\u00a0\u00ad\u0301\u2028\u200b\u200d\u202e\u2069\u3000\u3164\ufe0f\ufeffßüΣדم👩𠮷"))
	return rapid.StringOfN(rapid.OneOf(near, rapid.Rune()), -1, 210, -1).Draw(t, "text")
}

func TestParsedNamesCanBeUsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkName(t, drawText(t)) })
}

func FuzzParseName(f *testing.F) {
	for _, seed := range []string{
		"", " ", "Ada Lovelace", " Ada\r\n", "O'Brien & \"Søn\"", "{{.}}", "👩‍👩‍👧‍👦", "Zoe\u0308", "محمد", "דוד\u200f", "\u202eAda", "Ada\x00",
		"Ada\r\nBcc: x", "a\u2028b", "\ufeffAda", "\xff", "\u200b", "\u3164", strings.Repeat("é", 200), strings.Repeat("é", 201),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) { checkName(t, typed) })
}
