package mailqueue

import (
	"errors"
	"strings"
	"unicode"

	"github.com/lastseat/lastseat/internal/enroll"
)

// problem returns what an organiser is told of a mail that was not sent: the
// mail server's words, or where it said nothing a plain sentence. What else is
// known, the log has.
func problem(e *enroll.SendError) string {
	if words := oneLine(e.Reply); words != "" {
		return words
	}
	switch e.Code {
	case enroll.Unavailable:
		return "the mail server cannot be reached"
	case enroll.MailDeferred:
		return "the mail server does not take this mail now"
	case enroll.MailRefused:
		return "the mail server does not take this mail"
	case enroll.Invalid:
		text := "the mail cannot be written until a value is corrected; have it sent again then"
		if cause, is := errors.AsType[*enroll.Error](e.Err); is && len(cause.Faults) > 0 {
			text += ": " + cause.Faults[0].Field + " " + cause.Faults[0].Detail
		}
		return oneLine(text)
	default:
		return "the mail cannot be written"
	}
}

// maxProblem is the longest problem, in runes. The outbox bounds it, too.
const maxProblem = 500

// oneLine returns what can be shown of a server's words.
func oneLine(words string) string {
	words = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(words, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
	if runes := []rune(words); len(runes) > maxProblem {
		words = strings.TrimRight(string(runes[:maxProblem]), " ")
	}
	return words
}
