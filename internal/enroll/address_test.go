package enroll_test

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// a63 is the longest label.
var a63 = strings.Repeat("a", 63)

// The domain longDomain and a local part of 64 bytes make an address of 254
// bytes; longIDN does so by its A-labels only. wide has 250 bytes as it is
// typed and much less as it is looked up.
var (
	longDomain = a63 + "." + a63 + "." + strings.Repeat("a", 57) + ".org"
	longIDN    = strings.Repeat("bücher.", 12) + strings.Repeat("a", 18) + ".de"
	longIDNKey = strings.Repeat("xn--bcher-kva.", 12) + strings.Repeat("a", 18) + ".de"
	wide       = strings.Repeat("ａ", 49) + "." + strings.Repeat("ａ", 33) + ".de"
	local64    = strings.Repeat("l", 64)
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, typed, key string }{
		{"a plain address", "ada@example.org", "ada@example.org"},
		{"the shortest address", "a@b.c", "a@b.c"},
		{"capitals as typed", "Ada.Lovelace@Example.ORG", "ada.lovelace@example.org"},
		{"a plus sign", "ada+go@example.org", "ada+go@example.org"},
		{"dots before the @", "a.d.a@example.org", "a.d.a@example.org"},
		{"every character of an atom", "aZ09!#$%&'*+-/=?^_`{|}~@example.org", "az09!#$%&'*+-/=?^_`{|}~@example.org"},
		{"hyphens at the ends before the @", "-ada-@example.org", "-ada-@example.org"},
		{"template syntax before the @", "{{ada}}@example.org", "{{ada}}@example.org"},
		{"64 bytes before the @", local64 + "@example.org", local64 + "@example.org"},
		{"254 bytes", local64 + "@" + longDomain, local64 + "@" + longDomain},
		{"254 bytes of A-labels", local64 + "@" + longIDN, local64 + "@" + longIDNKey},
		{"254 bytes typed, less in A-labels", "ada@" + wide, "ada@" + strings.Repeat("a", 49) + "." + strings.Repeat("a", 33) + ".de"},
		{"a label of 63 bytes as A-label", "ada@ü" + strings.Repeat("a", 55) + ".org", "ada@xn--" + strings.Repeat("a", 55) + "-oxf.org"},
		{"a label of 63 bytes", "ada@" + a63 + ".org", "ada@" + a63 + ".org"},
		{"a subdomain", "ada@a.b.c.example.org", "ada@a.b.c.example.org"},
		{"a hyphen inside a label", "ada@my-host.example", "ada@my-host.example"},
		{"labels that are numbers", "ada@1.2.example", "ada@1.2.example"},
		{"a top-level label with a digit", "ada@example.1a", "ada@example.1a"},
		{"an international domain", "ada@bücher.example", "ada@xn--bcher-kva.example"},
		{"an international domain in capitals", "Ada@BÜCHER.EXAMPLE", "ada@xn--bcher-kva.example"},
		{"an international domain decomposed", "ada@bu\u0308cher.example", "ada@xn--bcher-kva.example"},
		{"an international domain decomposed in capitals", "ada@BU\u0308CHER.example", "ada@xn--bcher-kva.example"},
		{"an international domain as A-label", "ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"},
		{"an A-label in capitals", "ada@XN--BCHER-KVA.EXAMPLE", "ada@xn--bcher-kva.example"},
		{"an international top-level label", "ada@אב.קום", "ada@xn--4dbc.xn--9dbq2a"},
		{"a sharp s, which is not ss", "ada@faß.example", "ada@xn--fa-hia.example"},
		{"ss, which is not a sharp s", "ada@fass.example", "ada@fass.example"},
		{"a final sigma, which is not a sigma", "ada@ς.example", "ada@xn--3xa.example"},
		{"a sigma in capitals", "ada@Σ.example", "ada@xn--4xa.example"},
		{"a dotless i, which is not an i", "ada@ı.example", "ada@xn--cfa.example"},
		{"full-width letters", "ada@ｅｘａｍｐｌｅ.org", "ada@example.org"},
		{"an ideographic full stop", "ada@example。org", "ada@example.org"},
		{"an emoji domain", "ada@☕.example", "ada@xn--53h.example"},
		{"an emoji domain with a selector", "ada@☕\ufe0f.example", "ada@xn--53h.example"},
		{"a joiner where a script needs it", "ada@क्\u200dष.example", "ada@xn--11b2ezcw70k.example"},
		{"a non-joiner where a script needs it", "ada@نامه\u200cای.example", "ada@xn--mgba3gch31f060k.example"},
	} {
		t.Run("accepts "+test.name, func(t *testing.T) {
			t.Parallel()
			want := enroll.Address{Typed: test.typed, Key: enroll.AddressKey(test.key)}
			if got, err := enroll.ParseAddress(test.typed); err != nil || got != want {
				t.Errorf("got %+v and %v, want %+v", got, err, want)
			}
		})
	}

	t.Run("removes blanks around an address", func(t *testing.T) {
		t.Parallel()
		want := enroll.Address{Typed: "Ada@example.org", Key: "ada@example.org"}
		if got, err := enroll.ParseAddress("\u3000\t Ada@example.org\u00a0\r\n"); err != nil || got != want {
			t.Errorf("got %+v and %v", got, err)
		}
	})

	for _, test := range []struct{ name, typed, code string }{
		{"nothing", "", "required"},
		{"blanks alone", " \t\r\n\u00a0\u3000", "required"},
		{"invalid UTF-8", "ada@ex\xffample.org", "invalid_text"},
		{"a surrogate", "ada\xed\xa0\x80@example.org", "invalid_text"},
		{"NUL", "ada\x00@example.org", "forbidden_character"},
		{"NUL at the end", "ada@example.org\x00", "forbidden_character"},
		{"a line end", "ada@example.org\r\nBcc: all@example.org", "forbidden_character"},
		{"a tab", "ada\t@example.org", "forbidden_character"},
		{"delete", "ada@exam\x7fple.org", "forbidden_character"},
		{"a line separator", "ada@exam\u2028ple.org", "forbidden_character"},
		{"a direction override", "ada@\u202egro.elpmaxe", "forbidden_character"},
		{"an isolate", "\u2066ada@example.org", "forbidden_character"},
		{"a zero-width space at the end", "ada@example.org\u200b", "forbidden_character"},
		{"a byte order mark at the beginning", "\ufeffada@example.org", "forbidden_character"},
		{"a soft hyphen", "ada@exam\u00adple.org", "forbidden_character"},
		{"a word joiner", "ada@exam\u2060ple.org", "forbidden_character"},
		{"a direction mark", "ada@example.org\u200e", "forbidden_character"},
		{"a combining grapheme joiner", "ada@exam\u034fple.org", "forbidden_character"},
		{"an empty Braille pattern", "ada@exam\u2800ple.org", "forbidden_character"},

		{"no @", "example.org", "form"},
		{"a full-width @", "ada＠example.org", "form"},
		{"nothing before the @", "@example.org", "form"},
		{"nothing after the @", "ada@", "form"},
		{"an @ alone", "@", "form"},
		{"two @", "ada@king@example.org", "form"},
		{"two @ at the end", "ada@example.org@", "form"},
		{"a blank before the @", "ada king@example.org", "form"},
		{"a blank after the @", "ada@exam ple.org", "form"},
		{"a display name", "Ada <ada@example.org>", "form"},
		{"angle brackets", "<ada@example.org>", "form"},
		{"a quoted local part", `"ada"@example.org`, "form"},
		{"a comment", "ada(king)@example.org", "form"},
		{"a backslash", `ad\a@example.org`, "form"},
		{"two addresses", "ada@example.org,bob@example.org", "form"},
		{"two addresses with a semicolon", "ada@example.org;bob@example.org", "form"},
		{"a scheme", "mailto:ada@example.org", "form"},
		{"a port", "ada@example.org:25", "form"},
		{"an address literal", "ada@[127.0.0.1]", "form"},
		{"an IPv6 literal", "ada@[IPv6:::1]", "form"},

		{"65 bytes before the @", local64 + "l@example.org", "too_long"},
		{"255 bytes", local64 + "@" + longDomain + "g", "too_long"},
		{"255 bytes of A-labels", local64 + "@" + longIDN + "v", "too_long"},
		{"255 bytes typed, less in A-labels", "adas@" + wide, "too_long"},
		{"a megabyte", strings.Repeat("a", 1<<20) + "@example.org", "too_long"},

		{"a dot at the beginning", ".ada@example.org", "local_part"},
		{"a dot before the @", "ada.@example.org", "local_part"},
		{"two dots in a row", "a..da@example.org", "local_part"},
		{"a dot alone before the @", ".@example.org", "local_part"},
		{"international letters before the @", "ädä@example.org", "local_part"},
		{"full-width letters before the @", "ａｄａ@example.org", "local_part"},
		{"a no-break space before the @", "a\u00a0da@example.org", "local_part"},

		{"a single label", "ada@localhost", "domain"},
		{"a dot at the end", "ada@example.org.", "domain"},
		{"a dot at the end of a single label", "ada@localhost.", "domain"},
		{"an ideographic full stop at the end", "ada@example.org。", "domain"},
		{"a dot after the @", "ada@.example.org", "domain"},
		{"two dots in the domain", "ada@example..org", "domain"},
		{"two dots at the end", "ada@example.org..", "domain"},
		{"a dot alone after the @", "ada@.", "domain"},
		{"an IPv4 address", "ada@127.0.0.1", "domain"},
		{"a numeric top-level label", "ada@example.123", "domain"},
		{"a full-width numeric top-level label", "ada@example.１２", "domain"},
		{"an Arabic numeric top-level label", "ada@example.١٢", "domain"},
		{"a label of 64 bytes", "ada@a" + a63 + ".org", "domain"},
		{"a label of 64 bytes as A-label", "ada@ü" + strings.Repeat("a", 56) + ".org", "domain"},
		{"an underscore in a label", "ada@my_host.example", "domain"},
		{"an underscore before a label", "ada@_dmarc.example", "domain"},
		{"a full-width underscore", "ada@my＿host.example", "domain"},
		{"a hyphen before a label", "ada@-example.org", "domain"},
		{"a hyphen after a label", "ada@example-.org", "domain"},
		{"a hyphen before the top-level label", "ada@example.-org", "domain"},
		{"a hyphen after the top-level label", "ada@example.org-", "domain"},
		{"hyphens where an A-label has them", "ada@ab--cd.example", "domain"},
		{"a percent sign in the domain", "ada@ex%61mple.org", "domain"},
		{"a slash in the domain", "ada@example.org/x", "domain"},
		{"a no-break space in the domain", "ada@exam\u00a0ple.org", "domain"},
		{"an ideographic space in the domain", "ada@exam\u3000ple.org", "domain"},
		{"a letter that maps to a slash", "ada@exa℀mple.org", "domain"},
		{"a Greek question mark, which is a semicolon", "ada@exam\u037eple.org", "domain"},
		{"a label that begins with a mark", "ada@\u0301x.org", "domain"},
		{"emoji joined", "ada@👩\u200d💻.example", "domain"},
		{"a joiner between Latin letters", "ada@exam\u200dple.org", "domain"},
		{"both directions in a label", "ada@אa.example", "domain"},
		{"an empty A-label", "ada@xn--.example", "domain"},
		{"an A-label of plain letters", "ada@xn--example-.org", "domain"},
		{"an A-label that does not decode", "ada@xn--zzzzzz99999.example", "domain"},
		{"an A-label that no domain encodes to", "ada@xn--a-ecp.ru", "domain"},
	} {
		t.Run("refuses "+test.name, func(t *testing.T) {
			t.Parallel()
			got, err := enroll.ParseAddress(test.typed)
			if f := fault(t, err); f.Code != test.code || f.Field != "email" || got != (enroll.Address{}) {
				t.Errorf("got %+v and %+v, want a fault %s of email", got, f, test.code)
			}
		})
	}
}

func TestBoundsAreWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	if n := len(local64 + "@" + longDomain); n != enroll.MaxAddress {
		t.Errorf("the longest plain address has %d bytes", n)
	}
	if n := len(local64 + "@" + longIDNKey); n != enroll.MaxAddress {
		t.Errorf("the key of the longest international address has %d bytes", n)
	}
	if n := len("ada@" + wide); n != enroll.MaxAddress {
		t.Errorf("the longest wide address has %d bytes", n)
	}
}
