package httpserver_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/httpserver"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestServe_lets_requests_in_flight_finish(t *testing.T) {
	t.Parallel()
	s := serve(t, httpserver.Options{Connections: 10})
	c := s.dial(long)
	testwait.Until(t, "the request is held", func() bool { return s.held.Load() == 1 })
	s.stop()
	testwait.Until(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close() // the listener is still open
		}
		return err != nil
	})
	close(s.release)
	if a := answer(c); a == nil || a.StatusCode != http.StatusOK {
		t.Errorf("the request in flight got %+v", a)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestServe_cuts_off_requests_that_do_not_finish(t *testing.T) {
	t.Parallel()
	s := serve(t, httpserver.Options{Connections: 10, Grace: time.Millisecond})
	s.dial(long)
	testwait.Until(t, "the request is held", func() bool { return s.held.Load() == 1 })
	s.stop()
	if err := <-s.ended; err == nil {
		t.Error("the error does not mention the request in flight")
	}
}

// TestServe_serves_on_while_balancers_find_out checks that between Stopping and
// the end of listening new clients are still served, and that their connections
// close.
func TestServe_serves_on_while_balancers_find_out(t *testing.T) {
	t.Parallel()
	const delay = 4 * time.Second
	stopping := make(chan struct{})
	s := serve(t, httpserver.Options{Connections: 10, Delay: delay, Stopping: func() { close(stopping) }})
	kept := s.dial(short)
	if a := answer(kept); a == nil || a.Close {
		t.Fatalf("before that the answer is %+v", a)
	}
	s.stop()
	<-stopping
	began := time.Now()
	closing := func() bool { return time.Since(began) > delay/2 } // from now on the listener may close at any time
	_, _ = kept.Write([]byte(short))
	if a := answer(kept); !closing() && (a == nil || a.StatusCode != http.StatusOK || !a.Close) {
		t.Errorf("on a connection from before the answer is %+v", a)
	}
	for {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			if !closing() {
				t.Error("the listener closed too early")
			}
			break
		}
		_, _ = c.Write([]byte(short))
		a := answer(c)
		c.Close()
		if closing() {
			break
		}
		if a == nil || a.StatusCode != http.StatusOK || !a.Close {
			t.Fatalf("meanwhile the answer is %+v", a)
		}
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}
