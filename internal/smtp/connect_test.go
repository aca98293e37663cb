package smtp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/smtp"
)

func TestConnecting(t *testing.T) {
	t.Parallel()

	t.Run("fails if STARTTLS is not offered", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) {
			o.TLS, o.Username, o.Password = "starttls", username, password
		})
		requireFailure(t.Context(), t, c, enroll.Unavailable)
		if !slices.Equal(f.said, []string{"EHLO"}) {
			t.Errorf("the client said %q", f.said)
		}
	})

	t.Run("fails if STARTTLS is offered but refused", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(_ int, step string, _ int) answer {
			switch step {
			case "EHLO":
				return answer{say: "250-fake\r\n250 STARTTLS"}
			case "STARTTLS":
				return answer{say: "454 " + words}
			}
			return answer{}
		})
		c := newClient(t, f.address, func(o *smtp.Options) { o.TLS = "starttls" })
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); e.Status != 454 || e.Reply != words {
			t.Errorf("status %d and reply %q", e.Status, e.Reply)
		}
		if !slices.Equal(f.said, []string{"EHLO", "STARTTLS"}) {
			t.Errorf("the client said %q", f.said)
		}
	})

	t.Run("fails if implicit TLS meets a plain server", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) { o.TLS = "implicit" })
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); !strings.HasSuffix(e.Error(), "starting TLS: the server does not speak TLS on this port") {
			t.Errorf("the error is %q", e)
		}
	})

	t.Run("logs in with LOGIN", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) { o.Username, o.Password = username, password })
		requireSent(t, c)
		f.requireTaken(1, 1)
	})

	t.Run("sends no password to another host without TLS", func(t *testing.T) {
		t.Parallel()
		for _, offer := range []string{"PLAIN", "LOGIN"} {
			f := newFake(t, at("EHLO", answer{say: "250-fake\r\n250 AUTH " + offer}))
			_, port, _ := strings.Cut(f.address, ":")
			// It leads to the fake, but is not one of the names that mean this
			// machine.
			c := newClient(t, "0.0.0.0:"+port, func(o *smtp.Options) { o.Username, o.Password = username, password })
			requireFailure(t.Context(), t, c, enroll.Unavailable)
			if slices.ContainsFunc(f.said, func(verb string) bool { return verb != "EHLO" && verb != "QUIT" }) {
				t.Errorf("the client said %q", f.said)
			}
		}
	})

	t.Run("fails if the server offers neither PLAIN nor LOGIN", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, at("EHLO", answer{say: "250-fake\r\n250 AUTH CRAM-MD5 X-PLAIN"}))
		c := newClient(t, f.address, func(o *smtp.Options) { o.Username, o.Password = username, password })
		requireFailure(t.Context(), t, c, enroll.Unavailable)
	})

	t.Run("a challenge is not revealed", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(_ int, step string, nth int) answer {
			if step == "GREETING" || step == "EHLO" || step == "QUIT" {
				return answer{}
			}
			return answer{say: "334 bm90IGZvciB5b3U="} // "not for you", after the password too
		})
		c := newClient(t, f.address, func(o *smtp.Options) { o.Username, o.Password = username, password })
		requireFailure(t.Context(), t, c, enroll.Unavailable)
	})

	t.Run("fails if no server listens", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, "127.0.0.1:1", nil)
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); !strings.Contains(e.Error(), "connecting: dial tcp 127.0.0.1:1") {
			t.Errorf("the error is %q", e)
		}
	})
}
