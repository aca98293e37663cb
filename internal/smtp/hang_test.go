package smtp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wneessen/go-mail"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/smtp"
)

func TestHanging(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"GREETING", "EHLO", "MAIL", "RCPT", "DATA", "TEXT"} {
		t.Run("a timeout ends it at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, at(step, answer{hang: true}))
			c := newClient(t, f.address, func(o *smtp.Options) {
				if step == "GREETING" || step == "EHLO" {
					o.ConnectTimeout = short
				} else {
					o.SendTimeout = short
				}
			})
			requireFailure(t.Context(), t, c, unanswered(step))
			f.requireTaken(0, 1)
		})
		t.Run("the context ends it at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, at(step, answer{hang: true}))
			c := newClient(t, f.address, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-f.hanging
				cancel()
			}()
			if e := requireFailure(ctx, t, c, unanswered(step)); !errors.Is(e, context.Canceled) {
				t.Errorf("got %v, want it to wrap the context's error", e)
			}
			f.requireTaken(0, 1)
		})
	}

	t.Run("a TLS handshake that is not answered", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, at("GREETING", answer{hang: true}))
		c := newClient(t, f.address, func(o *smtp.Options) { o.TLS, o.ConnectTimeout = "implicit", short })
		requireFailure(t.Context(), t, c, enroll.Unavailable)
	})

	t.Run("a context that has ended sends nothing", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, nil)
		requireSent(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		requireFailure(ctx, t, c, enroll.Unavailable)
		if n := f.heard("MAIL"); n != 1 {
			t.Errorf("MAIL was said %d times", n)
		}
	})

	t.Run("a timeout on a used connection is not tried again", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(_ int, step string, nth int) answer { return answer{hang: step == "MAIL" && nth == 2} })
		c := newClient(t, f.address, func(o *smtp.Options) { o.SendTimeout = short })
		requireSent(t, c)
		requireFailure(t.Context(), t, c, enroll.Unavailable)
		requireSent(t, c)
		f.requireTaken(2, 2)
	})

	t.Run("a server that stops reading does not get the end of the message", func(t *testing.T) {
		t.Parallel()
		var f *fake
		t.Run("send", func(t *testing.T) {
			f = newFake(t, at("DATA", answer{say: "354 go on", deaf: true}))
			c := newClient(t, f.address, func(o *smtp.Options) { o.SendTimeout = short })
			m := message(t, ann)
			m.SetEncoding(mail.NoEncoding)
			m.SetBodyString(mail.TypeTextPlain, strings.Repeat("all work and no play\n", 1<<18)) // more than the system buffers
			if err := c.Send(t.Context(), m); err == nil {
				t.Error("it was sent")
			}
		})
		if len(f.unheard) == 0 || strings.HasSuffix(string(f.unheard), "\r\n.\r\n") {
			t.Errorf("%d bytes were sent, ending in %q", len(f.unheard), f.unheard[max(0, len(f.unheard)-30):])
		}
	})
}
