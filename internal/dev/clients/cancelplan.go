package clients

import (
	"math/rand/v2"
	"time"
)

// CancelPlan says whether and when a person cancels. The zero CancelPlan is never.
type CancelPlan struct {
	When CancelTime
	// At is the time of CancelAt: 0 is the first answer of the rush and 1 the last;
	// up to latest, it is up to afterwards later than the last.
	At      float64
	Devices int // that cancel at once
}

// CancelTime is when a person cancels.
type CancelTime int

const (
	// CancelNever means that the person keeps what they get.
	CancelNever CancelTime = iota
	// CancelAtOnce means after the submission was accepted, mostly before its decision.
	CancelAtOnce
	// CancelOncePromoted means after a seat from the waiting list, or at CancelPlan.At if
	// there was a seat at once.
	CancelOncePromoted
	// CancelAt means at CancelPlan.At.
	CancelAt
)

const (
	// afterwards is how long after its last answer a rush has people who cancel.
	afterwards = 2 * time.Second
	// latest is the largest CancelPlan.At.
	latest = 1.25
)

// drawCancelPlan draws whether and when a person cancels. The share is that of the
// people who do.
func drawCancelPlan(share float64) CancelPlan {
	if rand.Float64() >= share { //nolint:gosec // it need not be hard to guess
		return CancelPlan{}
	}
	p := CancelPlan{When: CancelAt, At: latest * rand.Float64(), Devices: 1} //nolint:gosec // the same
	switch rand.IntN(5) {                                                    //nolint:gosec // the same
	case 0:
		p.When = CancelAtOnce
	case 1:
		p.When = CancelOncePromoted
	}
	if rand.IntN(5) == 0 { //nolint:gosec // the same
		p.Devices = 2
	}
	return p
}
