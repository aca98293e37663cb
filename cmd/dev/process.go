package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// command says what to start and how to stop it.
type command struct {
	name       string   // as it appears in messages
	args       []string // program and arguments
	dir        string
	env        []string            // the whole environment; nil = our own
	stdout     io.Writer           // nil = nowhere
	stderr     io.Writer           // may be the same as stdout
	credential *syscall.Credential // nil = our own user
	stop       syscall.Signal      // asks it to stop; 0 = SIGTERM
	orphaned   syscall.Signal      // what the kernel sends it when we are gone; 0 = stop
	grace      time.Duration       // between that and SIGQUIT; 0 = 10 s
}

// process is one child, in a process group of its own: Ctrl-C in the terminal reaches only us, and we decide on the
// order in which things stop.
type process struct {
	command
	pid      int
	ended    chan struct{} // closed when the process has been waited for
	err      error         // its outcome, to be read after ended
	stopping atomic.Bool
}

// startProcess starts c and returns once it runs. The process lives until it ends or is stopped.
func startProcess(c command) (*process, error) {
	c.stop = cmp.Or(c.stop, syscall.SIGTERM)
	c.grace = cmp.Or(c.grace, 10*time.Second)
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, c.stdout, c.stderr
	cmd.WaitDelay = 2 * time.Second // a grandchild that keeps our pipe open must not keep us
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.credential}
	dieWithParent(cmd.SysProcAttr, cmp.Or(c.orphaned, c.stop))

	p := &process{command: c, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The child's death signal is tied to the thread that started it. This goroutine keeps its thread for as
		// long as the child lives; the thread ends with the goroutine because it is never unlocked.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		for _, w := range []io.Writer{c.stdout, c.stderr} {
			if l, ok := w.(*lineWriter); ok {
				l.flush()
			}
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	return p, nil
}

// halt stops the process and waits for its end: its own signal first, SIGQUIT after the grace period (Postgres then
// stops without a checkpoint, a Go program shows where it hangs), SIGKILL 5 s later. It reports whether the first was
// enough.
func (p *process) halt() bool {
	p.stopping.Store(true)
	select {
	case <-p.ended:
		return true
	default:
	}
	for i, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{p.stop, p.grace}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		p.signal(step.signal)
		select {
		case <-p.ended:
			return i == 0
		case <-time.After(step.wait):
		}
	}
	return false
}

// kill ends the process at once, without its having a say, and waits for that.
func (p *process) kill() {
	p.stopping.Store(true)
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// childrenOf returns the children of a process.
func childrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern begins with a digit, and the kernel goes on so
		if _, parent, ok := readStat(child); ok && parent == pid {
			children = append(children, child)
		}
	}
	if len(stats) > 0 {
		return children
	}
	out, _ := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output() // where there is no /proc
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// signal sends a signal to the process and what it has started. That fails only if all of it is gone.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// runProcess runs c to its end. When ctx is done first, c is stopped and the cause of ctx returned.
func runProcess(ctx context.Context, c command) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := startProcess(c)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		p.halt()
		return context.Cause(ctx)
	}
}

// awaitAnswer asks probe again and again until it succeeds. It gives up when p ends, when ctx is done, or after within.
func awaitAnswer(ctx context.Context, p *process, within time.Duration, probe func(context.Context) error) error {
	late := fmt.Errorf("%s did not answer within %s", p.name, within)
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		err := probe(attempt)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return &deathError{p.name, p.err}
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), late) {
				return fmt.Errorf("%w: %w", late, err)
			}
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// deathError is the end of a process that should have gone on.
type deathError struct {
	name string
	err  error // nil = it ended with status 0
}

func (e *deathError) Error() string {
	if e.err == nil {
		return e.name + " has ended by itself"
	}
	return fmt.Sprintf("%s has died: %s", e.name, e.err)
}

func (e *deathError) Unwrap() error { return e.err }

// family is the children that live and die together. When one of them ends unasked, the family's context is done, with
// a deathError as its cause.
type family struct {
	log     *console
	cancel  context.CancelCauseFunc
	watches sync.WaitGroup

	mu      sync.Mutex
	members []*process
}

// newFamily returns an empty family and its context.
func newFamily(ctx context.Context, log *console) (*family, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &family{log: log, cancel: cancel}, ctx
}

// adopt takes a running process into the family.
func (f *family) adopt(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, p)
	f.watches.Go(func() {
		<-p.ended
		if !p.stopping.Load() {
			f.cancel(&deathError{p.name, p.err})
		}
	})
}

// pids returns the processes of the members by what they do.
func (f *family) pids() map[part]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	pids := make(map[part]int, len(f.members))
	for _, p := range f.members {
		pids[part(p.name)] = p.pid
	}
	return pids
}

// halt stops all members, the youngest first, and waits for them.
func (f *family) halt() {
	for i := len(f.members) - 1; i >= 0; i-- {
		p := f.members[i]
		select {
		case <-p.ended:
			continue
		default:
		}
		f.log.printf("stopping %s", p.name)
		if !p.halt() {
			f.log.printf("%s did not stop within %s and was killed", p.name, p.grace)
		}
	}
	f.watches.Wait()
	f.cancel(nil)
}
