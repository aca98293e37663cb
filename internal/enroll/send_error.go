package enroll

import "fmt"

// SendError says why a mail was not sent. Its text holds nothing from the mail.
// Reply may, since servers quote addresses: it is for the organiser, and must
// not be logged.
type SendError struct {
	// Code is MailRefused (for good), MailDeferred (this mail, for now),
	// Unavailable (the server takes no mail at all now) or Internal (a defect).
	Code   Code
	Status int    // the server's reply code; 0 = the server did not reply
	Reply  string // the server's words, unchanged
	// Unanswered tells that the server got the whole mail and did not answer,
	// so it may have been delivered.
	Unanswered bool
	Err        error // the cause, without the server's words; nil if the reply is all there is
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
