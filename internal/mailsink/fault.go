package mailsink

import (
	"slices"

	"github.com/emersion/go-smtp"
)

// Fault is how the sink misbehaves. The zero Fault is good behaviour.
type Fault struct {
	Mail *Reply // what every MAIL gets
	Rcpt *Reply // what every RCPT gets, or those that For names
	Data *Reply // what every message gets after its final dot, or those to one of whom For names; it is not kept

	// For limits Rcpt and Data to the recipients it returns true for. Nil means
	// everybody.
	For func(recipient string) bool

	// Hang accepts connections and answers nothing on any of them.
	Hang bool
	// HangAfterData keeps a message and does not answer its final dot: the
	// sender cannot know whether it has arrived.
	HangAfterData bool
}

// Reply is the answer of a mail server that refuses: 4xx for now, 5xx for good.
type Reply struct {
	Code int
	Text string
}

// Misbehave makes the sink behave by f from now on. Those who hang go on as
// soon as there is a fault by which they would not.
func (s *Sink) Misbehave(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
	close(s.healed)
	s.healed = make(chan struct{})
}

// misbehaviour returns the fault, and what is closed when it changes.
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
