package enroll_test

import (
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSuperseded(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	about := func(status enroll.Status, reason enroll.Reason, starts time.Time) []enroll.Enrolment {
		run := enroll.Run{StartsAt: starts}
		return []enroll.Enrolment{{Registration: enroll.Registration{Status: status, Reason: reason}, For: run, LastTold: enroll.LastTold{Schedule: run.Schedule()}}}
	}
	later := now.Add(time.Hour)
	moved := func(status enroll.Status) []enroll.Enrolment {
		all := about(status, "", later)
		all[0].LastTold.Schedule.Location = "elsewhere"
		return all
	}
	calledOff := func(all []enroll.Enrolment) []enroll.Enrolment {
		all[0].Reason = enroll.RunCalledOff
		return all
	}
	for _, test := range []struct {
		name  string
		kind  enroll.MailKind
		about []enroll.Enrolment
		want  bool
	}{
		{"a confirmation of a seat that is held", enroll.MailConfirmed, about(enroll.Confirmed, "", later), false},
		{"a confirmation of a seat that is gone", enroll.MailConfirmed, about(enroll.Rejected, enroll.Full, later), true},
		{"a refusal stands", enroll.MailFull, about(enroll.Rejected, enroll.Full, later), false},
		{"a refusal that was lifted does not", enroll.MailFull, about(enroll.Confirmed, "", later), true},
		{"a refusal for a long waiting list stands", enroll.MailFull, about(enroll.Rejected, enroll.WaitlistTooLong, later), false},
		{"a second request points to a seat that is held", enroll.MailAlreadyRegistered, about(enroll.Confirmed, "", later), false},
		{"a second request does not point to a seat that is gone", enroll.MailAlreadyRegistered, about(enroll.Rejected, enroll.Full, later), true},
		{"a confirmation does not come after a cancellation", enroll.MailConfirmed, about(enroll.Cancelled, "", later), true},
		{"a confirmation does not come after a run is called off", enroll.MailConfirmed, about(enroll.Cancelled, enroll.RunCalledOff, later), true},
		{"a second request points to a place that is held", enroll.MailAlreadyRegistered, about(enroll.Waitlisted, "", later), false},
		{"a second request does not point to what was cancelled", enroll.MailAlreadyRegistered, about(enroll.Cancelled, "", later), true},
		{"a second request does not point to a registration that was not promoted", enroll.MailAlreadyRegistered, about(enroll.NotPromoted, "", later), true},
		{"a place on the list that is still held is told", enroll.MailWaitlisted, about(enroll.Waitlisted, "", later), false},
		{"a place on the list is not told after the promotion", enroll.MailWaitlisted, about(enroll.Confirmed, "", later), true},
		{"a place on the list is not told after it was given up", enroll.MailWaitlisted, about(enroll.Cancelled, "", later), true},
		{"a place on the list is not told after the list has ended", enroll.MailWaitlisted, about(enroll.NotPromoted, "", later), true},
		{"a promotion is told while the seat is held", enroll.MailPromoted, about(enroll.Confirmed, "", later), false},
		{"a promotion is not told after the seat was given up", enroll.MailPromoted, about(enroll.Cancelled, enroll.Removed, later), true},
		{"the end of the list is told to people who were not promoted", enroll.MailNotPromoted, about(enroll.NotPromoted, "", later), false},
		{"the end of the list is told to nobody else", enroll.MailNotPromoted, about(enroll.Cancelled, "", later), true},
		{"a cancellation is told", enroll.MailCancelled, about(enroll.Cancelled, "", later), false},
		{"a removal is told", enroll.MailCancelled, about(enroll.Cancelled, enroll.Removed, later), false},
		{"a cancellation is not told of what is held", enroll.MailCancelled, about(enroll.Confirmed, "", later), true},
		{"a run that is called off is told to people with a seat or a place", enroll.MailCalledOff, about(enroll.Cancelled, enroll.RunCalledOff, later), false},
		{"a run that is called off is told to people who asked afterwards", enroll.MailCalledOff, about(enroll.Rejected, enroll.RunCalledOff, later), false},
		{"a run that is called off is not told to people who cancelled before", enroll.MailCalledOff, about(enroll.Cancelled, "", later), true},
		{"a run that is called off is not told to people who were refused before", enroll.MailCalledOff, about(enroll.Rejected, enroll.Full, later), true},
		{"a reminder does not go to people who wait", enroll.MailReminder, about(enroll.Waitlisted, "", later), true},
		{"a reminder does not go to people who cancelled", enroll.MailReminder, about(enroll.Cancelled, "", later), true},
		{"a mail about no registrations", enroll.MailLinks, nil, true},
		{"a change is told to people with a seat", enroll.MailChanged, moved(enroll.Confirmed), false},
		{"a change is told to people who wait", enroll.MailChanged, moved(enroll.Waitlisted), false},
		{"a change is not told to people who cancelled", enroll.MailChanged, moved(enroll.Cancelled), true},
		{"a change of a run that is called off is not told", enroll.MailChanged, calledOff(moved(enroll.Cancelled)), true},
		{"a change that was told already", enroll.MailChanged, about(enroll.Confirmed, "", later), true},
		{"a reminder does not come without a seat", enroll.MailReminder, about(enroll.Rejected, enroll.Full, later), true},
		{"links are told whatever the status", enroll.MailLinks, append(about(enroll.Queued, "", later), about(enroll.Rejected, enroll.Full, now)...), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := (enroll.Mail{Kind: test.kind, Now: now, About: test.about}).Superseded(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A notice of Settle must not be superseded by the outcomes of the same
// call.
func TestNoMailOfTheSameCallIsSuperseded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   enroll.MailKind
		status enroll.Status
		reason enroll.Reason
	}{
		{enroll.MailConfirmed, enroll.Confirmed, ""},
		{enroll.MailWaitlisted, enroll.Waitlisted, ""},
		{enroll.MailPromoted, enroll.Confirmed, ""},
		{enroll.MailNotPromoted, enroll.NotPromoted, ""},
		{enroll.MailCancelled, enroll.Cancelled, ""},
		{enroll.MailCancelled, enroll.Cancelled, enroll.Removed},
		{enroll.MailCalledOff, enroll.Cancelled, enroll.RunCalledOff},
		{enroll.MailCalledOff, enroll.Rejected, enroll.RunCalledOff},
		{enroll.MailFull, enroll.Rejected, enroll.Full},
		{enroll.MailFull, enroll.Rejected, enroll.WaitlistTooLong},
		{enroll.MailAlreadyRegistered, enroll.Confirmed, ""},
		{enroll.MailAlreadyRegistered, enroll.Waitlisted, ""},
	} {
		m := enroll.Mail{Kind: test.kind, About: []enroll.Enrolment{{Registration: enroll.Registration{Status: test.status, Reason: test.reason}}}}
		if m.Superseded() {
			t.Errorf("%s is superseded by %s %s", test.kind, test.status, test.reason)
		}
	}
}

// TestOverdue checks until when each kind makes sense. It fails for a kind that
// is not listed here.
func TestOverdue(t *testing.T) {
	t.Parallel()
	run := enroll.Run{
		StartsAt: time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 3, 1, 17, 0, 0, 0, time.UTC),
		PromoteUntil: time.Date(2027, 2, 28, 12, 0, 0, 0, time.UTC),
	}
	due := time.Date(2027, 2, 1, 9, 0, 0, 0, time.UTC)
	until := map[enroll.MailKind]time.Time{
		enroll.MailConfirmed:         run.EndsAt,
		enroll.MailFull:              run.EndsAt,
		enroll.MailAlreadyRegistered: run.EndsAt,
		enroll.MailWaitlisted:        run.PromoteUntil,
		enroll.MailPromoted:          run.EndsAt,
		enroll.MailNotPromoted:       run.EndsAt,
		enroll.MailCancelled:         due.AddDate(0, 0, 7),
		enroll.MailCalledOff:         run.EndsAt,
		enroll.MailChanged:           run.EndsAt,
		enroll.MailReminder:          run.StartsAt,
		enroll.MailSummary:           run.EndsAt,
		enroll.MailMistakenAddress:   due.AddDate(0, 0, 7),
		enroll.MailLinks:             due.AddDate(0, 0, 1),
	}
	for _, kind := range enroll.MailKinds() {
		end, listed := until[kind]
		if !listed {
			t.Errorf("%s: the test has no deadline for it", kind)
			continue
		}
		m := enroll.Mail{Kind: kind, DueAt: due, Now: end.Add(-1), About: []enroll.Enrolment{{For: run}}}
		if passed := m.Overdue(); passed != "" {
			t.Errorf("%s: just before %s %s", kind, end, passed)
		}
		m.Now = end
		if m.Overdue() == "" {
			t.Errorf("%s is not overdue at %s", kind, end)
		}
	}
	// Without a time of its own, a waiting list ends when the run begins.
	open := run
	open.PromoteUntil = time.Time{}
	m := enroll.Mail{Kind: enroll.MailWaitlisted, Now: run.StartsAt.Add(-1), About: []enroll.Enrolment{{For: open}}}
	if passed := m.Overdue(); passed != "" {
		t.Errorf("without a time of its own: %s", passed)
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
