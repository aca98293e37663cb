// Package mailsink is the mail server of a developer's machine and of tests: it
// accepts every message for everybody, delivers none of them, and shows them on
// a small web page. It can be told to misbehave.
//
// It owns what it has received, in memory only. It must not know what the
// messages are about, and it is never part of a deployment.
//
//	mailsink.go  the sink: what is kept, and for how long
//	smtp.go      how messages come in
//	fault.go     misbehaving; conn.go: connections that can hang
//	parse.go     what is in a message; header.go: its headers and words
//	page.go      the page; events.go: what keeps it live; api.go: the same for scripts
//	guard.go     who may look, and what a browser may do with what it gets
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

// What is kept; older messages go. The bytes are those of the messages as they
// came and of what was decoded from them.
const (
	maxMessages = 2000
	maxBytes    = 64 << 20
)

// Message is one message as it was received. Slices are shared with the sink
// and must not be changed.
type Message struct {
	Number     int // from 1, in the order of arrival, never used twice
	ReceivedAt time.Time
	From       string   // of the envelope: MAIL FROM; empty for a bounce
	To         []string // of the envelope: RCPT TO
	Raw        []byte   // exactly as it came, without the dots of the transfer
	Content
}

// Sink keeps messages. It is safe for concurrent use.
type Sink struct {
	// epoch tells this sink from one that a page was showing before a restart.
	epoch string

	mu       sync.Mutex
	messages []Message // oldest first, numbers without a gap
	bytes    int       // in messages
	received int       // the number of the newest message ever
	changed  chan struct{}
	fault    Fault
	healed   chan struct{} // closed when fault changes
}

// New returns an empty sink that behaves.
func New() *Sink {
	return &Sink{epoch: rand.Text(), changed: make(chan struct{}), healed: make(chan struct{})}
}

// Serve receives messages on mail and shows them on page, if that is not nil,
// until ctx ends. It then cuts all connections, closes both listeners and
// returns nil. What was received stays, and Serve may be called again.
func (s *Sink) Serve(ctx context.Context, mail, page net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.serveSMTP(ctx, mail) })
	if page != nil {
		g.Go(func() error { return s.servePage(ctx, page) })
	}
	return g.Wait()
}

// Messages returns what is kept, oldest first.
func (s *Sink) Messages() []Message {
	return s.look().messages
}

// Await returns true as soon as enough says so of the messages that are kept,
// oldest first, and false if ctx ends before that. It asks at once and again
// after every change.
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

// Clear forgets all messages. The next one has the next number.
func (s *Sink) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages, s.bytes = nil, 0
	s.announce()
}

// view is what the sink holds at one moment.
type view struct {
	messages []Message       // oldest first
	received int             // how many there ever were
	changed  <-chan struct{} // closed when the view is out of date
}

func (s *Sink) look() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{slices.Clone(s.messages), s.received, s.changed}
}

// first is the number of the oldest message, or of the next if there is none.
func (v view) first() int { return v.received - len(v.messages) + 1 }

// find returns the message with the number, or false if it is not kept.
func (v view) find(number int) (Message, bool) {
	i := number - v.first()
	if i < 0 || i >= len(v.messages) {
		return Message{}, false
	}
	return v.messages[i], true
}

// keep takes a message in, and lets old ones go until it fits.
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
		s.messages[0] = Message{} // its bytes are not to be held by the array
		s.messages = s.messages[1:]
	}
	s.announce()
}

func (m Message) size() int { return len(m.Raw) + m.Content.size() }

// announce wakes everybody who waits for a change. It needs the lock.
func (s *Sink) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
