package enroll

import "fmt"

// SendError says why a mail was not sent. Its text holds nothing of the mail;
// Reply may, since servers quote addresses: it is for the organiser and must not
// be logged.
type SendError struct {
	// Code is MailRefused (for good), MailDeferred (this mail, for now),
	// Unavailable (the server takes no mail at all now) or Internal (a defect).
	Code   Code
	Status int    // the server's reply code, 0 = there was none
	Reply  string // the server's words, as they came
	// Unanswered tells that the whole mail was handed over and no answer came: it
	// may have been delivered.
	Unanswered bool
	Err        error // the cause, without a word of the server; nil if that is all
}

func (e *SendError) Error() string {
	text := string(e.Code)
	if e.Status != 0 {
		text += fmt.Sprintf(": the mail server answered %d", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }
