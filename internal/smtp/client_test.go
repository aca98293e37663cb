package smtp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/smtp"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) { testwait.Main(m) }

const (
	ann   = "ann@example.org"
	words = "not for " + ann + " with " + password // what a fake says when it refuses
	long  = 2 * testwait.Limit                     // a timeout that must not be what ends a test
	short = 2 * time.Second                        // one that must, and not before a busy machine has come to the step that hangs
)

// newClient returns a client with long timeouts, unless changed.
func newClient(t *testing.T, address string, change func(*smtp.Options)) *smtp.Client {
	t.Helper()
	o := smtp.Options{Address: address, TLS: "none", Hello: "lastseat.test", ConnectTimeout: long, SendTimeout: long, IdleTimeout: long}
	if change != nil {
		change(&o)
	}
	c, err := smtp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func message(t *testing.T, to string) *mail.Msg {
	t.Helper()
	return newMessage(t, "school@example.com", to)
}

func newMessage(t *testing.T, from string, to ...string) *mail.Msg {
	t.Helper()
	m := mail.NewMsg()
	if from != "" {
		if err := m.From(from); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.To(to...); err != nil {
		t.Fatal(err)
	}
	m.Subject("Your seat")
	m.SetBodyString(mail.TypeTextPlain, "Grüße\n.\nthe end")
	return m
}

func requireSent(t *testing.T, c *smtp.Client) {
	t.Helper()
	if err := c.Send(t.Context(), message(t, ann)); err != nil {
		t.Fatalf("sending: %v", err)
	}
}

// requireFailure sends, insists on a failure of the code, and that its text gives
// nothing away.
func requireFailure(ctx context.Context, t *testing.T, c *smtp.Client, code enroll.Code) *enroll.SendError {
	t.Helper()
	began := time.Now()
	err := c.Send(ctx, message(t, ann))
	if took := time.Since(began); took > testwait.Limit {
		t.Errorf("it took %s", took)
	}
	failure, ok := errors.AsType[*enroll.SendError](err)
	if !ok || failure.Code != code {
		t.Fatalf("got %v, want a SendError of code %s", err, code)
	}
	for _, secret := range []string{ann, "not for", password, username, failure.Reply} {
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%q tells %q", err, secret)
		}
	}
	return failure
}

// at returns the answer for one step of every connection.
func at(step string, a answer) func(int, string, int) answer {
	return func(_ int, s string, _ int) answer {
		if s == step {
			return a
		}
		return answer{}
	}
}

// once returns the answer for the first such step of the first connection.
func once(step string, a answer) func(int, string, int) answer {
	return func(connection int, s string, nth int) answer {
		if connection == 1 && s == step && nth == 1 {
			return a
		}
		return answer{}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	sound := smtp.Options{Address: "mail.example.com:587", TLS: "starttls", ConnectTimeout: 1, SendTimeout: 1, IdleTimeout: 1}
	if _, err := smtp.New(sound); err != nil {
		t.Errorf("sound options: %v", err)
	}
	for name, spoil := range map[string]func(*smtp.Options){
		"no port":            func(o *smtp.Options) { o.Address = "mail.example.com" },
		"an unknown TLS":     func(o *smtp.Options) { o.TLS = "opportunistic" },
		"no connect timeout": func(o *smtp.Options) { o.ConnectTimeout = 0 },
		"no send timeout":    func(o *smtp.Options) { o.SendTimeout = 0 },
		"no idle timeout":    func(o *smtp.Options) { o.IdleTimeout = -1 },
	} {
		o := sound
		spoil(&o)
		if _, err := smtp.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSendToAnHonestServer(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{"none", "starttls", "implicit"} {
		for _, login := range []bool{false, true} {
			t.Run(fmt.Sprintf("TLS is %s, login is %t", encryption, login), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, encryption, "127.0.0.1")
				c := newClient(t, s.address, func(o *smtp.Options) {
					o.TLS, o.RootCAs = encryption, s.roots
					if login {
						o.Username, o.Password = username, password
					}
				})
				m := message(t, ann)
				m.SetMessageIDWithValue("one@example.com")
				m.SetDate()
				var composed strings.Builder
				if _, err := m.WriteTo(&composed); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if err := c.Send(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				want := delivery{"school@example.com", ann, composed.String() + "\r\n"}
				if !slices.Equal(s.taken, []delivery{want, want, want}) {
					t.Errorf("the server has %+v, want three times %+v", s.taken, want)
				}
				if s.secure != (encryption != "none") {
					t.Errorf("encrypted: %t", s.secure)
				}
				if s.utf8 {
					t.Error("SMTPUTF8 was asked for")
				}
				if s.logins > 1 || login != (s.logins == 1) {
					t.Errorf("%d logins over one connection", s.logins)
				}
			})
		}
	}

	t.Run("no header begins with an empty line", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "none", "")
		c := newClient(t, s.address, nil)
		to := strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 50) + "example"
		m := newMessage(t, `"`+strings.Repeat("講習会", 20)+`" <school@example.com>`, to)
		m.Subject(strings.Repeat("Ü", 100))
		m.SetBodyString(mail.TypeTextPlain, "From:\n a line of the text")
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		head, text, _ := strings.Cut(s.taken[0].text, "\r\n\r\n")
		for _, want := range []string{"From: =?utf-8?", "To: <aaaa", "Subject: =?UTF-8?"} {
			if !strings.Contains(head, want) {
				t.Errorf("%q is missing in\n%s", want, head)
			}
		}
		if strings.Contains(head, ":\r\n") || text != "From:\r\n a line of the text\r\n" {
			t.Errorf("got\n%s\n\n%q", head, text)
		}
	})

	for _, encryption := range []string{"starttls", "implicit"} {
		t.Run(encryption+" with a certificate nobody vouches for", func(t *testing.T) {
			t.Parallel()
			s := newServer(t, encryption, "127.0.0.1")
			c := newClient(t, s.address, func(o *smtp.Options) { o.TLS = encryption })
			e := requireFailure(t.Context(), t, c, enroll.Unavailable)
			if !strings.Contains(e.Error(), "starting TLS: tls: failed to verify certificate") {
				t.Errorf("the error is %q", e)
			}
		})
		t.Run(encryption+" with the certificate of somebody else", func(t *testing.T) {
			t.Parallel()
			s := newServer(t, encryption, "other.example.com")
			c := newClient(t, s.address, func(o *smtp.Options) { o.TLS, o.RootCAs = encryption, s.roots })
			requireFailure(t.Context(), t, c, enroll.Unavailable)
		})
	}

	t.Run("a wrong password", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "none", "")
		c := newClient(t, s.address, func(o *smtp.Options) { o.Username, o.Password = username, "guess-"+password })
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); e.Status != 535 {
			t.Errorf("status %d, want 535", e.Status)
		}
	})
}

func TestConnecting(t *testing.T) {
	t.Parallel()

	t.Run("STARTTLS that is not offered is not done without", func(t *testing.T) {
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

	t.Run("STARTTLS that is offered and refused is not done without", func(t *testing.T) {
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

	t.Run("no TLS where it is expected from the first byte", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) { o.TLS = "implicit" })
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); !strings.HasSuffix(e.Error(), "starting TLS: the server does not speak TLS on this port") {
			t.Errorf("the error is %q", e)
		}
	})

	t.Run("LOGIN will do", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		c := newClient(t, f.address, func(o *smtp.Options) { o.Username, o.Password = username, password })
		requireSent(t, c)
		f.requireTaken(1, 1)
	})

	t.Run("no password in clear to another host", func(t *testing.T) {
		t.Parallel()
		for _, offer := range []string{"PLAIN", "LOGIN"} {
			f := newFake(t, at("EHLO", answer{say: "250-fake\r\n250 AUTH " + offer}))
			_, port, _ := strings.Cut(f.address, ":")
			// It reaches the fake, and is none of the names of this host.
			c := newClient(t, "0.0.0.0:"+port, func(o *smtp.Options) { o.Username, o.Password = username, password })
			requireFailure(t.Context(), t, c, enroll.Unavailable)
			if slices.ContainsFunc(f.said, func(verb string) bool { return verb != "EHLO" && verb != "QUIT" }) {
				t.Errorf("the client said %q", f.said)
			}
		}
	})

	t.Run("a server without a login that we know", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, at("EHLO", answer{say: "250-fake\r\n250 AUTH CRAM-MD5 X-PLAIN"}))
		c := newClient(t, f.address, func(o *smtp.Options) { o.Username, o.Password = username, password })
		requireFailure(t.Context(), t, c, enroll.Unavailable)
	})

	t.Run("a challenge is not told", func(t *testing.T) {
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

	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, "127.0.0.1:1", nil)
		if e := requireFailure(t.Context(), t, c, enroll.Unavailable); !strings.Contains(e.Error(), "connecting: dial tcp 127.0.0.1:1") {
			t.Errorf("the error is %q", e)
		}
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	type want struct {
		code        enroll.Code
		connections int // after one more message, which arrives
	}
	for _, test := range []struct {
		steps []string
		say   string
		want  want
	}{
		{[]string{"GREETING", "EHLO HELO", "AUTH"}, "421", want{enroll.Unavailable, 2}},
		{[]string{"GREETING", "EHLO HELO", "AUTH"}, "454", want{enroll.Unavailable, 2}},
		{[]string{"GREETING", "EHLO HELO", "AUTH"}, "554", want{enroll.Unavailable, 2}},
		{[]string{"MAIL", "RCPT", "DATA", "TEXT"}, "421", want{enroll.Unavailable, 2}},
		{[]string{"MAIL", "RCPT", "DATA"}, "530", want{enroll.Unavailable, 2}},
		{[]string{"MAIL", "RCPT", "DATA", "TEXT"}, "450", want{enroll.MailDeferred, 1}},
		{[]string{"RCPT", "DATA", "TEXT"}, "550", want{enroll.MailRefused, 1}},
		{[]string{"MAIL"}, "550", want{enroll.Unavailable, 2}}, // of the sender, which is that of all mails
		{[]string{"MAIL"}, "552", want{enroll.MailRefused, 1}}, // of this mail, which is too large
		{[]string{"MAIL", "RCPT"}, "354", want{enroll.Internal, 1}},
		{[]string{"DATA"}, "250", want{enroll.Internal, 1}},
		{[]string{"TEXT"}, "354", want{enroll.Internal, 1}},
	} {
		for _, steps := range test.steps {
			t.Run(test.say+" to "+steps, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, func(connection int, step string, nth int) answer {
					if connection == 1 && nth == 1 && slices.Contains(strings.Fields(steps), step) {
						return answer{say: test.say + " " + words}
					}
					return answer{}
				})
				c := newClient(t, f.address, func(o *smtp.Options) {
					if steps == "AUTH" {
						o.Username, o.Password = username, password
					}
				})
				e := requireFailure(t.Context(), t, c, test.want.code)
				if fmt.Sprint(e.Status) != test.say || e.Reply != words {
					t.Errorf("status %d and reply %q", e.Status, e.Reply)
				}
				requireSent(t, c)
				f.requireTaken(1, test.want.connections)
			})
		}
	}

	for _, step := range []string{"GREETING", "EHLO", "MAIL", "RCPT", "DATA", "TEXT"} {
		t.Run("closing the connection at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, once(step, answer{drop: true}))
			c := newClient(t, f.address, nil)
			requireFailure(t.Context(), t, c, unanswered(step))
			requireSent(t, c)
			f.requireTaken(1, 2)
		})
		t.Run("lines without end at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, once(step, answer{endless: "250-" + words + "\r\n"}))
			c := newClient(t, f.address, nil)
			if e := requireFailure(t.Context(), t, c, unanswered(step)); !strings.HasSuffix(e.Error(), ": the server says too much") {
				t.Errorf("the error is %q", e)
			}
			requireSent(t, c)
			f.requireTaken(1, 2)
		})
		t.Run("a line without end at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, once(step, answer{endless: words}))
			c := newClient(t, f.address, nil)
			requireFailure(t.Context(), t, c, unanswered(step))
			requireSent(t, c)
			f.requireTaken(1, 2)
		})
		t.Run("not SMTP at "+step, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(connection int, s string, _ int) answer {
				if connection == 1 && (s == step || s == "HELO") {
					return answer{say: words}
				}
				return answer{}
			})
			c := newClient(t, f.address, nil)
			requireFailure(t.Context(), t, c, unanswered(step))
			requireSent(t, c)
			f.requireTaken(1, 2)
		})
	}

	t.Run("going away after the word to go on takes no part of the message", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, once("DATA", answer{say: "354 go on", drop: true}))
		c := newClient(t, f.address, nil)
		if e := requireFailure(t.Context(), t, c, enroll.MailDeferred); !e.Unanswered {
			t.Error("it does not say that the message may have been taken")
		}
		requireSent(t, c)
		f.requireTaken(1, 2)
	})

	t.Run("taken is taken, whatever happens to the connection", func(t *testing.T) {
		t.Parallel()
		for name, a := range map[string]answer{
			"closed":             {say: "250 taken", drop: true},
			"closed with notice": {say: "250 taken\r\n421 farewell", drop: true},
			"more is said":       {say: "250 taken\r\n250 twice"},
			"another success":    {say: "251 taken, elsewhere", drop: true},
		} {
			f := newFake(t, once("TEXT", a))
			c := newClient(t, f.address, nil)
			requireSent(t, c)
			requireSent(t, c)
			if f.requireTaken(2, 2); t.Failed() {
				t.Fatal(name)
			}
		}
	})

	t.Run("a session that cannot be reset is given up, and the refusal stands", func(t *testing.T) {
		t.Parallel()
		for _, a := range []answer{{say: "500 what?"}, {say: "421 farewell"}, {drop: true}} {
			f := newFake(t, func(connection int, step string, nth int) answer {
				switch {
				case connection == 1 && step == "RCPT" && nth == 2:
					return answer{say: "550 " + words}
				case step == "RSET":
					return a
				}
				return answer{}
			})
			c := newClient(t, f.address, nil)
			requireSent(t, c)
			requireFailure(t.Context(), t, c, enroll.MailRefused)
			requireSent(t, c)
			f.requireTaken(2, 2)
		}
	})
}

// unanswered is what no answer at a step means: from RCPT on it is the trouble of
// this mail, since its recipient may be the reason.
func unanswered(step string) enroll.Code {
	switch step {
	case "RCPT", "DATA", "TEXT":
		return enroll.MailDeferred
	}
	return enroll.Unavailable
}

func TestHanging(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"GREETING", "EHLO", "MAIL", "RCPT", "DATA", "TEXT"} {
		t.Run("the timeouts end it at "+step, func(t *testing.T) {
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

	t.Run("a server that stops reading gets no end of the message", func(t *testing.T) {
		t.Parallel()
		var f *fake
		t.Run("send", func(t *testing.T) {
			f = newFake(t, at("DATA", answer{say: "354 go on", deaf: true}))
			c := newClient(t, f.address, func(o *smtp.Options) { o.SendTimeout = short })
			m := message(t, ann)
			m.SetEncoding(mail.NoEncoding)
			m.SetBodyString(mail.TypeTextPlain, strings.Repeat("all work and no play\n", 1<<18)) // more than the network holds
			if err := c.Send(t.Context(), m); err == nil {
				t.Error("it was sent")
			}
		})
		if len(f.unheard) == 0 || strings.HasSuffix(string(f.unheard), "\r\n.\r\n") {
			t.Errorf("%d bytes were sent, ending in %q", len(f.unheard), f.unheard[max(0, len(f.unheard)-30):])
		}
	})
}

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
		requireSent(t, c) // still possible, but nothing is kept
		testwait.Until(t, "all connections are closed", func() bool { return f.opened() == 0 })
	})

	t.Run("Close waits for a server, but not for long", func(t *testing.T) {
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

	t.Run("what is not used is closed", func(t *testing.T) {
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

	t.Run("the server closes what is idle", func(t *testing.T) {
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
			t.Run("the server has enough at the third "+step+" and says "+name, func(t *testing.T) {
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
		t.Run("the server has enough at the third MAIL and says "+code, func(t *testing.T) {
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

	t.Run("a message is handed over once, although its answer is lost", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(connection int, step string, nth int) answer {
			return answer{drop: connection == 1 && step == "TEXT" && nth == 2}
		})
		c := newClient(t, f.address, nil)
		requireSent(t, c)
		requireFailure(t.Context(), t, c, enroll.MailDeferred)
		f.requireTaken(1, 1)
	})

	t.Run("many at once arrive once each, over a connection each at most", func(t *testing.T) {
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
				t.Errorf("%s got it twice", d.to)
			}
			seen[d.to] = true
			if !strings.Contains(d.text, strings.TrimPrefix(d.to, "TO:")) {
				t.Errorf("%s got somebody else's:\n%s", d.to, d.text)
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

func TestMessagesThatAreNone(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	c := newClient(t, f.address, nil)
	for name, m := range map[string]*mail.Msg{
		"no sender":      newMessage(t, "", ann),
		"no recipient":   newMessage(t, "school@example.com"),
		"two recipients": newMessage(t, "school@example.com", ann, "ben@example.org"),
	} {
		err := c.Send(t.Context(), m)
		if e, ok := errors.AsType[*enroll.SendError](err); !ok || e.Code != enroll.Internal || strings.Contains(err.Error(), "example") {
			t.Errorf("%s: got %v, want a SendError of code %s", name, err, enroll.Internal)
		}
	}
	f.requireTaken(0, 0)
}
