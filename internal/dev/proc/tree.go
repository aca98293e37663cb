package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// task is an entry of the system's process table.
type task struct {
	pid, parent, group int
	zombie             bool   // it has ended, and its parent has not asked how
	started            string // in the system's own unit; without spaces
}

// tasks returns the process table.
func tasks() map[int]task {
	all := make(map[int]task)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the kernel names these folders by number
		if s, ok := readStat(pid); ok {
			all[pid] = s.task
		}
	}
	if len(stats) == 0 { // systems without /proc
		all = psTasks("-A")
	}
	return all
}

// taskOf returns the task of this number, the zero task if there is none.
func taskOf(pid int) task {
	if s, ok := readStat(pid); ok {
		return s.task
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return task{}
	}
	return psTasks("-p", strconv.Itoa(pid))[pid]
}

// psTasks asks ps(1) for the process table.
func psTasks(which ...string) map[int]task {
	cmd := exec.Command("ps", append(which, "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=")...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC0")
	out, _ := cmd.Output() // it fails if there is no such process
	all := make(map[int]task)
	for line := range strings.Lines(string(out)) {
		var t task
		var state string
		if n, _ := fmt.Sscan(line, &t.pid, &t.parent, &t.group, &state); n == 4 {
			t.zombie = strings.HasPrefix(state, "Z")
			t.started = strings.Join(strings.Fields(line)[4:], "_")
			all[t.pid] = t
		}
	}
	return all
}

// ChildrenOf returns the children of a process.
func ChildrenOf(pid int) (children []int) {
	for _, t := range tasks() {
		if t.parent == pid {
			children = append(children, t.pid)
		}
	}
	return children
}

// SignalTree signals a process and its children. Postgres' children are in
// process groups of their own. The parent comes first: once it is frozen, it
// starts no more children.
func SignalTree(pid int, signal syscall.Signal) {
	for _, p := range append([]int{pid}, ChildrenOf(pid)...) {
		_ = syscall.Kill(p, signal) // fails only if it has ended
	}
}

// Alive reports whether there is a process of this id.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// IsProgram reports whether the process runs a program of this name with these
// arguments among its own.
func IsProgram(pid int, name string, arguments ...string) bool {
	var line string // stays empty for a zombie
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		line = strings.ReplaceAll(string(content), "\x00", " ")
	} else if out, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output(); err == nil {
		line = strings.TrimSpace(string(out)) + " "
	}
	program, rest, _ := strings.Cut(line, " ")
	for _, a := range arguments {
		if !strings.Contains(rest, a) {
			return false
		}
	}
	return filepath.Base(program) == name
}
