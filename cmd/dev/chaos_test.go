package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestParseChaos(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		want  chaosPlan
		fails bool
	}{
		{args: "-seconds=5 -seed=7", want: chaosPlan{seconds: 5, seed: 7}},
		{args: "-seed=18446744073709551615 -json", want: chaosPlan{seconds: 60, seed: 1<<64 - 1, json: true}},
		{args: "-faults=cut,line_held", want: chaosPlan{seconds: 60, kinds: []string{"cut", "line_held"}}},
		{args: "-faults=earthquake", fails: true},
		{args: "-seconds=0", fails: true},
		{args: "-seconds=86401", fails: true},
		{args: "-seconds=ten", fails: true},
		{args: "-seed=-1", fails: true},
		{args: "more", fails: true},
	} {
		got, err := parseChaos(strings.Fields(test.args))
		if test.want.seed == 0 {
			got.seed = 0 // a new one each time
		}
		if (err != nil) != test.fails || err == nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %+v, %v", test.args, got, err)
		}
	}
	a, _ := parseChaos(nil)
	b, _ := parseChaos(nil)
	if a.seconds != 60 || a.seed == b.seed {
		t.Errorf("without arguments: %+v, %+v", a, b)
	}
}

// at returns an instant so many milliseconds after some beginning.
func at(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }

func TestOvertakers(t *testing.T) {
	t.Parallel()
	person := func(ticket int64, sent, answered int) *click {
		return &click{registration: registration{Ticket: ticket}, sent: at(sent), answered: at(answered)}
	}
	for _, test := range []struct {
		name   string
		clicks []*click
		want   int
	}{
		{"nobody", nil, 0},
		{"one after the other", []*click{person(1, 0, 10), person(2, 20, 30)}, 0},
		{"at once, in any order", []*click{person(2, 0, 10), person(1, 5, 30)}, 0},
		{"who asked later is first", []*click{person(2, 0, 10), person(1, 20, 30)}, 1},
		{"everybody before the one who was answered first", []*click{person(3, 0, 10), person(1, 20, 30), person(2, 25, 40)}, 2},
	} {
		if got := overtakers(test.clicks); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestRecoveryCountsFromTheLastFault(t *testing.T) {
	t.Parallel()
	asked := func(first int64, asked, decided int) []lineMark {
		return []lineMark{{at(asked), first, first - 1}, {at(decided), first, first}}
	}
	faults := []faultRecord{
		{from: at(100), to: at(200)}, {from: at(150), to: at(300)}, {kind: "did not come to that", to: at(10_000)},
		{kind: "mail_hanging", from: at(0), to: at(10_000)}, {kind: "lock_backend_frozen", from: at(0), to: at(10_000)}, {kind: "line_held", from: at(0), to: at(10_000)},
	}
	for _, test := range []struct {
		name string
		line []lineMark
		want float64
	}{
		{"nobody asked", nil, 0},
		{"before anything broke", asked(1, 0, 40), 40},
		{"while something was broken", asked(1, 120, 290), 0},
		{"from the end of the last fault", asked(1, 120, 350), 50},
		{"from when it was asked for", asked(1, 400, 420), 20},
		{"the slowest counts", slices.Concat(asked(1, 120, 350), asked(2, 400, 420), []lineMark{{at(430), 3, 2}}), 50},
		{"several at once", []lineMark{{at(400), 1, 0}, {at(410), 3, 0}, {at(430), 3, 1}, {at(450), 3, 3}}, 40},
	} {
		var r chaosResult
		r.measureRecovery(test.line, faults)
		if r.SlowestRecovery != test.want {
			t.Errorf("%s: %v ms, want %v", test.name, r.SlowestRecovery, test.want)
		}
	}
}

func TestNobodyIsLeftInDoubtByAHeldLine(t *testing.T) {
	t.Parallel()
	held := []faultRecord{{kind: "line_held", from: at(100), to: at(200)}, {kind: "line_held", to: at(1000)}}
	for _, test := range []struct {
		name            string
		asked, answered int
		problem         enroll.Code
		wrong           bool
	}{
		{"told that it is held", 110, 120, enroll.LineBlocked, false},
		{"told that it is busy", 110, 120, "busy", false},
		{"left in doubt", 110, 120, enroll.OutcomeUnknown, true},
		{"asked before", 90, 120, enroll.OutcomeUnknown, false},
		{"heard afterwards", 110, 210, enroll.OutcomeUnknown, false},
	} {
		c := &click{refused: []answer{{asked: at(test.asked), answered: at(test.answered), problem: string(test.problem)}}}
		var r chaosResult
		r.judgeRefusals(&chaosRun{clicks: []*click{c}}, held)
		if (len(r.wrong) > 0) != test.wrong {
			t.Errorf("%s: %q", test.name, r.wrong)
		}
	}
}

func TestLettersAreComparedWithTheOutbox(t *testing.T) {
	t.Parallel()
	row := func(id string, state enroll.MailState) outboxRow {
		return outboxRow{id, "run", enroll.MailConfirmed, state, enroll.Cancelled, 1, ""}
	}
	for _, test := range []struct {
		name              string
		outbox            []outboxRow
		arrived           map[string]int
		missing, repeated int
		wrong             string // "" = nothing
	}{
		{"each once", []outboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 1}, 0, 0, ""},
		{"superseded", []outboxRow{row("a", enroll.MailSkipped)}, map[string]int{}, 0, 0, ""},
		{"superseded, and on its way before", []outboxRow{row("a", enroll.MailSkipped)}, map[string]int{"a": 1}, 0, 0, ""},
		{"again", []outboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 3}, 0, 2, ""},
		{
			"skipped although it was right", []outboxRow{{"a", "run", enroll.MailPromoted, enroll.MailSkipped, enroll.Confirmed, 1, ""}}, map[string]int{}, 1, 0,
			"is skipped, its registration confirmed",
		},
		{"all of them again and again", []outboxRow{row("a", enroll.MailSent)}, map[string]int{"a": 10}, 0, 9, "1 faults can explain 4"},
		{"said to be sent", []outboxRow{row("a", enroll.MailSent)}, map[string]int{}, 1, 0, `a mail "confirmed" is sent, its registration cancelled, and it has not arrived`},
		{"still pending", []outboxRow{row("a", enroll.MailPending)}, map[string]int{}, 1, 0, "is pending"},
		{"the address was corrected", []outboxRow{{"a", "run", enroll.MailConfirmed, enroll.MailSkipped, enroll.Confirmed, 1, "the address was corrected"}}, map[string]int{}, 0, 0, ""},
		{"told otherwise", []outboxRow{{"a", "run", enroll.MailChanged, enroll.MailSkipped, enroll.Confirmed, 1, ""}}, map[string]int{}, 0, 0, ""},
		{"of nothing", nil, map[string]int{"x": 1}, 0, 0, "not in the outbox (x)"},
		{"let go before anybody looked", nil, map[string]int{"": 4}, 0, 0, "4 mails have arrived that are not in the outbox (unread)"},
	} {
		r := chaosResult{chaosJSON: chaosJSON{Faults: map[string]int{"worker_killed": 1}}}
		arrived := make(map[string][]letter)
		for id, n := range test.arrived {
			arrived[id] = make([]letter, n)
		}
		r.judgeLetters(test.outbox, arrived)
		if r.MailMissing != test.missing || r.MailRepeated != test.repeated || (len(r.wrong) > 0) != (test.wrong != "") ||
			!strings.Contains(strings.Join(r.wrong, "\n"), test.wrong) {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

func TestWhatWasAcceptedIsInTheLine(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	line := []entry{{ID: id, Ticket: 1, Kind: enroll.Register}, {Ticket: 2, Kind: enroll.Cancel, Target: 1}, {Ticket: 3, Kind: enroll.Resize}}
	for _, test := range []struct {
		name                                string
		registration, cancellation, resized int64
		lost                                int
	}{
		{"all there", 1, 2, 3, 0},
		{"another ticket", 2, 2, 3, 1},
		{"beyond the end", 1, 4, 5, 2},
		{"something else stands there", 1, 3, 2, 2},
	} {
		run := &chaosRun{
			clicks:  []*click{{registration: registration{ID: id, Ticket: test.registration}, cancels: []cancelAnswer{{ticket: test.cancellation}}}},
			changes: []answer{{registration: registration{Ticket: test.resized}}},
		}
		var r chaosResult
		r.judgeKept(run, ledger{line: line})
		if r.Lost != test.lost || len(r.wrong) != test.lost {
			t.Errorf("%s: %d lost, want %d: %q", test.name, r.Lost, test.lost, r.wrong)
		}
	}
}

func TestReplayFollowsCapacitiesThatChange(t *testing.T) {
	t.Parallel()
	ask := func(ticket int64) entry { return entry{Ticket: ticket, Kind: enroll.Register, Key: uuid.NewString()} }
	line := []entry{
		ask(1), ask(2), ask(3), // a seat, a place, and neither
		{Ticket: 4, Kind: enroll.Resize, Places: new(2)}, ask(5),
		{Ticket: 6, Kind: enroll.Resize, Seats: new(2)}, // 2 is promoted
		{Ticket: 7, Kind: enroll.Resize, Seats: new(0)}, // nobody loses a seat
		{Ticket: 8, Kind: enroll.Cancel, Target: 1},     // and nobody gets this one
	}
	plan := rushPlan{seats: 1, waitlist: new(1), resized: true}
	right := replayLine(plan, line)
	want := []enroll.Status{enroll.Cancelled, enroll.Confirmed, enroll.Rejected, enroll.Done, enroll.Waitlisted, enroll.Done, enroll.Done, enroll.Done}
	for i, status := range want {
		if got := right.fates[int64(i)+1].status; got != status {
			t.Errorf("ticket %d is %s, want %s", i+1, got, status)
		}
	}
	if plan.resized = false; replayLine(plan, line).fates[4] != nil {
		t.Error("in a rush, nobody changes a capacity")
	}
}
