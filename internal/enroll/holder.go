package enroll

import (
	"fmt"
	"time"
)

// Holder is a transaction that holds a row which accepting or settling needs.
type Holder struct {
	Run         string // the run's slug
	Line        bool   // it holds the head of the line, not the run's row
	PID         int    // 0 = a prepared transaction
	Application string
	State       string        // as in pg_stat_activity; empty = not visible
	Age         time.Duration // of the transaction; 0 = not visible
}

// String returns a clause that names the holder and the row.
func (h Holder) String() string {
	row := "the run's row"
	if h.Line {
		row = "the head of the line"
	}
	switch {
	case h.PID == 0:
		return "a prepared transaction holds " + row
	case h.State == "":
		return fmt.Sprintf("pid %d holds %s (grant pg_read_all_stats to see more)", h.PID, row)
	default:
		return fmt.Sprintf("pid %d (%s, %s) has held %s for up to %s", h.PID, h.Application, h.State, row, h.Age.Round(time.Second))
	}
}

// Remedy returns what an operator can do if the transaction does not end by
// itself.
func (h Holder) Remedy() string {
	if h.PID == 0 {
		return "find it in pg_prepared_xacts and end it with ROLLBACK PREPARED"
	}
	return fmt.Sprintf("end it with SELECT pg_terminate_backend(%d)", h.PID)
}
