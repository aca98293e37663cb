package smtp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/smtp"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	type want struct {
		code        enroll.Code
		connections int // how many there were after one more message, which arrives
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
		{[]string{"MAIL"}, "550", want{enroll.Unavailable, 2}}, // about the sender, who sends all mails
		{[]string{"MAIL"}, "552", want{enroll.MailRefused, 1}}, // about this mail, which is too large
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
			if e := requireFailure(t.Context(), t, c, unanswered(step)); !strings.HasSuffix(e.Error(), ": the server sends too much") {
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

	t.Run("closing the connection after 354 delivers no part of the message", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, once("DATA", answer{say: "354 go on", drop: true}))
		c := newClient(t, f.address, nil)
		if e := requireFailure(t.Context(), t, c, enroll.MailDeferred); !e.Unanswered {
			t.Error("the error does not say that the message may have been delivered")
		}
		requireSent(t, c)
		f.requireTaken(1, 2)
	})

	t.Run("an accepted message is sent, whatever happens to the connection", func(t *testing.T) {
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

	t.Run("a session that cannot be reset is closed, and the refusal counts", func(t *testing.T) {
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

// unanswered returns the code for no answer at a step. From RCPT on it is about
// this mail, because its recipient may be the cause.
func unanswered(step string) enroll.Code {
	switch step {
	case "RCPT", "DATA", "TEXT":
		return enroll.MailDeferred
	}
	return enroll.Unavailable
}
