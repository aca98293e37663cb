package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

func TestParseBench(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		want  benchPlan
		fails bool
	}{
		{args: "", want: benchPlan{rounds: 3}},
		{args: "-quick -json", want: benchPlan{rounds: 1, quick: true, json: true}},
		{args: "-cases=lone,one_run_seated -rounds=5", want: benchPlan{cases: []string{"lone", "one_run_seated"}, rounds: 5}},
		{args: "-cases=", want: benchPlan{rounds: 3}},
		{args: "-quick -rounds=2", want: benchPlan{rounds: 2, quick: true}},
		{args: "-rivals=none", want: benchPlan{rivals: []string{"none"}, rounds: 3}},
		{args: "-rivals=ceiling,guarded", want: benchPlan{rivals: []string{"ceiling", "guarded"}, rounds: 3}},
		{args: "-cases=long", fails: true},
		{args: "-rivals=somebody", fails: true},
		{args: "-rivals=guarded,none", fails: true},
		{args: "-rounds=-1", fails: true},
		{args: "-rounds=100", fails: true},
		{args: "-rounds=many", fails: true},
		{args: "more", fails: true},
	} {
		got, err := parseBench(strings.Fields(test.args))
		if (err != nil) != test.fails {
			t.Errorf("%q: %v", test.args, err)
		}
		if !test.fails && (!slices.Equal(got.cases, test.want.cases) || !slices.Equal(got.rivals, test.want.rivals) || got.rounds != test.want.rounds || got.quick != test.want.quick || got.json != test.want.json) {
			t.Errorf("%q: got %+v, want %+v", test.args, got, test.want)
		}
	}
}

func TestBenchNamesItsCases(t *testing.T) {
	t.Parallel()
	tool, out := newTool(newRoot(t), nil)
	if err := tool.bench(t.Context(), []string{"-cases=long"}); !errors.Is(err, exitUsage) {
		t.Errorf("got %v", err)
	}
	for _, c := range benchCases {
		if !strings.Contains(out.String(), c.id) {
			t.Errorf("it does not name %s: %s", c.id, out)
		}
		if c.what == "" || c.measure == nil || len(c.targets) == 0 {
			t.Errorf("case %s is not complete", c.id)
		}
	}
}

func TestARushSpreadsPeopleAndSeats(t *testing.T) {
	t.Parallel()
	r := rushOf{people: 100, runs: 8, seats: 20}
	runs := r.runsOf()
	if len(runs) != 8 || !slices.Equal(r.slugs(), []string{"run-1", "run-2", "run-3", "run-4", "run-5", "run-6", "run-7", "run-8"}) {
		t.Fatalf("got %v, %v", runs, r.slugs())
	}
	seats, comers := 0, make(map[string]int)
	for _, q := range r.requests() {
		path, _, _ := strings.Cut(strings.TrimPrefix(string(q), "POST /v1/runs/"), "/")
		comers[path]++
	}
	for _, run := range runs {
		seats += run.Seats
		if n := comers[run.Slug]; n < 12 || n > 13 || run.Seats < 2 || run.Seats > 3 {
			t.Errorf("%d people come for the %d seats of %s", n, run.Seats, run.Slug)
		}
	}
	if seats != 20 || len(comers) != 8 {
		t.Errorf("there are %d seats, and people come for %v", seats, comers)
	}
	if small := (rushOf{people: 6000, runs: 1000, seats: 6000}).smaller(20); small.people != 1000 || small.seats != 1000 {
		t.Errorf("a smaller rush is %+v, want one for each run", small)
	}
	if small := (rushOf{people: 6000, runs: 1, seats: 20}).smaller(4); small.people != 1500 || small.seats != 5 {
		t.Errorf("a smaller rush is %+v", small)
	}
}

func TestEverybodyAsksInTheirOwnName(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, r := range []rushOf{{people: 50, runs: 1}, {people: 50, runs: 1, first: 50}} {
		for _, q := range r.requests() {
			head, body, _ := bytes.Cut(q, []byte("\r\n\r\n"))
			_, key, _ := bytes.Cut(head, []byte("Idempotency-Key: "))
			for _, what := range []string{string(key), string(body)} {
				if seen[what] {
					t.Errorf("%s is there twice", what)
				}
				seen[what] = true
			}
		}
	}
}

func TestSumUp(t *testing.T) {
	t.Parallel()
	zero := time.Now()
	at := func(sent, received, status int) load.Answer {
		return load.Answer{Sent: zero.Add(time.Duration(sent) * time.Millisecond), Received: zero.Add(time.Duration(received) * time.Millisecond), Status: status}
	}
	sample := report.Sample{}
	s := sumUp([]load.Answer{at(10, 510, 201), at(0, 1000, 409), at(20, 120, 201), at(30, 2000, 503), {}}, sample)
	if !s.first.Equal(zero) || s.answered != 3 || s.told[201] != 2 || s.told[409] != 1 || s.told[503] != 1 || len(s.told) != 3 {
		t.Errorf("got %+v", s)
	}
	// Three are served in the two seconds until the last has an answer.
	if sample[report.Accepted] != 1.5 || sample[report.AnsweredP50] != 500 || sample[report.AnsweredP99] != 1000 {
		t.Errorf("got %v", sample)
	}
}

func TestChooseRounds(t *testing.T) {
	t.Parallel()
	turns := []*turn{
		{who: rivals.Contender{Name: "ceiling"}},
		{who: rivals.Contender{Name: "as asked", Oversells: true}, speed: 9000},
		{who: rivals.Contender{Name: "best"}, speed: 1000},
		{who: rivals.Contender{Name: "near"}, speed: 501},
		{who: rivals.Contender{Name: "far"}, speed: 499},
		{who: rivals.Contender{Name: "best that records", Recording: true}, speed: 400},
		{who: rivals.Contender{Name: "far that records", Recording: true}, speed: 100},
	}
	chooseRounds(turns, 3)
	var got []int
	for _, turn := range turns {
		got = append(got, turn.rounds)
	}
	if want := []int{3, 1, 3, 3, 1, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "42 (a (b) c) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 8 0 12345 0 0\n"
	ended, parent, ok := parseStat([]byte(line))
	if !ok || ended != 500*time.Millisecond || parent != 7 {
		t.Errorf("got %v, %d, %t", ended, parent, ok)
	}
	for _, bad := range []string{"", "42 a S 7", "42 (a) S 7 42", strings.Replace(line, " 30 ", " x ", 1)} {
		if _, _, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q is taken for a stat", bad)
		}
	}
}

func TestCPUOf(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here, and no CPU time is measured")
	}
	before, ok := cpuOf(os.Getpid())
	if !ok {
		t.Fatal("it is not known")
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if now, _ := cpuOf(os.Getpid()); now > before {
			tree, ok := cpuOfTree(os.Getpid())
			if !ok || tree < now {
				t.Errorf("with its children it has used %v, and %v alone", tree, now)
			}
			return
		}
	}
	t.Error("20 seconds of work used no time")
}

// stopped is a contender that never decides.
type stopped struct {
	staged
	cut bool
}

func (s stopped) mayBeCut() bool                               { return s.cut }
func (s stopped) undecided(context.Context, int) (bool, error) { return true, nil }

func TestAwaitDecisions(t *testing.T) {
	t.Parallel()
	if err := awaitDecisions(t.Context(), stopped{cut: true}, sum{first: time.Now()}, 20*time.Millisecond); err != nil {
		t.Errorf("a rival that used up its limit is an error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, cut := range []bool{true, false} {
		if err := awaitDecisions(ctx, stopped{cut: cut}, sum{first: time.Now()}, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("after an interruption: %v", err)
		}
	}
}

// TestFixturesAreSound has the doctor look at what the cases find in their
// databases, and then at what Lastseat adds to it.
func TestFixturesAreSound(t *testing.T) {
	t.Parallel()
	const size = 300
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	runs := []rivals.Run{{Slug: "grown-1", Seats: enroll.MaxCapacity}}
	for i := range 50 {
		runs = append(runs, rivals.Run{Slug: rushOf{prefix: "idle"}.slug(i), Seats: 30})
	}
	if err := createRuns(t.Context(), conn, runs); err != nil {
		t.Fatal(err)
	}
	if err := growRun(t.Context(), conn, "grown-1", size); err != nil {
		t.Fatal(err)
	}
	pgtest.RequireSound(t, url)

	store := pgtest.Open(t, url)
	run, err := store.Run(t.Context(), "grown-1")
	if err != nil || run.AttendancesCount != size || run.LastTicket != size || !run.Life().MayRegister() {
		t.Fatalf("the run is %+v, %v", run, err)
	}
	a, err := enroll.NewRegister(enroll.RegisterInput{Run: "grown-1", Name: "Ada", Email: "ada@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := store.Accept(t.Context(), []enroll.Submission{a})
	if err != nil || verdicts[0].Err != nil || verdicts[0].Receipt.Ticket != size+1 {
		t.Errorf("the next request gets %+v, %v", verdicts, err)
	}
	l := &lastseat{conn: conn, url: url}
	if err := l.requireSound(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestJudgeBelievesTheTables gives people less than they were told.
func TestJudgeBelievesTheTables(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := createRuns(t.Context(), conn, []rivals.Run{warmRun, {Slug: "run-1", Seats: 50}}); err != nil {
		t.Fatal(err)
	}
	if err := growRun(t.Context(), conn, "run-1", 50); err != nil {
		t.Fatal(err)
	}
	l := &lastseat{conn: conn, url: url}
	sample := report.Sample{}
	last, err := l.judge(t.Context(), map[int]int{202: 50}, sample)
	if err != nil || last.IsZero() || sample[report.DecidedP50] != 20 || sample[decidedCount] != 50 {
		t.Errorf("got %v, %v, %v", last, sample, err)
	}
	for _, told := range []map[int]int{{202: 51}, {202: 49}, {202: 50, 503: 1}} {
		if _, err := l.judge(t.Context(), told, report.Sample{}); err == nil {
			t.Errorf("people were told %v, and nothing is wrong with that", told)
		}
	}
	pgtest.Damage(t, url, `UPDATE runs SET capacity = 49, first_capacity = 49 WHERE slug = 'run-1'`)
	if _, err := l.judge(t.Context(), map[int]int{202: 50}, report.Sample{}); err == nil || !strings.Contains(err.Error(), "promise") {
		t.Errorf("a seat too many is given, and it says %v", err)
	}
}
