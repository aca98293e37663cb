package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/bench/report"
)

// tick is the unit of CPU time in /proc on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// meter measures the CPU time that something takes.
type meter struct {
	a         *arena
	processes []int
	began     map[report.Metric]time.Duration
}

// startMeter begins to measure the processes of a contender, the services and this
// process, which is the crowd.
func (a *arena) startMeter(processes []int) *meter {
	m := &meter{a: a, processes: processes}
	m.began = m.read()
	return m
}

// stop notes what was used, for each request.
func (m *meter) stop(sample report.Sample, requests int) {
	for metric, used := range m.used() {
		if requests > 0 {
			sample[metric] = report.Milliseconds(used) / float64(requests)
		}
	}
}

// used returns what was used since the meter was started.
func (m *meter) used() map[report.Metric]time.Duration {
	used := make(map[report.Metric]time.Duration)
	for metric, now := range m.read() {
		if before, known := m.began[metric]; known {
			used[metric] = now - before
		}
	}
	return used
}

func (m *meter) read() map[report.Metric]time.Duration {
	now := make(map[report.Metric]time.Duration)
	note := func(metric report.Metric, pid int, of func(int) (time.Duration, bool)) {
		if used, known := of(pid); pid != 0 && known {
			now[metric] += used
		}
	}
	for _, pid := range m.processes {
		note(report.CPU, pid, cpuOf)
	}
	note(report.CPUPostgres, m.a.postgres, cpuOfTree)
	note(report.CPURedis, m.a.redis, cpuOf)
	note(report.CPUClient, os.Getpid(), cpuOf)
	return now
}

// cpuOf returns the CPU time, of user and system, that the process has used. It is
// known on Linux only.
func cpuOf(pid int) (time.Duration, bool) {
	own, _, _, ok := readStat(pid)
	return own, ok
}

// cpuOfTree returns what the process, its children and those of them that have
// ended have used: Postgres works in children.
func cpuOfTree(pid int) (time.Duration, bool) {
	own, ended, _, ok := readStat(pid)
	if !ok {
		return 0, false
	}
	total := own + ended
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if used, _, parent, ok := readStat(child); ok && parent == pid {
			total += used
		}
	}
	return total, true
}

// readStat reads proc(5)'s stat of a process: what it has used, what its ended
// children have used, and its parent.
func readStat(pid int) (own, ended time.Duration, parent int, ok bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, false
	}
	return parseStat(content)
}

func parseStat(content []byte) (own, ended time.Duration, parent int, ok bool) {
	// The name of the program, in parentheses, may have anything in it.
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return 0, 0, 0, false
	}
	fields := strings.Fields(string(content[end+1:])) // the first is the third of the line
	if len(fields) < 15 {
		return 0, 0, 0, false
	}
	var n [5]int64
	for i, field := range []int{1, 11, 12, 13, 14} {
		var err error
		if n[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return 0, 0, 0, false
		}
	}
	return time.Duration(n[1]+n[2]) * tick, time.Duration(n[3]+n[4]) * tick, int(n[0]), true
}
