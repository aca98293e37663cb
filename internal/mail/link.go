package mail

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// links matches what mail programs make links of, in a text as it is compared:
// see linkable.
var links = regexp.MustCompile(`[@/\\]` + // addresses, paths, UNC names
	`|[^\s.]\.[\pL\pM\pN_-]*\pL[\pL\pM\pN_-]` + // label.label: a top-level domain has two letters or more …
	`|[^\s.]\.[\pL\pM\pN_-]+\pL` +
	`|\pN\.\pN+\.\pN+\.\pN` + // … and an IPv4 address four numbers
	`|::` + // an IPv6 address
	`|[\pL\pN][\pL\pN+.-]*:\S` + // mailto:x, host:port
	`|\+[\s().-]*\pN[\s().-]*\pN`) // +49

// mostDigits is how many digits a name may have: fewer are no telephone number.
const mostDigits = 4

// slashes and dots are read as the ASCII ones beyond what NFKC makes those of:
// some by browsers, all by people.
var lookalikes = strings.NewReplacer("\u2044", "/", "\u2215", "/", "\u2571", "/", "\u27cb", "/", "\u29f8", "/",
	"\u2216", `\`, "\u27cd", `\`, "\u29f5", `\`, "\u29f9", `\`,
	"\u3002", ".", "\ua4f8", ".", "\u0701", ".", "\u0702", ".", "\u2236", ":", "\ua789", ":", "\u02d0", ":")

// linkable tells whether the text holds anything that a mail program would make
// a link, an address to write to or a number to call of, whether it has a scheme
// or not. Some names go with that: St.Gallen is read as a domain. Initials
// (J.R.R. Tolkien), and abbreviations with a blank behind (Dr. Müller), are not.
func linkable(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1 // which a program may leave out
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
