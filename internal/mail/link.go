package mail

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// links matches what mail programs turn into links, in a text prepared by
// linkable.
var links = regexp.MustCompile(`[@/\\]` + // addresses, paths, UNC names
	`|[^\s.]\.[\pL\pM\pN_-]*\pL[\pL\pM\pN_-]` + // label.label: a top-level domain has two letters or more …
	`|[^\s.]\.[\pL\pM\pN_-]+\pL` +
	`|\pN\.\pN+\.\pN+\.\pN` + // … and an IPv4 address four numbers
	`|::` + // an IPv6 address
	`|[\pL\pN][\pL\pN+.-]*:\S` + // mailto:x, host:port
	`|\+[\s().-]*\pN[\s().-]*\pN`) // +49

// mostDigits is how many digits a name may have without looking like a
// telephone number.
const mostDigits = 4

// lookalikes replaces slashes, dots and colons that NFKC leaves alone, but that
// people, and some browsers, read as the ASCII ones.
var lookalikes = strings.NewReplacer("\u2044", "/", "\u2215", "/", "\u2571", "/", "\u27cb", "/", "\u29f8", "/",
	"\u2216", `\`, "\u27cd", `\`, "\u29f5", `\`, "\u29f9", `\`,
	"\u3002", ".", "\ua4f8", ".", "\u0701", ".", "\u0702", ".", "\u2236", ":", "\ua789", ":", "\u02d0", ":")

// linkable tells whether a mail program could turn part of the text into a
// link, an address or a telephone number, with or without a scheme. Some
// innocent names are caught, such as St.Gallen, which reads as a domain.
// Initials (J.R.R. Tolkien) and abbreviations followed by a blank (Dr. Müller)
// are not.
func linkable(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1 // a program may leave them out
		}
		return r
	}, text)
	text = lookalikes.Replace(norm.NFKC.String(text))
	digits := 0
	for _, r := range text {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits > mostDigits || links.MatchString(text)
}
