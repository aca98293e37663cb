package proc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// The watchdog is a second process of the same program, in a session of its own.
// It waits until the pipe that it has as its standard input closes, which is when
// the first process has ended, in whatever way. Then it ends the children of that
// process and what they have started. A signal of Linux's to the children
// (PR_SET_PDEATHSIG) was refused: no other system has it, and it reaches only
// children that have not changed their user.

// watchdogVariable makes a process the watchdog; it holds the path of the register.
const watchdogVariable = "LASTSEAT_DEV_WATCHDOG"

// Every program that starts processes has a watchdog, also a test binary, whose
// main function is not ours.
func init() {
	if path := os.Getenv(watchdogVariable); path != "" {
		watch(path)
		os.Exit(0)
	}
}

// startWatchdog starts the watchdog of this process. It returns the file that must
// stay open.
func startWatchdog(register *os.File) (*os.File, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), watchdogVariable+"="+register.Name())
	cmd.Stdin = theirs
	cmd.ExtraFiles = []*os.File{register} // with its lock
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return ours, cmd.Process.Release()
}

func watch(path string) {
	// What ends the first process in order may be sent to both.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, os.Stdin)
	register := os.NewFile(3, path) // startWatchdog's; the path may be gone
	if _, err := register.Seek(0, io.SeekStart); err == nil {
		endAll(childrenIn(register))
	}
	// If this fails, the next process that starts a child removes it.
	_ = os.Remove(path) //nolint:gosec // the path comes from startWatchdog
}

// childrenIn returns the children in a register that have not ended.
func childrenIn(register io.Reader) (children []child) {
	at := make(map[int]child)
	var order []int
	for lines := bufio.NewScanner(register); lines.Scan(); {
		var c child
		if n, _ := fmt.Sscanf(lines.Text(), "+ %d %d %s %s", &c.pid, &c.stop, &c.started, &c.name); n == 4 && c.pid > 1 {
			at[c.pid] = c
			order = append(order, c.pid)
		} else if n, _ := fmt.Sscanf(lines.Text(), "- %d", &c.pid); n == 1 {
			delete(at, c.pid)
		}
	}
	for _, pid := range order {
		if c, is := at[pid]; is {
			children = append(children, c)
			delete(at, pid)
		}
	}
	return children
}

// endAll ends the children, their groups and their descendants: first with the
// signal that asks each child to stop, then with SIGQUIT, then with SIGKILL.
func endAll(children []child) {
	ours := make(map[int]task) // a descendant stays ours when its parent has ended
	for _, step := range []struct {
		insist syscall.Signal // 0 = the child's own
		wait   time.Duration
	}{{0, 3 * time.Second}, {syscall.SIGQUIT, 2 * time.Second}, {syscall.SIGKILL, time.Second}} {
		all := tasks()
		for _, c := range children {
			if c.gather(all, ours) {
				_ = syscall.Kill(-c.pid, cmp.Or(step.insist, c.stop)) // fails only if all of it has ended
			}
		}
		addDescendants(all, ours)
		for pid := range ours {
			_ = syscall.Kill(pid, syscall.SIGCONT) // chaos freezes processes
			if step.insist == syscall.SIGKILL {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		for end := time.Now().Add(step.wait); dropEnded(ours) > 0 && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// gather adds the tasks of the child's group to ours and reports whether there are
// any.
func (c child) gather(all, ours map[int]task) bool {
	// A group keeps its number after its leader has ended: no process gets a number
	// that a group has.
	if leader, is := all[c.pid]; is && !c.leads(leader) {
		return false
	}
	there := false
	for pid, t := range all {
		if t.group == c.pid && !t.zombie {
			ours[pid], there = t, true
		}
	}
	return there
}

// addDescendants adds the descendants of our tasks, which may be in groups of their
// own, as those of Postgres are.
func addDescendants(all, ours map[int]task) {
	for more := true; more; {
		more = false
		for pid, t := range all {
			_, below := ours[t.parent]
			if _, known := ours[pid]; below && !known && !t.zombie {
				ours[pid], more = t, true
			}
		}
	}
}

// dropEnded forgets the tasks that have ended and returns how many are left.
func dropEnded(ours map[int]task) int {
	for pid, t := range ours {
		if now := taskOf(pid); now.started != t.started || now.zombie {
			delete(ours, pid)
		}
	}
	return len(ours)
}
