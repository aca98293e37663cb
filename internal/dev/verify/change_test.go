package verify

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailsink"
)

func TestReadMail(t *testing.T) {
	t.Parallel()
	const id = "c0ffee00-0000-4000-8000-000000000001"
	for _, messageID := range []string{"<" + id + "@lastseat.example>", "<" + id + ".3@lastseat.example>"} {
		m := ReadMail(mailsink.Message{To: []string{"ada@example.org"}, Content: mailsink.Content{
			Header: []mailsink.Header{{Name: "Message-Id", Value: messageID}},
			Text:   "Hello Ada,\n\nWhen: Friday, 1 January 2027, 10:00–12:00 (UTC)\nWhere: Hall 3\nPrevious location: Hall 2\n",
		}})
		if m.ID != id || m.To != "ada@example.org" || m.Where != "Hall 3" {
			t.Errorf("read %+v", m)
		}
		for _, test := range []struct {
			at    Schedule
			tells bool
		}{
			{Schedule{time.Date(2027, 1, 1, 10, 0, 30, 0, time.UTC), "Hall 3"}, true},
			{Schedule{time.Date(2027, 1, 2, 10, 0, 0, 0, time.UTC), "Hall 3"}, false},
			{Schedule{time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC), "Hall 2"}, false},
		} {
			if test.at.toldBy(m) != test.tells {
				t.Errorf("it tells %v: %t", test.at, !test.tells)
			}
		}
	}
	if m := ReadMail(mailsink.Message{}); m.ID != "" {
		t.Errorf("a mail without an id has %q", m.ID)
	}
}

func TestCheckMoved(t *testing.T) {
	t.Parallel()
	now := Schedule{time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC), "Hall 3"}
	right := Mail{To: "a", When: "Friday, 1 January 2027, 10:00–12:00 (UTC)", Where: "Hall 3"}
	elsewhere, old := right, right
	elsewhere.To, old.Where = "b", "Hall 2"
	l := Ledger{Seated: []Holding{{1, "a"}}, Waiting: []Holding{{2, "a"}}}
	for _, test := range []struct {
		name   string
		mails  map[int64][]Mail
		untold int
	}{
		{"all were told", map[int64][]Mail{1: {old, right}, 2: {right}}, 0},
		{"nobody was", nil, 2},
		{"one was told the schedule before", map[int64][]Mail{1: {old}, 2: {right, old}}, 1},
		{"one mail went to an address from before", map[int64][]Mail{1: {elsewhere}, 2: {right}}, 1},
	} {
		var r Result
		r.CheckMoved(now, l, test.mails)
		if r.MovedUntold != test.untold || len(r.Findings) != test.untold {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

func TestCheckCorrections(t *testing.T) {
	t.Parallel()
	before, after := uuid.New(), uuid.New()
	c := Correction{Ticket: 1, ID: before, From: "wrong", To: "right"}
	l := Ledger{Line: []Entry{{Ticket: 1, ID: after, Key: "right"}}, Retired: map[uuid.UUID]int64{before: 1}}
	old := Mail{To: "wrong", Text: before.String(), Kind: enroll.MailConfirmed}
	link := Mail{To: "right", Text: after.String(), Kind: enroll.MailConfirmed}
	sorry := Mail{To: "wrong", Text: "by mistake", Kind: mistakenAddress}
	for _, test := range []struct {
		name           string
		l              Ledger
		mails          []Mail
		untold, leaked int
		wrong          bool
	}{
		{"all is right", l, []Mail{old, link, sorry}, 0, 0, false},
		{"the right one has no link", l, []Mail{old, sorry}, 1, 0, true},
		{"the wrong one was not told", l, []Mail{old, link}, 1, 0, true},
		{"the wrong one has the new link", l, []Mail{link, sorry, {To: "wrong", Text: after.String()}}, 0, 1, true},
		{"the right one has the old link", l, []Mail{link, sorry, {To: "right", Text: before.String()}}, 0, 1, true},
		{"the id is not retired", Ledger{Line: l.Line}, []Mail{link, sorry}, 0, 0, true},
		{"the address is the old one", Ledger{Line: []Entry{{Ticket: 1, ID: after, Key: "wrong"}}, Retired: l.Retired}, []Mail{link, sorry}, 0, 0, true},
		{"a correction that was not asked for", Ledger{Line: l.Line, Retired: map[uuid.UUID]int64{before: 1, uuid.New(): 1}}, []Mail{link, sorry}, 0, 0, true},
	} {
		var r Result
		r.CheckCorrections([]Correction{c}, test.l, map[int64][]Mail{1: test.mails})
		if r.CorrectedUntold != test.untold || r.LinksLeaked != test.leaked || (len(r.Findings) > 0) != test.wrong {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}
