package enroll_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestParseSlug(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{
		"a", "7", "go", "go-basics-2026-09", "1-2-3", strings.Repeat("a", 64), "a-" + strings.Repeat("b", 62),
	} {
		t.Run("accepts "+slug, func(t *testing.T) {
			t.Parallel()
			if got, err := enroll.ParseSlug(slug); err != nil || got != slug {
				t.Errorf("got %q and %v", got, err)
			}
		})
	}
	for _, test := range []struct{ name, slug string }{
		{"nothing", ""},
		{"65 characters", strings.Repeat("a", 65)},
		{"capitals", "Go"},
		{"a hyphen alone", "-"},
		{"a hyphen at the beginning", "-go"},
		{"a hyphen at the end", "go-"},
		{"two hyphens in a row", "go--basics"},
		{"an underscore", "go_basics"},
		{"a dot", "go.basics"},
		{"a slash", "go/basics"},
		{"a colon, which ends a queue's prefix", "go:basics"},
		{"braces, which a cluster hashes by", "{go}"},
		{"a blank", "go basics"},
		{"blanks around", " go "},
		{"a line end", "go\n"},
		{"NUL", "go\x00"},
		{"a letter with a mark", "gö"},
		{"full-width letters", "ｇｏ"},
		{"other digits", "go٣"},
		{"the characters around the ranges", "/:`{"},
		{"invalid UTF-8", "go\xff"},
	} {
		t.Run("refuses "+test.name, func(t *testing.T) {
			t.Parallel()
			got, err := enroll.ParseSlug(test.slug)
			if f := fault(t, err); f.Field != "slug" || f.Code != "form" || got != "" {
				t.Errorf("got %q and %+v", got, f)
			}
		})
	}
}

func TestParseNewSlug(t *testing.T) {
	t.Parallel()
	const hex = "4e0a4f067ac74a1ca6a50f3b1f4f7f0e"
	for slug, accepted := range map[string]bool{
		"go-1":                                 true,
		hex[1:]:                                true,
		hex + "0":                              true,
		"g" + hex[1:]:                          true,
		"deadbeef":                             true,
		hex:                                    false,
		"4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e": false,
		"4e0a-4f067ac74a1ca6a50f3b1f4f7f0-e":   false,
		strings.Repeat("1", 32):                false,
		"Go":                                   false,
		"":                                     false,
	} {
		got, err := enroll.ParseNewSlug(slug)
		if (err == nil) != accepted || accepted && got != slug || !accepted && (got != "" || fault(t, err).Field != "slug") {
			t.Errorf("%q: got %q and %v", slug, got, err)
		}
	}
}

// The schema states the same rule with this expression.
func TestParseSlugAgreesWithTheExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slug := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune("abz019-")), rapid.SampledFrom([]rune("abz019-A_.é"))), 0, 67, -1).Draw(t, "slug")
		checkSlug(t, slug)
	})
}

var slugRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkSlug checks what holds for every text that a client may send as a slug.
func checkSlug(t rapid.TB, text string) {
	t.Helper()
	slug, err := enroll.ParseSlug(text)
	if want := slugRule.MatchString(text) && len(text) <= 64; (err == nil) != want {
		t.Errorf("ParseSlug(%q) says %v, the expression %t", text, err, want)
	}
	if err == nil && slug != text {
		t.Errorf("ParseSlug(%q) = %q", text, slug)
	}
	if err != nil {
		if f := fault(t, err); f.Field != "slug" || f.Code != "form" || slug != "" {
			t.Errorf("ParseSlug(%q) = %q, %+v", text, slug, f)
		}
	}
}

func FuzzParseSlug(f *testing.F) {
	for _, seed := range []string{"", "a", "go-1", "-", "go-", "go--1", "Go", "gö", "go\n", "go\x00", "\xff", strings.Repeat("a", 64), strings.Repeat("a-", 32) + "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSlug(t, text) })
}
