package mailsink

import (
	"slices"

	"github.com/emersion/go-smtp"
)

// Fault is how the sink misbehaves. The zero Fault is no fault.
type Fault struct {
	Mail *Reply // the answer to every MAIL
	Rcpt *Reply // the answer to every RCPT that For selects
	Data *Reply // the answer to the final dot of every message that For selects, which is not kept

	// For selects recipients for Rcpt and Data. Nil selects all.
	For func(recipient string) bool

	// Hang accepts connections but answers nothing.
	Hang bool
	// HangAfterData keeps a message but does not answer its final dot, so the
	// sender cannot know whether it has arrived.
	HangAfterData bool
}

// Reply is a refusal by a mail server: 4xx for now, 5xx for good.
type Reply struct {
	Code int
	Text string
}

// Misbehave sets the sink's fault. Connections that hang continue as soon as
// the fault no longer makes them hang.
func (s *Sink) Misbehave(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
	close(s.healed)
	s.healed = make(chan struct{})
}

// misbehaviour returns the fault, and a channel that is closed when it changes.
func (s *Sink) misbehaviour() (Fault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault, s.healed
}

func (f Fault) concerns(recipients ...string) bool {
	return f.For == nil || slices.ContainsFunc(recipients, f.For)
}

func (r *Reply) refusal() error {
	return &smtp.SMTPError{Code: r.Code, EnhancedCode: smtp.EnhancedCode{r.Code / 100, 0, 0}, Message: r.Text}
}
