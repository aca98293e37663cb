package mailsink_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// event is one server-sent event.
type event struct{ name, id, data string }

// follow reads the events after an id until the test or the sink ends.
func (s *server) follow(after string) <-chan event {
	s.t.Helper()
	if after == "" {
		after = s.newest()
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.page+"/events?after="+url.QueryEscape(after), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		s.t.Fatalf("the events are %s: %s", kind, answer.Status)
	}
	events := make(chan event, 100)
	s.t.Cleanup(func() { // the test's context has ended, and the body with it
		for range events {
		}
	})
	go func() {
		defer close(events)
		defer answer.Body.Close()
		var e event
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data += value + "\n"
			case "":
				events <- e
				e = event{}
			default:
				s.t.Errorf("unexpected line: %q", lines.Text())
			}
		}
	}()
	return events
}

// newest returns the id from which a page that is loaded now continues.
func (s *server) newest() string {
	s.t.Helper()
	m := regexp.MustCompile(`data-newest="([^"]+)"`).FindStringSubmatch(s.get("/"))
	if m == nil {
		s.t.Fatal("the list has no id of its newest message")
	}
	return m[1]
}

func TestNewMessagesComeToThePageThatIsOpen(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("Subject: old\n\n")
	events := s.follow("")
	if e := <-events; e.name != "first" || e.data != "1\n" {
		t.Fatalf("first of all: %+v", e)
	}
	s.receive("From: Ada <ada@example.org>\nSubject: <new>\n\nHello")
	e := <-events
	if e.name != "messages" || !strings.Contains(e.data, `href="/messages/2"`) || !strings.Contains(e.data, "&lt;new&gt;") {
		t.Errorf("a message arrives: %+v", e)
	}
	if strings.Contains(e.data, "old") {
		t.Error("a message that the page has comes again")
	}
	s.receive("Subject: newer\n\n")
	if e := <-events; !strings.Contains(e.data, "newer") || strings.Contains(e.data, "&lt;new&gt;") {
		t.Errorf("another one: %+v", e)
	}
}

func TestAPageThatLostTheConnectionGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	s := start(t)
	after := s.newest()
	for i := range 3 {
		s.receive(fmt.Sprintf("Subject: missed %d\n\n", i+1))
	}
	events := s.follow(after)
	<-events // first
	e := <-events
	at := func(n int) int { return strings.Index(e.data, fmt.Sprintf("missed %d", n)) }
	if at(3) < 0 || at(3) > at(2) || at(2) > at(1) {
		t.Errorf("messages do not come newest first: %+v", e)
	}
	events = s.follow(e.id)
	<-events // first
	s.receive("Subject: next\n\n")
	if e := <-events; !strings.Contains(e.data, "next") || strings.Contains(e.data, "missed") {
		t.Errorf("after its id: %+v", e)
	}
}

func TestAClearedListIsClearedOnEveryPage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("Subject: x\n\n")
	s.receive("Subject: y\n\n")
	events := s.follow("")
	<-events // first
	s.Clear()
	if e := <-events; e.name != "first" || e.data != "3\n" {
		t.Errorf("after clearing: %+v", e)
	}
}

func TestAPageOfASinkBeforeARestartIsLoadedAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, after := range []string{"another.0", "another.7", "x", "7"} {
		if e := <-s.follow(after); e.name != "other" {
			t.Errorf("after %q: %+v", after, e)
		}
	}
}

func TestAFloodComesInBatches(t *testing.T) {
	t.Parallel()
	s := start(t)
	events := s.follow("")
	<-events // first
	c := s.dial()
	const flood = 500
	for i := range flood {
		deliver(t, c, "ada@example.org", fmt.Sprintf("Subject: %d\n\n", i))
	}
	rows, batches := 0, 0
	for rows < flood {
		rows += strings.Count((<-events).data, "<li")
		batches++
	}
	if rows != flood || batches > flood/5 {
		t.Errorf("%d rows in %d batches", rows, batches)
	}
}

func TestASubjectCannotWriteEvents(t *testing.T) {
	t.Parallel()
	s := start(t)
	events := s.follow("")
	<-events // first
	s.receive("Subject: =?utf-8?q?x=0Devent:_other=0D=0Adata:_y=0A=0Aevent:_other?=\nFrom: =?utf-8?q?=0D=0D?=\n\n")
	s.receive("Subject: next\n\n")
	for range 2 { // two batches, or one with both
		e := <-events
		if e.name != "messages" || strings.Contains(e.data, "\r") {
			t.Fatalf("got %+v", e)
		}
		if strings.Contains(e.data, "next") {
			return
		}
	}
	t.Error("the next message does not come")
}

func TestASinkStopsWhilePagesAreOpen(t *testing.T) {
	t.Parallel()
	s := start(t)
	events := s.follow("")
	<-events // first
	s.stop()
	for e := range events { // ends
		t.Errorf("while stopping: %+v", e)
	}
}
