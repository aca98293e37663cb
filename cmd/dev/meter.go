package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// part is what a process does while CPU time is measured.
type part string

const (
	partClient   part = "client" // this process: it asks, and receives the mails of a stack of its own
	partAPI      part = "api"
	partWorker   part = "worker"
	partRival    part = "rival" // in place of api and worker
	partPostgres part = "postgres"
	partRedis    part = "redis"
)

// rushParts are all that work in a rush.
var rushParts = []part{partClient, partAPI, partWorker, partPostgres, partRedis}

// meter measures the CPU time, of user and system, that processes use.
type meter struct {
	processes map[part]int
	began     cpuTimes
}

// cpuTimes is CPU time by what used it. A part whose process is not on this
// machine is not there.
type cpuTimes map[part]time.Duration

// startMeter begins to measure the processes, and this one as the client.
func startMeter(processes map[part]int) *meter {
	m := &meter{processes: map[part]int{partClient: os.Getpid()}}
	maps.Copy(m.processes, processes)
	m.began = m.read()
	return m
}

// used returns what was used since the meter was started.
func (m *meter) used() cpuTimes {
	used := make(cpuTimes)
	for p, now := range m.read() {
		if before, known := m.began[p]; known {
			used[p] = now - before
		}
	}
	return used
}

func (m *meter) read() cpuTimes {
	now := make(cpuTimes)
	for p, pid := range m.processes {
		of := cpuOf
		if p == partPostgres {
			of = cpuOfTree
		}
		if used, known := of(pid); pid != 0 && known {
			now[p] = used
		}
	}
	return now
}

// sum returns what the parts used together, and false if one of them is not
// known.
func (c cpuTimes) sum(parts ...part) (total time.Duration, ok bool) {
	for _, p := range parts {
		used, known := c[p]
		if !known {
			return 0, false
		}
		total += used
	}
	return total, true
}

// missing returns which of the parts are not known.
func (c cpuTimes) missing(parts ...part) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { _, known := c[p]; return known })
}

// cpuOf returns the CPU time that the process has used. It is known on Linux only.
func cpuOf(pid int) (time.Duration, bool) { return processClock(pid) }

// cpuOfTree returns what the process, its children and those of them that have
// ended have used: Postgres works in children.
func cpuOfTree(pid int) (time.Duration, bool) {
	total, known := processClock(pid)
	ended, _, ok := readStat(pid)
	if !known || !ok {
		return 0, false
	}
	total += ended
	for _, child := range childrenOf(pid) {
		used, _ := processClock(child) // 0 if it has ended since
		total += used
	}
	return total, true
}

// readStat reads proc(5)'s stat of a process: what its ended children have used,
// and its parent.
func readStat(pid int) (ended time.Duration, parent int, ok bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	return parseStat(content)
}

func parseStat(content []byte) (ended time.Duration, parent int, ok bool) {
	// The name of the program, in parentheses, may have anything in it.
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(content[end+1:])) // the first is the third of the line
	if len(fields) < 15 {
		return 0, 0, false
	}
	var n [3]int64
	for i, field := range []int{1, 13, 14} {
		var err error
		if n[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return 0, 0, false
		}
	}
	return time.Duration(n[1]+n[2]) * tick, int(n[0]), true
}
