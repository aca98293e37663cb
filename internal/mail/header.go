package mail

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPlainHeader is the longest text that stands in a header unencoded, in
// octets: with the name of the header it has to fit into a line of 998 (RFC
// 5322, 2.1.1), should it have no blank to fold at.
const maxPlainHeader = 900

// oneLine returns a text without line ends and control characters, which become
// blanks: it can make neither a header nor a line of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// displayName returns a name for an address header. Single blanks survive
// folding, several may not.
func displayName(s string) string {
	return strings.Join(strings.Fields(oneLine(s)), " ")
}

// headerText returns the value of a header that holds a text of one line
// (RFC 2047). The library encodes what is not ASCII; it leaves ASCII that looks
// like an encoded word, which readers would decode, and folds away blanks.
func headerText(s string) string {
	if ascii(s) && len(s) <= maxPlainHeader && !strings.Contains(s, "=?") && strings.Join(strings.Fields(s), " ") == s {
		return s
	}
	var words []string
	for s != "" {
		// In octets: 36 make a word of 60, which stays on the line of "Subject:". Before
		// a longer one the library ends the line, and readers see an empty subject.
		n := 0
		for n < len(s) {
			_, size := utf8.DecodeRuneInString(s[n:])
			if n+size > 36 {
				break
			}
			n += size
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return strings.Join(words, " ")
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
