package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// fuzzed is a package with fuzz tests.
type fuzzed struct {
	path  string // its import path
	dir   string
	tests []string
}

// fuzz is `dev fuzz`: every fuzz test of the module, one after the other, each for
// so many seconds. It finds the tests itself, so there is no list to maintain. None
// of them needs a service.
func fuzz(ctx context.Context, t *stack.Tool, args []string) error {
	flags := flag.NewFlagSet("dev fuzz", flag.ContinueOnError)
	flags.SetOutput(t.Stderr)
	flags.Usage = func() { fmt.Fprint(t.Stderr, usage) }
	seconds := flags.Uint("seconds", 5, "")
	if flags.Parse(args) != nil {
		return proc.ExitUsage
	}
	if flags.NArg() > 0 || *seconds == 0 {
		fmt.Fprintf(t.Stderr, "dev fuzz takes -seconds, a whole number above 0\n\n%s", usage)
		return proc.ExitUsage
	}
	err := fuzzAll(ctx, t, *seconds)
	if ctx.Err() != nil {
		return proc.ExitInterrupted
	}
	return err
}

func fuzzAll(ctx context.Context, t *stack.Tool, seconds uint) error {
	packages, err := fuzzTests(ctx, t.Root)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "lastseat-fuzz-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a temporary folder
	cache, err := goOutput(ctx, t.Root, "env", "GOCACHE")
	if err != nil {
		return err
	}

	var findings []string
	count := 0
	for _, p := range packages {
		program := filepath.Join(scratch, "fuzz.test")
		if err := buildFuzz(ctx, t, p, program); err != nil {
			return err
		}
		for _, test := range p.tests {
			count++
			t.Log.Printf("%s of %s", test, p.path)
			found, err := fuzzOne(ctx, t, p, test, seconds, program, filepath.Join(strings.TrimSpace(cache), "fuzz", p.path))
			if err != nil {
				return err
			}
			findings = append(findings, found...)
		}
	}
	t.Log.Printf("%d fuzz tests, %d findings", count, len(findings))
	for _, f := range findings {
		t.Log.Printf("%s", f)
	}
	if len(findings) > 0 {
		return proc.ExitStatus(1)
	}
	return nil
}

// fuzzTests returns the packages of the module that have fuzz tests, in the go
// command's order.
func fuzzTests(ctx context.Context, root string) ([]fuzzed, error) {
	const form = `{{.ImportPath}}|{{.Dir}}|{{range .TestGoFiles}}{{.}} {{end}}{{range .XTestGoFiles}}{{.}} {{end}}`
	list, err := goOutput(ctx, root, "list", "-f", form, "./...")
	if err != nil {
		return nil, err
	}
	var all []fuzzed
	for line := range strings.Lines(list) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3)
		p := fuzzed{path: parts[0], dir: parts[1]}
		for _, file := range strings.Fields(parts[2]) {
			names, err := fuzzTestsIn(filepath.Join(p.dir, file))
			if err != nil {
				return nil, err
			}
			p.tests = append(p.tests, names...)
		}
		if len(p.tests) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
}

// fuzzTestsIn returns the fuzz tests in a file. `go test -list` would build every
// test of the module for that.
func fuzzTestsIn(file string) (names []string, err error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// buildFuzz builds the tests of a package, once for all of its fuzz tests. `go test
// -fuzz` counts coverage in every package that is compiled in; here only the
// module's own packages do. So the others come from the build cache, and an input
// counts as new if it is new to our code: the fuzzer tries fifty times as many.
func buildFuzz(ctx context.Context, t *stack.Tool, p fuzzed, program string) error {
	module, err := goOutput(ctx, t.Root, "list", "-m")
	if err != nil {
		return err
	}
	return proc.PassStatus(proc.Run(ctx, proc.Command{
		Name: "go test -c",
		Args: []string{"go", "test", "-c", "-gcflags=" + strings.TrimSpace(module) + "/...=-d=libfuzzer", "-o", program, p.path},
		Dir:  t.Root, Stdout: t.Stderr, Stderr: t.Stderr, StopSignal: syscall.SIGINT,
	}))
}

// fuzzOne runs a fuzz test and returns what it found, in words.
func fuzzOne(ctx context.Context, t *stack.Tool, p fuzzed, test string, seconds uint, program, cache string) ([]string, error) {
	kept := filepath.Join(p.dir, "testdata", "fuzz", test)
	before := namesIn(kept)
	var out strings.Builder
	err := proc.Run(ctx, proc.Command{
		Name: test,
		Args: []string{
			program, "-test.run=^$", "-test.fuzz=^" + test + "$", fmt.Sprintf("-test.fuzztime=%ds", seconds),
			// A failing input is minimised for as long at most.
			fmt.Sprintf("-test.fuzzminimizetime=%ds", seconds), "-test.fuzzcachedir=" + cache,
		},
		Dir: p.dir, Stdout: io.MultiWriter(t.Stdout, &out), Stderr: t.Stderr, StopSignal: syscall.SIGINT,
	})
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		return nil, err
	}
	where, err := filepath.Rel(t.Root, p.dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range namesIn(kept) {
		if !slices.Contains(before, name) {
			saved := filepath.Join(where, "testdata", "fuzz", test, name)
			found = append(found, fmt.Sprintf("%s fails. The input is saved in %s; again: go test -run='^%s$/^%s$' ./%s", test, saved, test, name, where))
		}
	}
	switch {
	case found != nil:
		return found, nil
	case outOfTime(out.String()):
		return nil, nil
	}
	return []string{fmt.Sprintf("%s fails with an input that it begins with, as it says above; again: go test -run='^%s$' ./%s", test, test, where)}, nil
}

// outOfTime reports whether the output is of a fuzz test that found nothing and
// still failed: on a busy machine, the end of its time can reach the library's
// processes in the wrong order (golang/go#51484).
func outOfTime(out string) bool {
	_, after, failed := strings.Cut(out, "--- FAIL: ")
	lines := strings.Split(strings.TrimSpace(after), "\n")
	return failed && len(lines) == 3 && strings.TrimSpace(lines[1]) == "context deadline exceeded" && lines[2] == "FAIL"
}

// namesIn returns the names in a folder, none if there is no folder.
func namesIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// goOutput returns the standard output of the go command.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var out, trouble strings.Builder
	err := proc.Run(ctx, proc.Command{Name: "go", Args: append([]string{"go"}, args...), Dir: dir, Stdout: &out, Stderr: &trouble, StopSignal: syscall.SIGINT})
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, trouble.String())
	}
	return out.String(), nil
}
