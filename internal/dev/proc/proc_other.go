//go:build !linux

package proc

import (
	"syscall"
	"time"
)

// dieWithParent does nothing: only Linux has such a signal. A parent that is
// killed leaves a Postgres behind, which the next start stops (cluster.Open), and
// programs that you have to stop by hand.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// processClock knows nothing: only Linux lets a process read the clock of another.
func processClock(int) (time.Duration, bool) { return 0, false }
