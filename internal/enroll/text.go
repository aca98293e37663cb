package enroll

import (
	"strings"
	"unicode"
)

const (
	forbiddenDetail = "must not contain control characters or characters that change the direction of text"
	invisibleDetail = "must contain a visible character"
)

// CheckLine returns an error of code Invalid whose fault names the field,
// unless the text is empty or a single line that mails, calendars and pages can
// show.
func CheckLine(field, s string) error {
	switch {
	case strings.ContainsFunc(s, forbidden):
		return FaultIn(field, Invalid, "forbidden_character", forbiddenDetail)
	case s != "" && !strings.ContainsFunc(s, visible):
		return FaultIn(field, Invalid, "invisible", invisibleDetail)
	}
	return nil
}

// CheckLines is CheckLine for a text of several lines, which may also hold
// tabs.
func CheckLines(field, s string) error {
	return CheckLine(field, strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(s))
}

// forbidden tells whether a rune can break a line, a header or a terminal, or
// make text read as something else. Joiners stay legal, because scripts and
// emoji need them. Unicode TR36, 3.2 lists the direction controls.
func forbidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return false
}
