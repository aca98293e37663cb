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

// The schema states the same rule with this expression.
func TestParseSlugAgreesWithTheExpression(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rapid.Check(t, func(t *rapid.T) {
		slug := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune("abz019-")), rapid.SampledFrom([]rune("abz019-A_.é"))), 0, 67, -1).Draw(t, "slug")
		_, err := enroll.ParseSlug(slug)
		if want := rule.MatchString(slug) && len(slug) <= 64; (err == nil) != want {
			t.Errorf("ParseSlug(%q) says %v, the expression %t", slug, err, want)
		}
	})
}
