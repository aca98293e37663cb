package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/testwait"
)

// fuzzModule makes a module with these files of tests and returns a tool in it.
func fuzzModule(t *testing.T, files map[string]string) (*stack.Tool, *devtest.Output) {
	t.Helper()
	root := devtest.NewRoot(t)
	files["go.mod"] = "module example.org/fuzzed\n\ngo 1.26\n"
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return newTool(root, nil)
}

func TestFuzz_tells_where_the_findings_are(t *testing.T) {
	t.Parallel()
	tool, out := fuzzModule(t, map[string]string{
		"fine/fine_test.go": `package fine

import "testing"

func FuzzFine(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }

func TestNothing(t *testing.T) { t.Error("not to be run") }
`,
		"bad/bad_test.go": `package bad_test

import "testing"

func FuzzBad(f *testing.F) {
	f.Add("fine")
	f.Fuzz(func(t *testing.T, s string) {
		if s != "fine" {
			t.Error("a finding")
		}
	})
}

func FuzzBadFromTheBeginning(f *testing.F) {
	f.Add("bad")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "bad" {
			t.Error("a finding")
		}
	})
}
`,
	})
	err := fuzz(t.Context(), tool, []string{"-seconds", "1"})
	if !errors.Is(err, proc.ExitStatus(1)) {
		t.Errorf("got %v", err)
	}
	text := out.String()
	for _, each := range []string{
		"FuzzFine of example.org/fuzzed/fine", "3 fuzz tests, 2 findings",
		"FuzzBadFromTheBeginning fails with an input that it begins with, as it says above; again: go test -run='^FuzzBadFromTheBeginning$' ./bad",
	} {
		if !strings.Contains(text, each) {
			t.Errorf("it does not say %q", each)
		}
	}
	saved := regexp.MustCompile(`FuzzBad fails\. The input is saved in (bad/testdata/fuzz/FuzzBad/([0-9a-f]+)); again: go test -run='\^FuzzBad\$/\^([0-9a-f]+)\$' \./bad`).FindStringSubmatch(text)
	if saved == nil || saved[2] != saved[3] {
		t.Fatalf("it does not say where the input is:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(tool.Root, saved[1])); err != nil {
		t.Error(err)
	}
}

func TestFuzz_stops_when_it_is_interrupted(t *testing.T) {
	t.Parallel()
	tool, out := fuzzModule(t, map[string]string{"fine/fine_test.go": `package fine

import "testing"

func FuzzFine(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }
`})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- fuzz(ctx, tool, []string{"-seconds=600"}) }()
	testwait.Until(t, "it fuzzes", func() bool { return strings.Contains(out.String(), "fuzz: elapsed") })
	cancel()
	if err := <-result; !errors.Is(err, proc.ExitInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestFuzz_of_a_package_that_does_not_build(t *testing.T) {
	t.Parallel()
	tool, out := fuzzModule(t, map[string]string{"bad/bad_test.go": "package bad\n\nimport \"testing\"\n\nfunc FuzzBad(f *testing.F) { nothing }\n"})
	if err := fuzz(t.Context(), tool, nil); !errors.Is(err, proc.ExitStatus(1)) || !strings.Contains(out.String(), "undefined: nothing") {
		t.Errorf("got %v, and\n%s", err, out.String())
	}
}

func TestFuzz_takes_no_other_arguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-seconds=0"}, {"-seconds", "x"}, {"./internal/enroll"}, {"-race"}} {
		tool, out := newTool(devtest.NewRoot(t), nil)
		if err := fuzz(t.Context(), tool, args); !errors.Is(err, proc.ExitUsage) || !strings.Contains(out.String(), "usage: dev") {
			t.Errorf("%q: got %v, and %q", args, err, out.String())
		}
	}
}

func TestOutOfTime(t *testing.T) {
	t.Parallel()
	const before = "fuzz: elapsed: 2s, execs: 71440 (34818/sec), new interesting: 51 (total: 71)\n"
	for said, want := range map[string]bool{
		before + "--- FAIL: FuzzX (2.05s)\n    context deadline exceeded\nFAIL\n":                                                     true,
		before + "--- FAIL: FuzzX (2.05s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: context deadline exceeded\nFAIL\n":       false,
		before + "--- FAIL: FuzzX (2.05s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\nFAIL\n":                false,
		before + "--- FAIL: FuzzX (2.05s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/x/y\n    FAIL\n": false,
		before + "PASS\n": false,
		"":                false,
	} {
		if got := outOfTime(said); got != want {
			t.Errorf("%t for %q", got, said)
		}
	}
}
