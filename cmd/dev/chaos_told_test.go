package main

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailsink"
)

func TestReadLetter(t *testing.T) {
	t.Parallel()
	const id = "c0ffee00-0000-4000-8000-000000000001"
	for _, messageID := range []string{"<" + id + "@lastseat.example>", "<" + id + ".3@lastseat.example>"} {
		l := readLetter(mailsink.Message{To: []string{"ada@example.org"}, Content: mailsink.Content{
			Header: []mailsink.Header{{Name: "Message-Id", Value: messageID}},
			Text:   "Hello Ada,\n\nWhen: Friday, 1 January 2027, 10:00–12:00 (UTC)\nWhere: Hall 3\nPrevious location: Hall 2\n",
		}})
		if l.id != id || l.to != "ada@example.org" || l.where != "Hall 3" {
			t.Errorf("read %+v", l)
		}
		for _, test := range []struct {
			at    schedule
			tells bool
		}{
			{schedule{time.Date(2027, 1, 1, 10, 0, 30, 0, time.UTC), "Hall 3"}, true},
			{schedule{time.Date(2027, 1, 2, 10, 0, 0, 0, time.UTC), "Hall 3"}, false},
			{schedule{time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC), "Hall 2"}, false},
		} {
			if test.at.told(l) != test.tells {
				t.Errorf("it tells %v: %t", test.at, !test.tells)
			}
		}
	}
	if l := readLetter(mailsink.Message{}); l.id != "" {
		t.Errorf("a mail without an id has %q", l.id)
	}
}

func TestWhoeverHoldsASeatIsToldOfAMove(t *testing.T) {
	t.Parallel()
	now := schedule{time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC), "Hall 3"}
	right := letter{to: "a", when: "Friday, 1 January 2027, 10:00–12:00 (UTC)", where: "Hall 3"}
	elsewhere, old := right, right
	elsewhere.to, old.where = "b", "Hall 2"
	l := ledger{seated: []holding{{1, "a"}}, waiting: []holding{{2, "a"}}}
	for _, test := range []struct {
		name    string
		moves   int
		letters map[int64][]letter
		untold  int
	}{
		{"nothing has moved", 0, nil, 0},
		{"all were told", 1, map[int64][]letter{1: {old, right}, 2: {right}}, 0},
		{"nobody was", 1, nil, 2},
		{"one was told what was so before", 2, map[int64][]letter{1: {old}, 2: {right, old}}, 1},
		{"one was written to where nobody lives any more", 1, map[int64][]letter{1: {elsewhere}, 2: {right}}, 1},
	} {
		var r chaosResult
		r.judgeMoved(&chaosRun{moves: test.moves}, now, l, test.letters)
		if r.MovedUntold != test.untold || len(r.wrong) != test.untold || r.Moved != test.moves {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

func TestWhoHasTheLinkAfterACorrection(t *testing.T) {
	t.Parallel()
	before, after := uuid.New(), uuid.New()
	c := correction{known: known{ticket: 1, id: before, email: "wrong"}, email: "right"}
	l := ledger{line: []entry{{Ticket: 1, ID: after, Key: "right"}}, retired: map[uuid.UUID]int64{before: 1}}
	old := letter{to: "wrong", text: before.String(), kind: enroll.MailConfirmed}
	link := letter{to: "right", text: after.String(), kind: enroll.MailConfirmed}
	sorry := letter{to: "wrong", text: "by mistake", kind: mistakenAddress}
	for _, test := range []struct {
		name           string
		l              ledger
		letters        []letter
		untold, leaked int
		wrong          bool
	}{
		{"all is right", l, []letter{old, link, sorry}, 0, 0, false},
		{"the right one has no link", l, []letter{old, sorry}, 1, 0, true},
		{"the wrong one was not told", l, []letter{old, link}, 1, 0, true},
		{"the wrong one has the new link", l, []letter{link, sorry, {to: "wrong", text: after.String()}}, 0, 1, true},
		{"the right one has the old link", l, []letter{link, sorry, {to: "right", text: before.String()}}, 0, 1, true},
		{"the id is not retired", ledger{line: l.line}, []letter{link, sorry}, 0, 0, true},
		{"the address is the old one", ledger{line: []entry{{Ticket: 1, ID: after, Key: "wrong"}}, retired: l.retired}, []letter{link, sorry}, 0, 0, true},
		{"nobody asked for a correction", ledger{line: l.line, retired: map[uuid.UUID]int64{before: 1, uuid.New(): 1}}, []letter{link, sorry}, 0, 0, true},
	} {
		var r chaosResult
		r.judgeCorrected(&chaosRun{corrections: []correction{c}}, test.l, map[int64][]letter{1: test.letters})
		if r.CorrectedUntold != test.untold || r.LinkLeaked != test.leaked || (len(r.wrong) > 0) != test.wrong {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

// TestReplayFollowsCorrections has the owner of a mistyped address ask before and
// after it was corrected.
func TestReplayFollowsCorrections(t *testing.T) {
	t.Parallel()
	line := []entry{
		{Ticket: 1, Kind: enroll.Register, Key: "right", FirstKey: "wrong", Corrected: new(int64(3))},
		{Ticket: 2, Kind: enroll.Register, Key: "wrong"},
		{Ticket: 3, Kind: enroll.Register, Key: "right", FirstKey: "typo", Corrected: new(int64(3))},
		{Ticket: 4, Kind: enroll.Register, Key: "wrong"},
		{Ticket: 5, Kind: enroll.Register, Key: "right"},
	}
	line[2].Key = "other"
	got := replayLine(rushPlan{seats: 3, waitlist: new(5)}, line)
	for i, want := range []enroll.Status{enroll.Confirmed, enroll.Rejected, enroll.Confirmed, enroll.Confirmed, enroll.Rejected} {
		if f := got.fates[int64(i)+1]; f.status != want {
			t.Errorf("ticket %d is %s, want %s", i+1, f.status, want)
		}
	}
	if held := got.holding(got.seated, enroll.Confirmed); len(held) != 3 || held[0].Key != "right" || held[1].Key != "other" || held[2].Key != "wrong" {
		t.Errorf("seats are held by %v", held)
	}
}

func TestAStrangerHearsThatTheLinkIsGone(t *testing.T) {
	t.Parallel()
	before, after := uuid.New(), uuid.New()
	for _, test := range []struct {
		name          string
		retired, gone bool
		wrong         bool
	}{
		{"corrected, and told so", true, true, false},
		{"corrected, and not told", true, false, true},
		{"told so, and not corrected", false, true, true},
	} {
		c := &click{email: "wrong", gone: test.gone, registration: registration{ID: before, Ticket: 1, Status: enroll.Confirmed}}
		e := entry{ID: after, Ticket: 1, Kind: enroll.Register, Key: "right", FirstKey: "wrong", Status: enroll.Confirmed}
		l := ledger{line: []entry{e}, retired: map[uuid.UUID]int64{before: 1}}
		if !test.retired {
			e.ID, e.Key = before, "wrong"
			l = ledger{line: []entry{e}}
		}
		var r result
		r.judgeTold([]*click{c}, l)
		if (len(r.wrong) > 0) != test.wrong {
			t.Errorf("%s: %q", test.name, r.wrong)
		}
	}
}
