package enroll_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// checkAddress checks what holds for every text that a client may send as an
// address, and tells whether it was accepted.
func checkAddress(t rapid.TB, typed string) bool {
	t.Helper()
	got, err := enroll.ParseAddress(typed)
	if err != nil {
		codes := []string{"required", "too_long", "invalid_text", "forbidden_character", "form", "local_part", "domain"}
		if f := fault(t, err); f.Field != "email" || !slices.Contains(codes, f.Code) || got != (enroll.Address{}) {
			t.Errorf("ParseAddress(%q) = %+v, %+v", typed, got, f)
		}
		return false
	}
	if got.Typed != strings.TrimSpace(typed) {
		t.Errorf("ParseAddress(%q) goes to %q", typed, got.Typed)
	}
	if again, err := enroll.ParseAddress(got.Typed); err != nil || again != got {
		t.Errorf("ParseAddress(%q) = %+v, again %+v, %v", typed, got, again, err)
	}
	key := string(got.Key)
	if again, err := enroll.ParseAddress(key); err != nil || again != (enroll.Address{Typed: key, Key: got.Key}) {
		t.Errorf("ParseAddress(%q) has the key %q, whose parse is %+v, %v", typed, key, again, err)
	}
	if strings.ContainsFunc(got.Typed, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		t.Errorf("%q holds a blank or a control character", got.Typed)
	}

	// A key is ASCII without capitals, and its domain is one a DNS server knows.
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r >= 'A' && r <= 'Z' }) {
		t.Errorf("the key of %q is %q", typed, key)
	}
	if len(key) > enroll.MaxAddress || len(got.Typed) > enroll.MaxAddress {
		t.Errorf("%q or its key %q is too long", got.Typed, key)
	}
	keyLocal, keyDomain, _ := strings.Cut(key, "@")
	labels := strings.Split(keyDomain, ".")
	if keyLocal == "" || len(keyLocal) > 64 || len(labels) < 2 || strings.Contains(keyDomain, "@") {
		t.Errorf("the key of %q is %q", typed, key)
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("the key of %q has the label %q", typed, label)
		}
	}

	// Other ways to type the same address have the same key. They may be too
	// long, or hold a refused character that composes to another.
	local, domain, _ := strings.Cut(got.Typed, "@")
	for _, other := range []string{
		strings.ToUpper(local) + "@" + domain,
		local + "@" + keyDomain,
		local + "@" + strings.ToUpper(keyDomain),
		local + "@" + norm.NFC.String(domain),
		local + "@" + norm.NFD.String(domain),
	} {
		if same, err := enroll.ParseAddress(other); err == nil && same.Key != got.Key {
			t.Errorf("%q has the key %q, but %q has %q", typed, key, other, same.Key)
		}
	}
	return true
}

// drawAddress draws what is often an address, and otherwise close to one.
func drawAddress(t *rapid.T) string {
	plain, odd := rapid.SampledFrom([]rune("abzABZ019")), rapid.SampledFrom([]rune("-ßüÜςΣıİéאבع٣ねー中ａｋ①☕💻ﬁ\u0301\u0308\u200c\u200d\ufe0f\u00ad"))
	mixed := rapid.OneOf(plain, plain, plain, odd)
	label := rapid.OneOf(rapid.StringOfN(plain, 1, 66, -1), rapid.StringOfN(mixed, 1, 66, -1))
	local := rapid.StringOfN(rapid.OneOf(plain, plain, rapid.SampledFrom([]rune("!#$%&'*+-/=?^_`{|}~."))), 1, 66, -1)
	dot := rapid.SampledFrom([]string{".", ".", ".", ".", ".", ".", "。", "．", "..", ""})
	var b strings.Builder
	b.WriteString(local.Draw(t, "local part") + "@")
	for range rapid.IntRange(1, 4).Draw(t, "labels") {
		if rapid.IntRange(0, 19).Draw(t, "kind of label") == 19 {
			b.WriteString("xn--")
		}
		b.WriteString(label.Draw(t, "label") + dot.Draw(t, "dot"))
	}
	b.WriteString(rapid.SampledFrom([]string{"org", "ORG", "рф", "РФ", "xn--p1ai", "XN--P1AI", "1", ""}).Draw(t, "top-level label"))
	return b.String()
}

func TestParsedAddressesCanBeUsed(t *testing.T) {
	t.Parallel()
	t.Run("of texts like addresses", func(t *testing.T) {
		t.Parallel()
		accepted := 0
		rapid.Check(t, func(t *rapid.T) {
			if checkAddress(t, drawAddress(t)) {
				accepted++
			}
		})
		if accepted == 0 {
			t.Error("no address was accepted: nothing was tested")
		}
	})
	t.Run("of any text", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { checkAddress(t, drawText(t)) })
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{
		"", "@", "ada@example.org", " Ada+x@Example.ORG\r\n", "a@b.c", "a..b@example.org", "ada@bücher.example", "ada@BU\u0308CHER.example",
		"ada@xn--bcher-kva.example", "ada@XN--BCHER-KVA.example", "ada@faß.example", "ada@אב.קום", "ada@☕\ufe0f.example", "ada@ｅｘａｍｐｌｅ。org",
		"ada@क्\u200dष.example", "ada@1.2.3.4", "ada@example.org.", "ada@[127.0.0.1]", "Ada <ada@example.org>", "ada@xn--.example",
		"ada@exam\u00adple.org", "ada@\u202eexample.org", "ada\x00@example.org", "ada@\xff.org", "ada@exam\u037eple.org", "ada@-a-.org",
		"ada@\u090d\u2137.example", // what the symbol is mapped to is a Hebrew letter
		local64 + "@" + longDomain, local64 + "@" + longIDN, "ada@" + wide,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) { checkAddress(t, typed) })
}
