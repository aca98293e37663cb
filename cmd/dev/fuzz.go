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
)

// fuzzed is a package with fuzz tests.
type fuzzed struct {
	path  string // of import
	dir   string
	tests []string
}

// fuzz is `dev fuzz`: every fuzz test of the module, one after the other, each for so many seconds. It finds them
// itself, so nobody keeps a list. None of them needs a service.
func (t *tool) fuzz(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dev fuzz", flag.ContinueOnError)
	flags.SetOutput(t.stderr)
	flags.Usage = func() { fmt.Fprint(t.stderr, usage) }
	seconds := flags.Uint("seconds", 5, "")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	if flags.NArg() > 0 || *seconds == 0 {
		fmt.Fprintf(t.stderr, "dev fuzz takes -seconds, a whole number above 0\n\n%s", usage)
		return exitUsage
	}
	err := t.fuzzAll(ctx, *seconds)
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return err
}

func (t *tool) fuzzAll(ctx context.Context, seconds uint) error {
	packages, err := t.fuzzTests(ctx)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "lastseat-fuzz-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // below the folder of what may go
	cache, err := goOutput(ctx, t.root, "env", "GOCACHE")
	if err != nil {
		return err
	}

	var findings []string
	count := 0
	for _, p := range packages {
		program := filepath.Join(scratch, "fuzz.test")
		if err := t.buildFuzz(ctx, p, program); err != nil {
			return err
		}
		for _, test := range p.tests {
			count++
			t.log.printf("%s of %s", test, p.path)
			found, err := t.fuzzOne(ctx, p, test, seconds, program, filepath.Join(strings.TrimSpace(cache), "fuzz", p.path))
			if err != nil {
				return err
			}
			findings = append(findings, found...)
		}
	}
	t.log.printf("%d fuzz tests, %d findings", count, len(findings))
	for _, f := range findings {
		t.log.printf("%s", f)
	}
	if len(findings) > 0 {
		return exitStatus(1)
	}
	return nil
}

// fuzzTests returns the packages of the module that have fuzz tests, as the go command orders them.
func (t *tool) fuzzTests(ctx context.Context) ([]fuzzed, error) {
	const form = `{{.ImportPath}}|{{.Dir}}|{{range .TestGoFiles}}{{.}} {{end}}{{range .XTestGoFiles}}{{.}} {{end}}`
	list, err := goOutput(ctx, t.root, "list", "-f", form, "./...")
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

// fuzzTestsIn returns the fuzz tests in a file. Asking `go test -list` would build every test of the module for it.
func fuzzTestsIn(file string) (names []string, err error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, each := range tree.Decls {
		if f, is := each.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// buildFuzz builds the tests of a package, once for all of its fuzz tests. What `go test -fuzz` builds counts coverage
// in every package that is compiled in; here only the module's own do. So the rest comes from the cache of builds, and
// the fuzzer takes for new what is new to us: it tries out fifty times as much.
func (t *tool) buildFuzz(ctx context.Context, p fuzzed, program string) error {
	module, err := goOutput(ctx, t.root, "list", "-m")
	if err != nil {
		return err
	}
	return passStatus(runProcess(ctx, command{
		name: "go test -c",
		args: []string{"go", "test", "-c", "-gcflags=" + strings.TrimSpace(module) + "/...=-d=libfuzzer", "-o", program, p.path},
		dir:  t.root, stdout: t.stderr, stderr: t.stderr, stop: syscall.SIGINT,
	}))
}

// fuzzOne runs a fuzz test and returns what it found, in words.
func (t *tool) fuzzOne(ctx context.Context, p fuzzed, test string, seconds uint, program, cache string) ([]string, error) {
	kept := filepath.Join(p.dir, "testdata", "fuzz", test)
	before := namesIn(kept)
	var said strings.Builder
	err := runProcess(ctx, command{
		name: test,
		args: []string{
			program, "-test.run=^$", "-test.fuzz=^" + test + "$", fmt.Sprintf("-test.fuzztime=%ds", seconds),
			// A failing input is made smaller for as long at most.
			fmt.Sprintf("-test.fuzzminimizetime=%ds", seconds), "-test.fuzzcachedir=" + cache,
		},
		dir: p.dir, stdout: io.MultiWriter(t.stdout, &said), stderr: t.stderr, stop: syscall.SIGINT,
	})
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		return nil, err
	}
	where, err := filepath.Rel(t.root, p.dir)
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
	case outOfTime(said.String()):
		return nil, nil
	}
	return []string{fmt.Sprintf("%s fails with an input that it begins with, as it says above; again: go test -run='^%s$' ./%s", test, test, where)}, nil
}

// outOfTime tells whether a fuzz test that found nothing ended as if it had failed: where the machine is busy, the end
// of its time can reach the library's own processes in the wrong order (golang/go#51484).
func outOfTime(said string) bool {
	_, after, failed := strings.Cut(said, "--- FAIL: ")
	lines := strings.Split(strings.TrimSpace(after), "\n")
	return failed && len(lines) == 3 && strings.TrimSpace(lines[1]) == "context deadline exceeded" && lines[2] == "FAIL"
}

// namesIn returns the names of what is in a folder, none if there is no folder.
func namesIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// goOutput returns what the go command says on standard output.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var out, trouble strings.Builder
	err := runProcess(ctx, command{name: "go", args: append([]string{"go"}, args...), dir: dir, stdout: &out, stderr: &trouble, stop: syscall.SIGINT})
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, trouble.String())
	}
	return out.String(), nil
}
