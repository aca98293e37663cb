package mailqueue

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzParseTask: what is read of a task is a due mail, and the task of that mail
// says the same.
func FuzzParseTask(f *testing.F) {
	for _, seed := range []string{
		`{"mail_id":"7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55","attempts":0}`, `{"mail_id":"7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55","attempts":-1}`,
		`{"mail_id":"{7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55}","attempts":2147483647}`, `{"mail_id":"00000000-0000-0000-0000-000000000000"}`,
		`{"mail_id":"7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55","attempts":2147483646}`, `{"attempts":1}`, `{"mail_id":1}`, `{}`, `null`, "", "\xff",
	} {
		f.Add(sendTask, []byte(seed))
		f.Add("requests:settle", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		due, err := parseTask(asynq.NewTask(kind, body))
		if err != nil {
			if due != (enroll.DueMail{}) {
				t.Errorf("%q is refused, and %+v", body, due)
			}
			return
		}
		if kind != sendTask || due.ID == uuid.Nil || due.Attempts < 0 || due.Attempts >= math.MaxInt32 {
			t.Errorf("a task of type %q with %q is taken for %+v", kind, body, due)
		}
		task, _ := newTask(due)
		if again, err := parseTask(task); err != nil || again != due {
			t.Errorf("%+v became %+v, %v", due, again, err)
		}
	})
}

// FuzzProblem: whatever a mail server says, an organiser is told something that
// fits into one line and into the outbox.
func FuzzProblem(f *testing.F) {
	for _, seed := range []string{
		"", "5.1.1 no such user here", "two\r\nlines", "\x1b[31mred", "\u202eover", "\u200b", "a\xffb", "  a \t b\u2028c\u0085 ",
		strings.Repeat("x", 501), strings.Repeat("é", 500), strings.Repeat("x", 499) + " y", "\x00",
	} {
		for _, code := range []enroll.Code{enroll.MailRefused, enroll.MailDeferred, enroll.Unavailable, enroll.Internal} {
			f.Add(string(code), seed)
		}
	}
	f.Fuzz(func(t *testing.T, code, reply string) {
		text := problem(&enroll.SendError{Code: enroll.Code(code), Reply: reply})
		if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxProblem {
			t.Errorf("%q became %q", reply, text)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }) {
			t.Errorf("%q became %q, which is more than a line of text", reply, text)
		}
		if again := oneLine(text); again != text {
			t.Errorf("%q became %q, and then %q", reply, text, again)
		}
	})
}
