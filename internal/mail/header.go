package mail

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPlainHeader is the longest text that a header holds unencoded, in octets.
// Without a blank to fold at, it must fit into a line of 998 with the header's
// name (RFC 5322, 2.1.1).
const maxPlainHeader = 900

// oneLine replaces line ends and control characters by blanks, so that a text
// cannot begin another line or another header.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// displayName returns a name for an address header. It joins runs of blanks,
// which folding may lose.
func displayName(s string) string {
	return strings.Join(strings.Fields(oneLine(s)), " ")
}

// headerText returns a one-line text as the value of a header (RFC 2047).
// go-mail encodes only text that is not ASCII. ASCII that looks like an encoded
// word would be decoded by readers, and runs of blanks would be lost in
// folding, so headerText encodes both itself.
func headerText(s string) string {
	if ascii(s) && len(s) <= maxPlainHeader && !strings.Contains(s, "=?") && strings.Join(strings.Fields(s), " ") == s {
		return s
	}
	var words []string
	for s != "" {
		// 36 octets make an encoded word of 60, which fits on the line of
		// "Subject:". Before a longer word go-mail ends the line, and some
		// readers see an empty subject.
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
