package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestWaiting(t *testing.T) {
	t.Parallel()
	if got := (enroll.RunState{LastTicket: 12, SettledTicket: 5}).Waiting(); got != 7 {
		t.Errorf("%d wait, want 7", got)
	}
	if got := (enroll.RunState{LastTicket: 12, SettledTicket: 12}).Waiting(); got != 0 {
		t.Errorf("%d wait in a settled line", got)
	}
}
