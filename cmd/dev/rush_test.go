package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestARushTellsHowManyConfirmationsWereSent(t *testing.T) {
	t.Parallel()
	r := result{rushJSON: rushJSON{Confirmed: 20}, plan: rushPlan{waitlist: new(0)}, directSeats: 20}
	r.judgeMail(confirmations{Written: 20, Seats: 20, Sent: 19})
	if len(r.wrong) != 0 {
		t.Errorf("a mail that has not left yet is said to be wrong: %q", r.wrong)
	}
	var table strings.Builder
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 19 sent\n") {
		t.Errorf("the table says\n%s", table.String())
	}
	r.judgeMail(confirmations{Written: 20, Seats: 20, Sent: 12, Skipped: 8})
	table.Reset()
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 12 sent, 8 superseded\n") {
		t.Errorf("the table says\n%s", table.String())
	}
	text, err := json.Marshal(r.rushJSON)
	if err != nil || !strings.Contains(string(text), `"confirmations":20,"confirmations_sent":12,"confirmations_superseded":8`) {
		t.Errorf("the JSON is %s (%v)", text, err)
	}
	r.judgeMail(confirmations{Written: 20, Seats: 20, Skipped: 20})
	if len(r.wrong) != 0 {
		t.Errorf("it is said to be wrong that everybody cancelled: %q", r.wrong)
	}
	r.plan.cancel, r.ConfirmationsSuperseded = 0.5, 0
	table.Reset()
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 0 sent, 0 superseded\n") {
		t.Errorf("where people cancel, the table says\n%s", table.String())
	}
}

func TestTheGreetingNamesRunsThatAreThere(t *testing.T) {
	t.Parallel()
	text := greeting(&stack{APIURL: "http://x", OrganiserToken: "t"})
	for _, want := range []string{
		"http://x/v1/links", `"language": "de", "notify": true`, "/v1/runs/" + exampleFull + "/registrations",
		`"ada@example.org"}' http://x/v1/runs/` + exampleWaitlistRun + "/registrations ",
		"-X DELETE -H 'Authorization: Bearer t' http://x/v1/runs/" + exampleWaitlistRun + "/registrations/1 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the greeting lacks %s:\n%s", want, text)
		}
	}
}

func TestParseRush(t *testing.T) {
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
		plan, _, err := parseRush(strings.Fields(test.args))
		if (err != nil) != test.fails {
			t.Errorf("%q: %v", test.args, err)
		}
		if test.fails {
			continue
		}
		waitlist := -1
		if plan.waitlist != nil {
			waitlist = *plan.waitlist
		}
		if waitlist != test.waitlist || plan.cancel != test.cancel || plan.plain() != test.plain {
			t.Errorf("%q: %+v with %d places", test.args, plan, waitlist)
		}
	}
}

func TestRegret(t *testing.T) {
	t.Parallel()
	seen := make(map[regretTime]int)
	twice := 0
	for range 10_000 {
		r := newRegret(0.3)
		seen[r.when]++
		twice += r.devices / 2
	}
	if n := 10_000 - seen[never]; n < 2700 || n > 3300 || seen[atOnce] < 400 || seen[whenPromoted] < 400 || twice < 400 {
		t.Errorf("of 10000 people with a share of 0.3: %v, %d with two devices", seen, twice)
	}
	for range 1000 {
		if newRegret(0).when != never || newRegret(1).when == never {
			t.Fatal("a share of 0 or 1 is not kept")
		}
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	for _, people := range []int{1, 7, 100, 333} {
		plan := rushPlan{people: people, waitlist: new(0)}
		w := newCrowd(plan, newClicks(plan), "", "", nil)
		for range len(w.clicks) / 2 {
			w.answer()
		}
		if people > 1 {
			if err := w.moment(t.Context(), regret{moment: 0.4}); err != nil {
				t.Error(err)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := w.moment(ended, regret{moment: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%d people: the last moment comes too early: %v", people, err)
		}
		for range len(w.clicks) - len(w.clicks)/2 {
			w.answer()
		}
		for _, moment := range w.moments {
			<-moment
		}
	}
}

// TestQuiet lets somebody who is idle be woken while the line is being read.
func TestQuiet(t *testing.T) {
	t.Parallel()
	var q *quiet
	var looks atomic.Int64
	q = newQuiet(2, func(context.Context) (int64, error) {
		switch looks.Add(1) {
		case 1: // somebody hears of a promotion that came of the last request
			if !q.wake() {
				t.Error("it is quiet although somebody was woken")
			}
			q.idle()
			return 0, nil
		case 2:
			return 1, nil // and has cancelled
		case 3:
			return 0, errors.New("not now")
		}
		return 0, nil
	})
	result := make(chan error, 1)
	go func() { result <- q.await(t.Context()) }()
	q.leave()
	q.idle()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	<-q.over
	if n := looks.Load(); n != 4 {
		t.Errorf("%d looks at the line, want 4", n)
	}
	if q.wake() {
		t.Error("the rush goes on after it was quiet")
	}
}
