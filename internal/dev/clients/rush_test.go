package clients

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestCancelPlans(t *testing.T) {
	t.Parallel()
	seen := make(map[CancelTime]int)
	twice := 0
	for range 10_000 {
		p := drawCancelPlan(0.3)
		seen[p.When]++
		twice += p.Devices / 2
	}
	if n := 10_000 - seen[CancelNever]; n < 2700 || n > 3300 || seen[CancelAtOnce] < 400 || seen[CancelOncePromoted] < 400 || twice < 400 {
		t.Errorf("of 10000 people with a share of 0.3: %v, %d with two devices", seen, twice)
	}
	for range 1000 {
		if drawCancelPlan(0).When != CancelNever || drawCancelPlan(1).When == CancelNever {
			t.Fatal("a share of 0 or 1 is not kept")
		}
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	for _, people := range []int{1, 7, 100, 333} {
		r := NewRush(NewSubmissions(people, 0), false, "", "", nil)
		for range len(r.submissions) / 2 {
			r.countAnswer()
		}
		if people > 1 {
			if err := r.awaitCancelTime(t.Context(), CancelPlan{At: 0.4}); err != nil {
				t.Error(err)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := r.awaitCancelTime(ended, CancelPlan{At: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%d people: the last milestone comes too early: %v", people, err)
		}
		for range len(r.submissions) - len(r.submissions)/2 {
			r.countAnswer()
		}
		for _, milestone := range r.milestones {
			<-milestone
		}
	}
}

// TestActivity lets a person who paused resume while the line is being read.
func TestActivity(t *testing.T) {
	t.Parallel()
	var a *activity
	var looks atomic.Int64
	a = newActivity(2, func(context.Context) (int64, error) {
		switch looks.Add(1) {
		case 1: // a person hears of a promotion by the last request
			if !a.resume() {
				t.Error("it is over although a person has resumed")
			}
			a.pause()
			return 0, nil
		case 2:
			return 1, nil // and has cancelled
		case 3:
			return 0, errors.New("not now")
		}
		return 0, nil
	})
	result := make(chan error, 1)
	go func() { result <- a.awaitEnd(t.Context()) }()
	a.leave()
	a.pause()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	<-a.over
	if n := looks.Load(); n != 4 {
		t.Errorf("%d looks at the line, want 4", n)
	}
	if a.resume() {
		t.Error("the rush goes on after it was over")
	}
}
