package enroll_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSuperseded(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	about := func(status enroll.Status, reason enroll.Reason, starts time.Time) []enroll.Enrolment {
		return []enroll.Enrolment{{Registration: enroll.Registration{Status: status, Reason: reason}, For: enroll.Run{StartsAt: starts}}}
	}
	later := now.Add(time.Hour)
	for _, test := range []struct {
		name  string
		kind  enroll.MailKind
		about []enroll.Enrolment
		want  bool
	}{
		{"a seat that is still held is confirmed", enroll.MailConfirmed, about(enroll.Confirmed, "", later), false},
		{"a seat that is held no longer is not", enroll.MailConfirmed, about(enroll.Rejected, enroll.Full, later), true},
		{"a confirmation may be late", enroll.MailConfirmed, about(enroll.Confirmed, "", now.Add(-time.Hour)), false},
		{"a refusal stands", enroll.MailFull, about(enroll.Rejected, enroll.Full, later), false},
		{"a refusal that was lifted does not", enroll.MailFull, about(enroll.Confirmed, "", later), true},
		{"a refusal for another reason is not this one", enroll.MailFull, about(enroll.Rejected, enroll.AlreadyRegistered, later), true},
		{"a second request points to a seat that is held", enroll.MailAlreadyRegistered, about(enroll.Confirmed, "", later), false},
		{"a second request does not point to a seat that is gone", enroll.MailAlreadyRegistered, about(enroll.Rejected, enroll.Full, later), true},
		{"a reminder comes before the start", enroll.MailReminder, about(enroll.Confirmed, "", now.Add(time.Nanosecond)), false},
		{"a reminder does not come at the start", enroll.MailReminder, about(enroll.Confirmed, "", now), true},
		{"a reminder does not come without a seat", enroll.MailReminder, about(enroll.Rejected, enroll.Full, later), true},
		{"links are links whatever became of them", enroll.MailLinks, append(about(enroll.Queued, "", later), about(enroll.Rejected, enroll.Full, now)...), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := (enroll.Mail{Kind: test.kind, Now: now, About: test.about}).Superseded(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMailboxIsWhatWasTypedAtADomainThatCanBeLookedUp(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"ada@example.org":          "ada@example.org",
		"Ada+Test@Example.ORG":     "Ada+Test@example.org",
		"o'neil@straße.example":    "o'neil@xn--strae-oqa.example",
		"Ada@ｅｘａｍｐｌｅ.org":          "Ada@example.org",
		"a.b-c_d@xn--strae-oqa.de": "a.b-c_d@xn--strae-oqa.de",
	} {
		a, err := enroll.ParseAddress(typed)
		if err != nil {
			t.Errorf("%s: %v", typed, err)
		} else if got := a.Mailbox(); got != want {
			t.Errorf("%s: mail goes to %s, want %s", typed, got, want)
		}
	}
}

func TestSendErrorSaysNothingOfTheMail(t *testing.T) {
	t.Parallel()
	err := &enroll.SendError{Code: enroll.MailRefused, Status: 550, Reply: "5.1.1 <ada@example.org>: no such user", Err: errors.New("answering RCPT")}
	if text := err.Error(); strings.Contains(text, "ada") || !strings.Contains(text, "550") || !strings.Contains(text, "answering RCPT") {
		t.Errorf("it says %q", text)
	}
	if !errors.Is(err, err.Err) {
		t.Error("its cause cannot be found")
	}
}
