// Package proc starts, stops and measures processes for the developer's tools,
// prints their output, and holds what the tools' main functions share. It knows
// nothing about Lastseat.
//
//	process.go  one child process: how it starts and stops
//	run.go      running a child to its end, waiting until a child answers
//	guard.go    children do not outlive us; watchdog.go: the process that sees to it
//	group.go    children that run together and stop together
//	service.go  a child that listens on a port and can be started again
//	tree.go     the process table: the children of a process, what it runs
//	console.go  lines with a prefix
//	progress.go waiting, and reporting how far something is
//	meter.go    CPU time; stat.go: where Linux keeps it
//	main.go     main, exit statuses
package proc

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Command says what to start and how to stop it.
type Command struct {
	Name       string   // as it appears in messages
	Args       []string // program and arguments
	Dir        string
	Env        []string            // the whole environment; nil = our own
	Stdout     io.Writer           // nil = discarded
	Stderr     io.Writer           // may be the same as Stdout
	Credential *syscall.Credential // nil = our own user

	StopSignal syscall.Signal // asks the process to stop; 0 = SIGTERM
	Grace      time.Duration  // between StopSignal and SIGQUIT; 0 = 10 s
	Finishes   bool           // it finishes its work if we die; else the watchdog ends it
}

// Process is one child, in a process group of its own: Ctrl-C in the terminal
// reaches only us, and we decide in which order processes stop.
type Process struct {
	Command
	PID      int
	ended    chan struct{} // closed when the process has been waited for
	err      error         // how it ended; valid once ended is closed
	expected atomic.Bool   // the end of the process is no surprise
}

// Start starts c and returns once it runs. The process lives until it ends by
// itself or is stopped.
func Start(c Command) (*Process, error) {
	c.StopSignal = cmp.Or(c.StopSignal, syscall.SIGTERM)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.Credential}
	wait := func() error { return WaitGuarded(cmd) }
	var err error
	if c.Finishes {
		err, wait = cmd.Start(), cmd.Wait
	} else {
		err = StartGuarded(cmd, c.StopSignal)
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	p := &Process{Command: c, PID: cmd.Process.Pid, ended: make(chan struct{})}
	go p.await(wait)
	return p, nil
}

// await waits for the end of the process.
func (p *Process) await(wait func() error) {
	p.err = wait()
	for _, w := range []io.Writer{p.Stdout, p.Stderr} {
		if l, ok := w.(*LineWriter); ok {
			l.Flush()
		}
	}
	close(p.ended)
}

// Ended returns a channel that is closed once the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err returns how the process ended, nil for status 0. It is valid once Ended is
// closed.
func (p *Process) Err() error { return p.err }

// Stop stops the process and waits for its end: first its StopSignal, SIGQUIT
// after the grace period (Postgres then stops without a checkpoint, a Go program
// prints its goroutines), SIGKILL 5 s later. It reports whether the first signal
// was enough.
func (p *Process) Stop() bool {
	p.ExpectEnd()
	select {
	case <-p.ended:
		return true
	default:
	}
	for i, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{p.StopSignal, p.Grace}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		p.signal(step.signal)
		select {
		case <-p.ended:
			return i == 0
		case <-time.After(step.wait):
		}
	}
	return false
}

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() {
	p.end(func() { p.signal(syscall.SIGKILL) })
}

// Quit sends SIGQUIT to the process alone, not to its children, and waits for its
// end. For Postgres that is an immediate shutdown, after which it recovers as
// from a crash.
func (p *Process) Quit() {
	p.end(func() { _ = syscall.Kill(p.PID, syscall.SIGQUIT) }) // fails only if it has ended
}

// end calls ask unless the process has ended, whose id another process may have by
// now, and waits for its end.
func (p *Process) end(ask func()) {
	p.ExpectEnd()
	select {
	case <-p.ended:
	default:
		ask()
	}
	<-p.ended
}

// ExpectEnd makes the end of the process one that its group survives.
func (p *Process) ExpectEnd() { p.expected.Store(true) }

// Freeze suspends the process and its process group until Thaw.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw resumes what Freeze suspended.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

// signal signals the process group. That fails only if all of it has ended.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.PID, s) }
