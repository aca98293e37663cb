package rush

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

func TestConfirmationsAreReported(t *testing.T) {
	t.Parallel()
	r := &Result{numbers: numbers{Confirmed: 20}, plan: Plan{Waitlist: new(0)}, seatedAtOnce: 20}
	r.judgeConfirmations(confirmations{Written: 20, Seats: 20, Sent: 19})
	if len(r.Findings) != 0 {
		t.Errorf("a mail that is still to be sent is a finding: %q", r.Findings)
	}
	var table strings.Builder
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 19 sent\n") {
		t.Errorf("the table says\n%s", table.String())
	}
	r.judgeConfirmations(confirmations{Written: 20, Seats: 20, Sent: 12, Skipped: 8})
	table.Reset()
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 12 sent, 8 superseded\n") {
		t.Errorf("the table says\n%s", table.String())
	}
	text, err := json.Marshal(r.numbers)
	if err != nil || !strings.Contains(string(text), `"confirmations":20,"confirmations_sent":12,"confirmations_superseded":8`) {
		t.Errorf("the JSON is %s (%v)", text, err)
	}
	r.judgeConfirmations(confirmations{Written: 20, Seats: 20, Skipped: 20})
	if len(r.Findings) != 0 {
		t.Errorf("it is a finding that all people cancelled: %q", r.Findings)
	}
	r.plan.Cancel, r.ConfirmationsSuperseded = 0.5, 0
	table.Reset()
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 0 sent, 0 superseded\n") {
		t.Errorf("where people cancel, the table says\n%s", table.String())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args     string
		waitlist int // -1 = any number
		cancel   float64
		plain    bool
		fails    bool
	}{
		{args: "", plain: true},
		{args: "-people=7 -seats=0 -json", plain: true},
		{args: "-waitlist=0 -cancel=0", plain: true},
		{args: "-waitlist=300 -cancel=0.3", waitlist: 300, cancel: 0.3},
		{args: "-waitlist=all", waitlist: -1},
		{args: "-cancel=1", cancel: 1},
		{args: "-waitlist=-1", fails: true},
		{args: "-waitlist=some", fails: true},
		{args: "-waitlist=", fails: true},
		{args: "-cancel=1.1", fails: true},
		{args: "-cancel=-0.1", fails: true},
		{args: "-cancel=NaN", fails: true},
		{args: "-people=0", fails: true},
		{args: "-seats=-1", fails: true},
		{args: "more", fails: true},
	} {
		plan, _, err := parse(strings.Fields(test.args))
		if (err != nil) != test.fails {
			t.Errorf("%q: %v", test.args, err)
		}
		if test.fails {
			continue
		}
		waitlist := -1
		if plan.Waitlist != nil {
			waitlist = *plan.Waitlist
		}
		if waitlist != test.waitlist || plan.Cancel != test.cancel || plan.plain() != test.plain {
			t.Errorf("%q: %+v with %d places", test.args, plan, waitlist)
		}
	}
}

func TestCPUPerSeatedPerson(t *testing.T) {
	t.Parallel()
	all := proc.CPUTimes{proc.PartClient: time.Second, proc.PartAPI: 2 * time.Second, proc.PartWorker: 3 * time.Second, proc.PartPostgres: 4 * time.Second, proc.PartRedis: 0}
	unknown := proc.CPUTimes{proc.PartClient: time.Second, proc.PartAPI: time.Second, proc.PartWorker: time.Second, proc.PartRedis: time.Second}
	for _, test := range []struct {
		name   string
		used   proc.CPUTimes
		seated int
		words  string
		json   string
	}{
		{"all known", all, 1000, "10.000 ms (client 1.000, api 2.000, worker 3.000, postgres 4.000, redis 0.000)", `"cpu_ms_per_seated":10,`},
		{"no seat taken", all, 0, "none", `"cpu_ms_per_seated":null,`},
		{"Postgres elsewhere", unknown, 10, "postgres", `"cpu_ms_per_seated":null,"cpu_ms_per_seated_by_part":{"api":100,`},
	} {
		c := newCPU(test.used, test.seated)
		text, err := json.Marshal(numbers{cpu: c})
		if err != nil || !strings.Contains(c.words(), test.words) || !strings.Contains(string(text), test.json) {
			t.Errorf("%s: %s, %s, %v", test.name, c.words(), text, err)
		}
	}
}
