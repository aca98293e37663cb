// Package mailsink is a mail server for development and tests. It accepts every
// message, delivers none, and shows them on a small web page. Tests can make it
// misbehave.
//
// It keeps what it has received in memory. It must not know what the messages
// are about, and it is never deployed.
//
//	mailsink.go  the sink: which messages it keeps, and how long
//	smtp.go      receiving messages
//	fault.go     misbehaving; conn.go: connections that can hang
//	parse.go     the parts of a message; header.go: its headers and encoded words
//	page.go      the page; events.go: live updates; api.go: the same for scripts
//	guard.go     which requests are answered, and what a browser may do with a message
package mailsink

import (
	"context"
	"crypto/rand"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The most messages and bytes that the sink keeps; it drops older messages. The
// bytes are those of the messages and of what was decoded from them.
const (
	maxMessages = 2000
	maxBytes    = 64 << 20
)

// Message is a message as it was received. Do not change its slices: the sink
// shares them.
type Message struct {
	Number     int // from 1, in order of arrival, never reused
	ReceivedAt time.Time
	From       string   // of the envelope: MAIL FROM; empty for a bounce
	To         []string // of the envelope: RCPT TO
	Raw        []byte   // unchanged, without SMTP's dot-stuffing
	Content
}

// Sink keeps messages. It is safe for concurrent use.
type Sink struct {
	// epoch distinguishes this sink from one that a page showed before a
	// restart.
	epoch string

	mu       sync.Mutex
	messages []Message // oldest first, numbers without a gap
	bytes    int       // in messages
	received int       // the number of the newest message, kept or not
	changed  chan struct{}
	fault    Fault
	healed   chan struct{} // closed when fault changes
}

// New returns an empty sink without a fault.
func New() *Sink {
	return &Sink{epoch: rand.Text(), changed: make(chan struct{}), healed: make(chan struct{})}
}

// Serve receives messages on mail until ctx ends, and shows them on page unless
// that is nil. It then closes all connections and both listeners and returns
// nil. The messages stay, and Serve can be called again.
func (s *Sink) Serve(ctx context.Context, mail, page net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.serveSMTP(ctx, mail) })
	if page != nil {
		g.Go(func() error { return s.servePage(ctx, page) })
	}
	return g.Wait()
}

// Messages returns the messages that are kept, oldest first.
func (s *Sink) Messages() []Message {
	return s.look().messages
}

// Await waits until enough returns true for the messages that are kept, oldest
// first. It calls enough at once and after every change. It returns false if
// ctx ends first.
func (s *Sink) Await(ctx context.Context, enough func([]Message) bool) bool {
	for {
		now := s.look()
		if enough(now.messages) {
			return true
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Clear removes all messages. Numbers continue.
func (s *Sink) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages, s.bytes = nil, 0
	s.announce()
}

// view is what the sink holds at an instant.
type view struct {
	messages []Message       // oldest first
	received int             // how many messages there ever were
	changed  <-chan struct{} // closed when the view is out of date
}

func (s *Sink) look() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{slices.Clone(s.messages), s.received, s.changed}
}

// first returns the number of the oldest message, or of the next message if
// none is kept.
func (v view) first() int { return v.received - len(v.messages) + 1 }

// find returns the message with the number. It returns false if that is not
// kept.
func (v view) find(number int) (Message, bool) {
	i := number - v.first()
	if i < 0 || i >= len(v.messages) {
		return Message{}, false
	}
	return v.messages[i], true
}

// keep adds a message, and drops old ones until it fits.
func (s *Sink) keep(from string, to []string, raw []byte) {
	m := Message{ReceivedAt: time.Now(), From: from, To: to, Raw: raw, Content: parse(raw)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received++
	m.Number = s.received
	s.messages = append(s.messages, m)
	s.bytes += m.size()
	for len(s.messages) > maxMessages || s.bytes > maxBytes && len(s.messages) > 1 {
		s.bytes -= s.messages[0].size()
		s.messages[0] = Message{} // lets its bytes be collected
		s.messages = s.messages[1:]
	}
	s.announce()
}

func (m Message) size() int { return len(m.Raw) + m.Content.size() }

// announce wakes all that wait for a change. The caller holds the lock.
func (s *Sink) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
