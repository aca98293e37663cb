package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopLeftover makes sure that nothing runs on the cluster at path. Normally a postmaster.pid that a dirty stop left
// behind is Postgres' own affair, with two exceptions: its process still runs on this data, or its number has since
// been given to another process (common where containers restart), which would keep Postgres from starting.
func stopLeftover(ctx context.Context, path string, log *console) error {
	data := filepath.Join(path, "data")
	pidFile := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	pid := postmasterIn(content)
	if pid == 0 || !alive(pid) {
		return nil
	}
	if !isPostgresOn(pid, data) {
		// Removing it also removes Postgres' hint to backends that outlived it. There are none: they end with their
		// postmaster, at once, and that was long enough ago for its number to be in use again.
		return os.Remove(pidFile)
	}

	log.printf("stopping the Postgres (process %d) that an earlier start left behind on %s", pid, data)
	signalTree(pid, syscall.SIGCONT) // chaos may have frozen it, or one of its backends
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}} {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping process %d, a Postgres on %s: %w", pid, data, err)
		}
		for end := time.Now().Add(step.wait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if !isPostgresOn(pid, data) {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return fmt.Errorf("process %d, a Postgres on %s, does not stop", pid, data)
}

// postmasterIn returns the process that a postmaster.pid names in its first line, 0 if it names none. To signal a number
// below 2 would be to signal a group, everybody, or the first process of the machine.
func postmasterIn(content []byte) int {
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.ParseInt(strings.TrimSpace(line), 10, 32)
	if err != nil || pid <= 1 {
		return 0
	}
	return int(pid)
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isPostgresOn reports whether the process is a postgres that was started on the data folder, as startPostgres does it.
func isPostgresOn(pid int, data string) bool {
	return isProgram(pid, "postgres", "-D "+data+" ")
}

// isProgram reports whether the process runs a program of this name, with these among its arguments.
func isProgram(pid int, name string, arguments ...string) bool {
	var line string                                                                    // empty for a process that has ended and that its parent has not waited for
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil { //nolint:gosec // a number makes no path of its own
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
