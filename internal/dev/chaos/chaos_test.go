package chaos

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/verify"
	"github.com/lastseat/lastseat/internal/enroll"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		want  plan
		fails bool
	}{
		{args: "-seconds=5 -seed=7", want: plan{seconds: 5, seed: 7}},
		{args: "-seed=18446744073709551615 -json", want: plan{seconds: 60, seed: 1<<64 - 1, json: true}},
		{args: "-faults=cut,line_held", want: plan{seconds: 60, kinds: []string{"cut", "line_held"}}},
		{args: "-faults=earthquake", fails: true},
		{args: "-seconds=0", fails: true},
		{args: "-seconds=86401", fails: true},
		{args: "-seconds=ten", fails: true},
		{args: "-seed=-1", fails: true},
		{args: "more", fails: true},
	} {
		got, err := parse(strings.Fields(test.args))
		if test.want.seed == 0 {
			got.seed = 0 // a new one each time
		}
		if (err != nil) != test.fails || err == nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %+v, %v", test.args, got, err)
		}
	}
	a, _ := parse(nil)
	b, _ := parse(nil)
	if a.seconds != 60 || a.seed == b.seed {
		t.Errorf("without arguments: %+v, %+v", a, b)
	}
}

// at returns an instant so many milliseconds after a fixed start.
func at(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }

func TestRecoveryIsExcusedByFaults(t *testing.T) {
	t.Parallel()
	line := map[int32][]verify.LineMark{1: {{At: at(0), Last: 1, Settled: 0}, {At: at(400), Last: 1, Settled: 1}}}
	for _, test := range []struct {
		fault injected
		want  float64 // milliseconds
	}{
		{injected{kind: "cut", from: at(100), to: at(300)}, 100},
		{injected{kind: "cut", to: at(300)}, 400}, // nothing was broken
		{injected{kind: "mail_hanging", from: at(100), to: at(300)}, 400},
		{injected{kind: "lock_backend_frozen", from: at(100), to: at(300)}, 400},
		{injected{kind: "line_held", from: at(100), to: at(300)}, 400},
	} {
		r := newResult(plan{}, nil, observations{faults: []injected{test.fault}, lines: line})
		if r.SlowestRecovery != test.want {
			t.Errorf("%+v: %v ms, want %v", test.fault, r.SlowestRecovery, test.want)
		}
		happened := 1
		if test.fault.from.IsZero() {
			happened = 0
		}
		if r.faultCount() != happened {
			t.Errorf("%+v: counted %v", test.fault, r.Faults)
		}
	}
}

func TestRefusalsWhileALineIsHeld(t *testing.T) {
	t.Parallel()
	held := []injected{{kind: "line_held", from: at(100), to: at(200)}, {kind: "line_held", to: at(1000)}}
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
		s := &clients.Submission{Refused: []clients.Answer{{Asked: at(test.asked), Answered: at(test.answered), Problem: string(test.problem)}}}
		var v verify.Result
		judgeRefusals(&v, &run{submissions: []*clients.Submission{s}}, held)
		if (len(v.Findings) > 0) != test.wrong {
			t.Errorf("%s: %q", test.name, v.Findings)
		}
	}
}
