package harness

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

func TestParseAgainst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		want  againstPlan
		fails bool
	}{
		{args: "-commit=c55eed0", want: againstPlan{commit: "c55eed0", rounds: 10, people: 5000, seats: 5000}},
		{args: "-commit=HEAD~1 -rounds=3 -people=100 -seats=20 -json", want: againstPlan{commit: "HEAD~1", rounds: 3, people: 100, seats: 20, json: true}},
		{args: "", fails: true},
		{args: "-commit=", fails: true},
		{args: "-commit=a -rounds=0", fails: true},
		{args: "-commit=a -rounds=100", fails: true},
		{args: "-commit=a -people=0", fails: true},
		{args: "-commit=a -people=10 -seats=11", fails: true},
		{args: "-commit=a -seats=-1", fails: true},
		{args: "-commit=a more", fails: true},
	} {
		got, err := parseAgainst(strings.Fields(test.args))
		if (err != nil) != test.fails || err == nil && got != test.want {
			t.Errorf("%q: %+v, %v", test.args, got, err)
		}
	}
}

// TestBuildCommit changes the tree after the commit, and builds the commit.
func TestBuildCommit(t *testing.T) {
	t.Parallel()
	root := devtest.NewModule(t, "../../internal/dev/stack/testdata/module")
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "cmd", "api", "main.go"), []byte("not a Go file"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := new(devtest.Output)
	tool := stack.NewTool(root, devtest.Env(nil), out, out, out)
	folder := filepath.Join(root, ".dev", "bench", "commit")
	for range 2 { // the second time over the files of the first
		hash, programs, err := buildCommit(t.Context(), tool, folder, "HEAD")
		if err != nil || len(hash) < 7 {
			t.Fatalf("%q, %v\n%s", hash, err, out)
		}
		if said, err := exec.Command(filepath.Join(programs, "api"), "migrate").CombinedOutput(); err != nil || !strings.Contains(string(said), "migrating") {
			t.Errorf("the api that was built: %v, %s", err, said)
		}
	}
	for _, wrong := range []string{"no-such-commit", "--help", "HEAD:go.mod"} {
		if _, _, err := buildCommit(t.Context(), tool, folder, wrong); err == nil || !strings.Contains(err.Error(), "there is no commit") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestComparison(t *testing.T) {
	t.Parallel()
	cost := func(ms ...float64) (samples []report.Sample) {
		for _, x := range ms {
			samples = append(samples, report.Sample{report.CPUSeated: x})
		}
		return samples
	}
	c := &comparison{plan: againstPlan{people: 10, seats: 5}, commit: "abc1234", base: cost(0.1, 0.5, 0.2), tree: cost(0.22, 0.25, 0.18)}
	j := c.json()
	if j.CPURatio != 1.1 || j.LowestRatio != 0.5 || j.HighestRatio != 2.2 || j.Base[report.CPUSeated] != 0.2 || j.Tree[report.CPUSeated] != 0.22 || j.Rounds != 3 {
		t.Errorf("got %+v", j)
	}
	var text strings.Builder
	if err := c.writeTable(&text); err != nil || !strings.Contains(text.String(), "1.100 times that of abc1234 (single rounds: 0.500 to 2.200)") {
		t.Errorf("%v: %s", err, &text)
	}
	if err := c.writeJSON(io.Discard); err != nil { // it refuses NaN
		t.Error(err)
	}
}
