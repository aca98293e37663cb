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

// ChildrenOf returns the children of a process.
func ChildrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the kernel names these folders by number
		if _, parent, ok := readStat(child); ok && parent == pid {
			children = append(children, child)
		}
	}
	if len(stats) > 0 {
		return children
	}
	out, _ := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output() // systems without /proc
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			children = append(children, child)
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
