package proc

import (
	"maps"
	"os"
	"slices"
	"time"
)

// Part is what a process does while CPU time is measured.
type Part string

// The parts.
const (
	PartClient   Part = "client" // this process: it sends the requests, and receives the mails of its own stack
	PartAPI      Part = "api"
	PartWorker   Part = "worker"
	PartRival    Part = "rival" // in place of API and worker
	PartPostgres Part = "postgres"
	PartRedis    Part = "redis"
)

// CPUTimes is CPU time by the part that used it. A part is missing if its
// process is not on this machine.
type CPUTimes map[Part]time.Duration

// Meter measures the CPU time, user and system, that processes use.
type Meter struct {
	pids  map[Part]int
	began CPUTimes
}

// StartMeter begins to measure the processes, and this process as PartClient.
func StartMeter(pids map[Part]int) *Meter {
	m := &Meter{pids: map[Part]int{PartClient: os.Getpid()}}
	maps.Copy(m.pids, pids)
	m.began = m.read()
	return m
}

// Used returns the CPU time used since StartMeter.
func (m *Meter) Used() CPUTimes {
	used := make(CPUTimes)
	for p, now := range m.read() {
		if before, known := m.began[p]; known {
			used[p] = now - before
		}
	}
	return used
}

func (m *Meter) read() CPUTimes {
	now := make(CPUTimes)
	for p, pid := range m.pids {
		read := processClock
		if p == PartPostgres {
			read = treeClock
		}
		if used, known := read(pid); pid != 0 && known {
			now[p] = used
		}
	}
	return now
}

// Sum returns what the parts used together; ok is false if one of them is not
// known.
func (c CPUTimes) Sum(parts ...Part) (total time.Duration, ok bool) {
	for _, p := range parts {
		used, known := c[p]
		if !known {
			return 0, false
		}
		total += used
	}
	return total, true
}

// Missing returns those of the parts that are not known.
func (c CPUTimes) Missing(parts ...Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { _, known := c[p]; return known })
}
