package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/testwait"
)

func TestTimingStop_lets_everybody_go_with_an_answer(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail)
	tag := s.get(r.Links.Self).header.Get("ETag")
	before := s.reads.ids.Load()
	answers := inTheBackground(
		func() answer { return s.get(r.Links.Self + "?wait=25") },
		func() answer { return s.poll(r.Links.Self+"?wait=25", tag) },
	)
	testwait.Until(t, "both are held", func() bool { return s.reads.ids.Load() == before+2 })
	stopping := time.Now()
	s.end()
	held := answers()
	held[0].expect(http.StatusOK)
	held[1].expect(http.StatusNotModified)
	testwait.Promised(t, "an answer to those who are held", time.Since(stopping), 5*time.Second)
	if held[0].registration().Status != "queued" {
		t.Errorf("it is %s", held[0].body)
	}
	// A poll that comes while the server is about to stop is not held either.
	a := s.get(r.Links.Self + "?wait=25")
	a.expect(http.StatusOK)
	testwait.Promised(t, "an answer to a poll that comes then", a.took, 5*time.Second)
}

func TestStop_waits_for_what_is_being_accepted(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	release := s.block("go-1")
	first := inTheBackground(func() answer { return s.post("go-1", ada, adaEmail) })
	s.blocked(1)
	second := inTheBackground(func() answer { return s.post("go-1", "Grace Hopper", "grace@example.org") })
	testwait.Until(t, "the second waits", func() bool { return s.waiting() == 1 })

	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Shutdown(context.WithoutCancel(t.Context())) }()
	testwait.Until(t, "nobody is let in any more", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err == nil {
			_ = conn.Close() // it was too early
		}
		return err != nil
	})
	release()
	for _, a := range append(first(), second()...) {
		a.expect(http.StatusAccepted)
	}
	if err := <-stopped; err != nil {
		t.Errorf("it stopped with %v", err)
	}
}
