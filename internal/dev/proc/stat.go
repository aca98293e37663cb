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
	s, ok := readStat(pid)
	if !known || !ok {
		return 0, false
	}
	total += s.ended
	for _, child := range ChildrenOf(pid) {
		used, _ := processClock(child) // 0 if it has ended since
		total += used
	}
	return total, true
}

// stat is what Linux says of a process (proc(5)).
type stat struct {
	task
	ended time.Duration // the CPU time of its ended children
}

func readStat(pid int) (stat, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	return parseStat(content)
}

func parseStat(content []byte) (s stat, ok bool) {
	// The program's name, in parentheses, may contain any character.
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return s, false
	}
	before, _, _ := bytes.Cut(content, []byte(" "))
	fields := strings.Fields(string(content[end+1:])) // from the third field on
	if len(fields) < 20 {
		return s, false
	}
	var n [5]int64
	for i, field := range []string{string(before), fields[1], fields[2], fields[13], fields[14]} {
		var err error
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return s, false
		}
	}
	s.task = task{pid: int(n[0]), parent: int(n[1]), group: int(n[2]), zombie: fields[0] == "Z" || fields[0] == "X", started: fields[19]}
	s.ended = time.Duration(n[3]+n[4]) * tick
	return s, true
}
