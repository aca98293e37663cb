package smtp_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/smtp"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestReuse(t *testing.T) {
	t.Parallel()

	t.Run("one connection for all messages", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, nil)
		for range 10 {
			requireSent(t, c)
		}
		f.requireTaken(10, 1)
		c.Close()
		if n := f.heard("QUIT"); n != 1 {
			t.Errorf("QUIT was said %d times, want once", n)
		}
		requireSent(t, c) // still works, but keeps no connection
		testwait.Until(t, "all connections are closed", func() bool { return f.opened() == 0 })
	})

	t.Run("Close waits for a hanging server, but not for long", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, at("QUIT", answer{hang: true}))
		c := newClient(t, f.address, nil)
		requireSent(t, c)
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > testwait.Limit {
			t.Errorf("it took %s", took)
		}
		testwait.Until(t, "all connections are closed", func() bool { return f.opened() == 0 })
	})

	t.Run("closes a connection that is not used", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) { o.IdleTimeout = short })
		requireSent(t, c)
		testwait.Until(t, "all connections are closed", func() bool { return f.opened() == 0 })
		if n := f.heard("QUIT"); n != 1 {
			t.Errorf("QUIT was said %d times, want once", n)
		}
		requireSent(t, c)
		f.requireTaken(2, 2)
	})

	t.Run("connects again after the server has closed an idle connection", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, nil)
		for range 3 {
			requireSent(t, c)
			f.hangUp()
		}
		f.requireTaken(3, 3)
	})

	for _, step := range []string{"MAIL", "RCPT", "DATA"} {
		for name, a := range map[string]answer{
			"421, closing": {say: "421 " + words, drop: true},
			"421":          {say: "421 " + words},
			"nothing":      {drop: true},
		} {
			t.Run("the server ends the session at the third "+step+" with "+name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, func(_ int, s string, nth int) answer {
					if s == step && nth == 3 {
						return a
					}
					return answer{}
				})
				c := newClient(t, f.address, nil)
				for range 6 {
					requireSent(t, c)
				}
				f.requireTaken(6, 3)
			})
		}
	}

	for _, code := range []string{"452", "554"} {
		t.Run("the server ends the session at the third MAIL with "+code, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(_ int, step string, nth int) answer {
				if step == "MAIL" && nth >= 3 {
					return answer{say: code + " " + words}
				}
				return answer{}
			})
			c := newClient(t, f.address, nil)
			for range 6 {
				requireSent(t, c)
			}
			f.requireTaken(6, 3)
		})
	}

	t.Run("a message whose answer is lost is transferred once", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(connection int, step string, nth int) answer {
			return answer{drop: connection == 1 && step == "TEXT" && nth == 2}
		})
		c := newClient(t, f.address, nil)
		requireSent(t, c)
		requireFailure(t.Context(), t, c, enroll.MailDeferred)
		f.requireTaken(1, 1)
	})

	t.Run("many messages at once arrive once each", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(_ int, step string, nth int) answer {
			if step == "MAIL" && nth == 7 {
				return answer{say: "421 " + words, drop: true}
			}
			return answer{}
		})
		c := newClient(t, f.address, nil)
		var all sync.WaitGroup
		for sender := range 20 {
			all.Go(func() {
				for n := range 10 {
					if err := c.Send(t.Context(), message(t, fmt.Sprintf("p%d-%d@example.org", sender, n))); err != nil {
						t.Errorf("sending: %v", err)
					}
				}
			})
		}
		all.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		seen := map[string]bool{}
		for _, d := range f.taken {
			if seen[d.to] {
				t.Errorf("%s got the message twice", d.to)
			}
			seen[d.to] = true
			if !strings.Contains(d.text, strings.TrimPrefix(d.to, "TO:")) {
				t.Errorf("%s got the message for another recipient:\n%s", d.to, d.text)
			}
		}
		if len(seen) != 200 {
			t.Errorf("%d arrived, want 200", len(seen))
		}
		if f.most > 20 {
			t.Errorf("%d connections at once", f.most)
		}
	})
}
