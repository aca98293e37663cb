package proc

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) {
	devtest.Main(m, map[string]func([]string) error{
		"parent":  startChildren,
		"session": leaveSession,
	})
}

// shell is a command that runs a script.
func shell(script string, out *devtest.Output) Command {
	return Command{Name: "shell", Args: []string{"sh", "-c", script}, Stdout: out, Stderr: out, Grace: 300 * time.Millisecond}
}

func TestProcess_Stop(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		clean        bool
	}{
		{"asks first", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done`, true},
		{"insists with SIGQUIT", `trap '' TERM; echo ready; while :; do sleep 0.05; done`, false},
		{"does nothing to a process that has ended", `echo ready`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := new(devtest.Output)
			p, err := Start(shell(test.script, out))
			if err != nil {
				t.Fatal(err)
			}
			testwait.Until(t, "the script is ready", func() bool { return strings.Contains(out.String(), "ready") })
			if test.script == "echo ready" {
				<-p.ended
			}
			if clean := p.Stop(); clean != test.clean {
				t.Errorf("Stop() = %t", clean)
			}
			<-p.ended
		})
	}
}

func TestRun_stops_with_its_context(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	out := new(devtest.Output)
	result := make(chan error)
	go func() { result <- Run(ctx, shell("echo ready; sleep 600", out)) }()
	testwait.Until(t, "the script is ready", func() bool { return strings.Contains(out.String(), "ready") })
	cancel(why)
	if err := <-result; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestGroup_ends_with_a_member(t *testing.T) {
	t.Parallel()
	group, ctx := NewGroup(t.Context(), NewConsole(new(devtest.Output), devtest.NoEnv))
	var members []*Process
	for _, script := range []string{"sleep 600", "exit 7"} {
		p, err := Start(shell(script, new(devtest.Output)))
		if err != nil {
			t.Fatal(err)
		}
		group.Add(p)
		members = append(members, p)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); err.Error() != "shell has died: exit status 7" {
		t.Errorf("the cause is %v", err)
	}
	group.Stop()
	for _, p := range members {
		<-p.ended
	}
}

// TestSignalTree freezes a process and a child in a process group of its own.
func TestSignalTree(t *testing.T) {
	t.Parallel()
	out := new(devtest.Output)
	p, err := Start(shell(`set -m; sh -c 'while :; do echo beat; sleep 0.02; done' & echo ready; wait`, out))
	if err != nil {
		t.Fatal(err)
	}
	beats := func() int { return strings.Count(out.String(), "beat") }
	testwait.Until(t, "the child beats", func() bool { return beats() > 0 })
	children := ChildrenOf(p.PID)
	if len(children) != 1 {
		t.Fatalf("it has the children %v, want one", children)
	}
	defer p.Stop()
	defer func() { _ = syscall.Kill(children[0], syscall.SIGKILL) }()
	SignalTree(p.PID, syscall.SIGSTOP)
	testwait.Until(t, "both are frozen", func() bool {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(p.PID), "-p", strconv.Itoa(children[0])).Output()
		return err == nil && strings.Count(string(state), "T") == 2
	})
	frozenAt := beats()
	SignalTree(p.PID, syscall.SIGCONT)
	testwait.Until(t, "the child beats again", func() bool { return beats() > frozenAt })
}
