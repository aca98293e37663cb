package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// treeClock returns the CPU time used by the process, its children, and those of
// its children that have ended: Postgres works in children. The time is known on
// Linux only.
func treeClock(pid int) (time.Duration, bool) {
	total, known := processClock(pid)
	ended, _, ok := readStat(pid)
	if !known || !ok {
		return 0, false
	}
	total += ended
	for _, child := range ChildrenOf(pid) {
		used, _ := processClock(child) // 0 if it has ended since
		total += used
	}
	return total, true
}

// readStat reads a process's stat (proc(5)): the CPU time of its ended children,
// and its parent.
func readStat(pid int) (ended time.Duration, parent int, ok bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	return parseStat(content)
}

func parseStat(content []byte) (ended time.Duration, parent int, ok bool) {
	// The program's name, in parentheses, may contain any character.
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(content[end+1:])) // from the third field on
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
