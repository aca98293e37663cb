package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// processClock returns the CPU time that all threads of the process have used, in
// nanoseconds: /proc counts in hundredths of a second, and a rush takes fifty of
// them in forty processes. The number of a process's clock is part of Linux's
// interface (clock_getcpuclockid(3)).
func processClock(pid int) (time.Duration, bool) {
	const scheduler = 2 // the precise one of the three clocks of a process
	var used unix.Timespec
	if pid <= 0 || unix.ClockGettime(int32(^pid<<3|scheduler), &used) != nil {
		return 0, false
	}
	return time.Duration(used.Nano()), true
}
