package mailsink

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// eventPause is the pause between two batches, so that a flood of messages does
// not become a flood of events.
const eventPause = 100 * time.Millisecond

// events streams the changes after the event id in ?after=, until the client is
// gone:
//
//	messages  rows of the list, newest first; continue from its id
//	first     the number of the oldest message that is kept: remove the rows below it
//	other     the id is another sink's: load the page again
func (s *Sink) events(w http.ResponseWriter, r *http.Request) {
	after, ok := s.eventNumber(r.FormValue("after"))
	stream := eventStream{w, http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	if !ok {
		_ = stream.send("other", "", "")
		return
	}
	first := 0
	for {
		now := s.look()
		if now.first() != first {
			first = now.first()
			if stream.send("first", "", strconv.Itoa(first)) != nil {
				return // the client is gone
			}
		}
		if now.received > after {
			fresh := now.messages[max(0, after+1-first):]
			slices.Reverse(fresh)
			after = now.received
			if stream.sendRows(s.eventID(after), fresh) != nil {
				return
			}
		}
		select {
		case <-now.changed:
		case <-r.Context().Done():
			return
		}
		select {
		case <-time.After(eventPause):
		case <-r.Context().Done():
			return
		}
	}
}

// eventID names a position in the stream of this sink.
func (s *Sink) eventID(number int) string { return s.epoch + "." + strconv.Itoa(number) }

func (s *Sink) eventNumber(id string) (int, bool) {
	epoch, number, _ := strings.Cut(id, ".")
	n, err := strconv.Atoi(number)
	return n, err == nil && n >= 0 && epoch == s.epoch
}

type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (e eventStream) sendRows(id string, messages []Message) error {
	var rows bytes.Buffer
	for _, m := range messages {
		if err := templates.ExecuteTemplate(&rows, "row", m); err != nil {
			return err
		}
	}
	return e.send("messages", id, rows.String())
}

// send writes an event. It fails if the client does not read it within seconds.
func (e eventStream) send(name, id, data string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	fmt.Fprintf(e.w, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(e.w, "id: %s\n", id)
	}
	// A carriage return also ends a line of the stream, and anybody can write a
	// subject.
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", " "), "\n") {
		fmt.Fprintf(e.w, "data: %s\n", line)
	}
	fmt.Fprint(e.w, "\n")
	return e.control.Flush()
}
