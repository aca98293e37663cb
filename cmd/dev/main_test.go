package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// newTool returns a tool in root, with this machine's PATH and env as its whole
// environment, and its output.
func newTool(root string, env map[string]string) (*stack.Tool, *devtest.Output) {
	out := new(devtest.Output)
	return stack.NewTool(root, devtest.Env(env), out, out, out), out
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   []string
		err    error
		stdout string
		stderr string
	}{
		{args: nil, stdout: "usage: dev"},
		{args: []string{"help"}, stdout: "usage: dev"},
		{args: []string{"walk"}, err: proc.ExitUsage, stderr: `unknown command "walk"`},
		{args: []string{"run", "fast"}, err: proc.ExitUsage, stderr: "takes -port"},
		{args: []string{"run", "-port=65534"}, err: proc.ExitUsage, stderr: "takes -port"},
		{args: []string{"reset", "run"}, err: proc.ExitUsage, stderr: "takes no arguments"},
		{args: []string{"bench"}, err: proc.ExitUsage, stderr: `unknown command "bench"`},
	} {
		var stdout, stderr bytes.Buffer
		err := run(context.Background(), test.args, os.Getenv, &stdout, &stderr)
		if !errors.Is(err, test.err) || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("dev %q: error %v, stdout %q, stderr %q", test.args, err, &stdout, &stderr)
		}
	}
}

func TestRunEndsWellOnASignal(t *testing.T) {
	t.Parallel()
	root := devtest.NewModule(t, "../../internal/dev/stack/testdata/module")
	tool, out := newTool(root, map[string]string{"LASTSEAT_POSTGRES_URL": pgtest.EmptyURL(t), "LASTSEAT_REDIS_URL": redistest.Start(t).URL()})
	ctx, signal := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- runUntilSignal(ctx, tool, stack.Options{Name: "run", KnownPorts: true}, func(context.Context, *stack.Stack) (string, error) { return "", nil })
	}()
	testwait.Until(t, "Lastseat is up", func() bool { return strings.Contains(out.String(), "Lastseat is up") })
	signal()
	if err := <-result; err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheGreetingNamesRunsThatAreThere(t *testing.T) {
	t.Parallel()
	text := greeting(&stack.Stack{APIURL: "http://x", Token: "t"})
	for _, want := range []string{
		"http://x/v1/links", `"language": "de", "notify": true`, "/v1/runs/" + exampleFull + "/registrations",
		`"ada@example.org"}' http://x/v1/runs/` + exampleWaitlistRun + "/registrations ",
		"-X DELETE -H 'Authorization: Bearer t' http://x/v1/runs/" + exampleWaitlistRun + "/registrations/1 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the greeting lacks %s:\n%s", want, text)
		}
	}
}

// TestBuildsWhatRunNeeds compares what this program is built of with the programs
// that `make run` starts, so that it builds in seconds.
func TestBuildsWhatRunNeeds(t *testing.T) {
	t.Parallel()
	deps := func(packages ...string) map[string]bool {
		out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}} {{end}}{{.ImportPath}}"}, packages...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		all := make(map[string]bool)
		for line := range strings.Lines(string(out)) {
			module, path, ok := strings.Cut(strings.TrimSpace(line), " ")
			if ok && module != "github.com/lastseat/lastseat" {
				path = module
			}
			all[path] = ok // false: the standard library
		}
		return all
	}
	needed := deps("../api", "../worker", "../../internal/mailsink")
	for path, ours := range deps(".") {
		if strings.HasPrefix(path, "github.com/lastseat/lastseat/") {
			if strings.Contains(path, "/bench") {
				t.Errorf("it is built of %s", path)
			}
			continue
		}
		if ours && !needed[path] {
			t.Errorf("it is built of %s, which `make run` does not need", path)
		}
		for _, heavy := range []string{"github.com/riverqueue/river", "github.com/gin-gonic/gin"} {
			if path == heavy {
				t.Errorf("it is built of %s", path)
			}
		}
	}
}
