package harness

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		want  plan
		fails bool
	}{
		{args: "", want: plan{rounds: 3}},
		{args: "-quick -json", want: plan{rounds: 1, quick: true, json: true}},
		{args: "-cases=lone,one_run_seated -rounds=5", want: plan{cases: []string{"lone", "one_run_seated"}, rounds: 5}},
		{args: "-cases=", want: plan{rounds: 3}},
		{args: "-quick -rounds=2", want: plan{rounds: 2, quick: true}},
		{args: "-rivals=none", want: plan{rivals: []string{"none"}, rounds: 3}},
		{args: "-rivals=ceiling,guarded", want: plan{rivals: []string{"ceiling", "guarded"}, rounds: 3}},
		{args: "-cases=long", fails: true},
		{args: "-rivals=somebody", fails: true},
		{args: "-rivals=guarded,none", fails: true},
		{args: "-rounds=-1", fails: true},
		{args: "-rounds=100", fails: true},
		{args: "-rounds=many", fails: true},
		{args: "more", fails: true},
	} {
		got, err := parse(strings.Fields(test.args))
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
	out := new(devtest.Output)
	tool := stack.NewTool(devtest.NewRoot(t), devtest.Env(nil), out, out, out)
	if err := Measure(t.Context(), tool, []string{"-cases=long"}); !errors.Is(err, proc.ExitUsage) {
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

func TestAWorkloadSpreadsPeopleAndSeats(t *testing.T) {
	t.Parallel()
	w := workload{people: 100, runs: 8, seats: 20}
	runs := w.runList()
	if len(runs) != 8 || !slices.Equal(w.slugs(), []string{"run-1", "run-2", "run-3", "run-4", "run-5", "run-6", "run-7", "run-8"}) {
		t.Fatalf("got %v, %v", runs, w.slugs())
	}
	seats, comers := 0, make(map[string]int)
	for _, q := range w.requests() {
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
	if small := (workload{people: 6000, runs: 1000, seats: 6000}).smaller(20); small.people != 1000 || small.seats != 1000 {
		t.Errorf("a smaller workload is %+v, want one for each run", small)
	}
	if small := (workload{people: 6000, runs: 1, seats: 20}).smaller(4); small.people != 1500 || small.seats != 5 {
		t.Errorf("a smaller workload is %+v", small)
	}
}

func TestEachPersonAsksInTheirOwnName(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, w := range []workload{{people: 50, runs: 1}, {people: 50, runs: 1, first: 50}} {
		for _, q := range w.requests() {
			head, body, _ := bytes.Cut(q, []byte("\r\n\r\n"))
			_, key, _ := bytes.Cut(head, []byte("Idempotency-Key: "))
			for _, what := range []string{string(key), string(body)} {
				if seen[what] {
					t.Errorf("%s is not unique", what)
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
	all := []*participant{
		{contender: rivals.Contender{Name: "ceiling"}},
		{contender: rivals.Contender{Name: "as asked", Oversells: true}, speed: 9000},
		{contender: rivals.Contender{Name: "best"}, speed: 1000},
		{contender: rivals.Contender{Name: "near"}, speed: 501},
		{contender: rivals.Contender{Name: "far"}, speed: 499},
		{contender: rivals.Contender{Name: "best that records", Recording: true}, speed: 400},
		{contender: rivals.Contender{Name: "far that records", Recording: true}, speed: 100},
	}
	chooseRounds(all, 3)
	var got []int
	for _, one := range all {
		got = append(got, one.rounds)
	}
	if want := []int{3, 1, 3, 3, 1, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// stopped is a contender that never decides.
type stopped struct {
	system
	cut bool
}

func (s stopped) mayBeCut() bool                               { return s.cut }
func (s stopped) undecided(context.Context, int) (bool, error) { return true, nil }

func TestAwaitDecisions(t *testing.T) {
	t.Parallel()
	if err := awaitDecisions(t.Context(), stopped{cut: true}, totals{first: time.Now()}, 20*time.Millisecond); err != nil {
		t.Errorf("a rival that used up its limit is an error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, cut := range []bool{true, false} {
		if err := awaitDecisions(ctx, stopped{cut: cut}, totals{first: time.Now()}, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("after an interruption: %v", err)
		}
	}
}

// TestFixturesAreSound lets the doctor examine the databases that the cases begin
// with, and what Lastseat adds to them.
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
		runs = append(runs, rivals.Run{Slug: workload{prefix: "idle"}.slug(i), Seats: 30})
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

// TestJudgeBelievesTheTables tells people more than the tables have.
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
			t.Errorf("people were told %v, and that is not found", told)
		}
	}
	pgtest.Damage(t, url, `UPDATE runs SET capacity = 49, first_capacity = 49 WHERE slug = 'run-1'`)
	if _, err := l.judge(t.Context(), map[int]int{202: 50}, report.Sample{}); err == nil || !strings.Contains(err.Error(), "promise") {
		t.Errorf("a seat too many is given, and the error is %v", err)
	}
}
