package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel send the signal to the child when the thread
// that started it ends (prctl(2), PR_SET_PDEATHSIG). So children also stop when
// this process is killed and cannot stop them itself.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

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
