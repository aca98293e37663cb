package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/bench/report"
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

// TestBuildCommit changes the tree after the commit: what is built is the commit.
func TestBuildCommit(t *testing.T) {
	t.Parallel()
	root := newModule(t)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "cmd", "api", "main.go"), []byte("what no compiler takes"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, out := newTool(root, nil)
	folder := filepath.Join(root, ".dev", "bench", "commit")
	for range 2 { // the second time over what is there
		hash, programs, err := tool.buildCommit(t.Context(), folder, "HEAD")
		if err != nil || len(hash) < 7 {
			t.Fatalf("%q, %v\n%s", hash, err, out)
		}
		if said, err := exec.Command(filepath.Join(programs, "api"), "migrate").CombinedOutput(); err != nil || !strings.Contains(string(said), "migrating") {
			t.Errorf("the api that was built: %v, %s", err, said)
		}
	}
	for _, wrong := range []string{"no-such-commit", "--help", "HEAD:go.mod"} {
		if _, _, err := tool.buildCommit(t.Context(), folder, wrong); err == nil || !strings.Contains(err.Error(), "there is no commit") {
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
	if err := c.writeJSON(io.Discard); err != nil { // which refuses what is no number
		t.Error(err)
	}
}

func TestCPUPerSeatedPerson(t *testing.T) {
	t.Parallel()
	all := cpuTimes{partClient: time.Second, partAPI: 2 * time.Second, partWorker: 3 * time.Second, partPostgres: 4 * time.Second, partRedis: 0}
	unknown := cpuTimes{partClient: time.Second, partAPI: time.Second, partWorker: time.Second, partRedis: time.Second}
	for _, test := range []struct {
		name   string
		used   cpuTimes
		seated int
		words  string
		json   string
	}{
		{"all known", all, 1000, "10.000 ms (client 1.000, api 2.000, worker 3.000, postgres 4.000, redis 0.000)", `"cpu_ms_per_seated":10,`},
		{"nobody seated", all, 0, "none", `"cpu_ms_per_seated":null,`},
		{"Postgres elsewhere", unknown, 10, "postgres", `"cpu_ms_per_seated":null,"cpu_ms_per_seated_by_part":{"api":100,`},
	} {
		c := newRushCPU(test.used, test.seated)
		text, err := json.Marshal(rushJSON{rushCPU: c})
		if err != nil || !strings.Contains(c.words(), test.words) || !strings.Contains(string(text), test.json) {
			t.Errorf("%s: %s, %s, %v", test.name, c.words(), text, err)
		}
	}
}
