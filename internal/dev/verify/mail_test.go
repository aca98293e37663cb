package verify

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestDeliver(t *testing.T) {
	t.Parallel()
	row := func(id string, state enroll.MailState) OutboxRow {
		return OutboxRow{id, "run", enroll.MailConfirmed, state, enroll.Cancelled, 1, ""}
	}
	for _, test := range []struct {
		name              string
		outbox            []OutboxRow
		arrived           map[string]int
		missing, repeated int
		wrong             string // "" = nothing
	}{
		{"each once", []OutboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 1}, 0, 0, ""},
		{"superseded", []OutboxRow{row("a", enroll.MailSkipped)}, map[string]int{}, 0, 0, ""},
		{"superseded, and on its way before", []OutboxRow{row("a", enroll.MailSkipped)}, map[string]int{"a": 1}, 0, 0, ""},
		{"again", []OutboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 3}, 0, 2, ""},
		{
			"skipped although it was right", []OutboxRow{{"a", "run", enroll.MailPromoted, enroll.MailSkipped, enroll.Confirmed, 1, ""}}, map[string]int{}, 1, 0,
			"is skipped, its registration confirmed",
		},
		{"all of them again and again", []OutboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 10}, 0, 9, "1 faults can explain 4"},
		{"said to be sent", []OutboxRow{row("a", enroll.MailSent)}, map[string]int{}, 1, 0, `a mail "confirmed" is sent, its registration cancelled, and it has not arrived`},
		{"still pending", []OutboxRow{row("a", enroll.MailPending)}, map[string]int{}, 1, 0, "is pending"},
		{"the address was corrected", []OutboxRow{{"a", "run", enroll.MailConfirmed, enroll.MailSkipped, enroll.Confirmed, 1, "the address was corrected"}}, map[string]int{}, 0, 0, ""},
		{"told otherwise", []OutboxRow{{"a", "run", enroll.MailChanged, enroll.MailSkipped, enroll.Confirmed, 1, ""}}, map[string]int{}, 0, 0, ""},
		{"of nothing", nil, map[string]int{"x": 1}, 0, 0, "not in the outbox (x)"},
		{"dropped by the sink before they were read", nil, map[string]int{"": 4}, 0, 0, "4 mails have arrived that are not in the outbox (unread)"},
	} {
		arrived := make(Mails)
		for id, n := range test.arrived {
			arrived[id] = make([]Mail, n)
		}
		d := Deliver(test.outbox, arrived, 1)
		if d.Missing != test.missing || d.Repeated != test.repeated || (len(d.Findings) > 0) != (test.wrong != "") ||
			!strings.Contains(strings.Join(d.Findings, "\n"), test.wrong) {
			t.Errorf("%s: %+v", test.name, d)
		}
	}
}
