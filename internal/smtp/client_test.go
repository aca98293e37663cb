package smtp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	words = "not for " + ann + " with " + password // the text of a fake's refusal
	long  = 2 * testwait.Limit                     // a timeout that must not expire
	short = 2 * time.Second                        // a timeout that must expire, after a busy machine got to the step that hangs
)

// newClient returns a client with long timeouts, unless change sets others.
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

// requireFailure sends a message, and requires a failure with the code whose
// text reveals nothing.
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
			t.Errorf("%q reveals %q", err, secret)
		}
	}
	return failure
}

// at gives the answer at one step of every connection.
func at(step string, a answer) func(int, string, int) answer {
	return func(_ int, s string, _ int) answer {
		if s == step {
			return a
		}
		return answer{}
	}
}

// once gives the answer at the first such step of the first connection.
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
		t.Run(encryption+" with a certificate of an unknown authority", func(t *testing.T) {
			t.Parallel()
			s := newServer(t, encryption, "127.0.0.1")
			c := newClient(t, s.address, func(o *smtp.Options) { o.TLS = encryption })
			e := requireFailure(t.Context(), t, c, enroll.Unavailable)
			if !strings.Contains(e.Error(), "starting TLS: tls: failed to verify certificate") {
				t.Errorf("the error is %q", e)
			}
		})
		t.Run(encryption+" with the certificate of another host", func(t *testing.T) {
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

func TestInvalidMessages(t *testing.T) {
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
