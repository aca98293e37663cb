package harness

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/bench/report"
)

// benchCase is a situation in which contenders are measured.
type benchCase struct {
	id       string
	what     string
	load     workload
	pools    string // cases with the same value choose the rivals' pools together; empty = alone
	complete bool   // a smoke run has all contenders, too
	targets  []report.Target
	measure  func(context.Context, *testbed, benchCase, plan) (*report.Case, error)
}

// trialLimit is how long people ask in one trial at most.
const trialLimit = 8 * time.Second

// rushSize is how many people ask in a rush.
const rushSize = 6000

var benchCases = []benchCase{
	{
		id: "one_run_seated", what: "6000 people ask for the 6000 seats of one run",
		load: workload{people: rushSize, runs: 1, seats: rushSize}, measure: measureRush, complete: true,
		targets: []report.Target{
			report.AtLeast(4, report.ToBestRival), report.AtLeast(0.40, report.ToCeiling),
			report.AtMost(20, report.DecidedP50), report.AtMost(150, report.DecidedP99),
		},
	},
	{
		id: "stampede_500", what: "6000 people ask for the 500 seats of one run",
		load: workload{people: rushSize, runs: 1, seats: 500}, measure: measureRush,
		targets: []report.Target{report.AtLeast(1.2, report.ToBestRival), report.AtLeast(3, report.ToBestRecordingRival)},
	},
	{
		id: "stampede_20", what: "6000 people ask for the 20 seats of one run",
		load: workload{people: rushSize, runs: 1, seats: 20}, measure: measureRush,
		targets: []report.Target{report.AtLeast(0.8, report.ToBestRival), report.AtLeast(3, report.ToBestRecordingRival)},
	},
	{
		id: "runs_50", what: "6000 people ask for the 120 seats of each of 50 runs",
		load: workload{people: rushSize, runs: 50, seats: rushSize}, measure: measureRush, pools: "spread",
		targets: []report.Target{report.AtLeast(1.4, report.ToBestRival)},
	},
	{
		id: "runs_1000", what: "6000 people ask for the 6 seats of each of 1000 runs",
		load: workload{people: rushSize, runs: 1000, seats: rushSize}, measure: measureRush, pools: "spread",
		targets: []report.Target{report.AtLeast(1, report.ToBestRival)},
	},
	{
		id: "lone", what: "one request at a time, each on a run where nothing happens: from asking to hearing of the outcome by long poll",
		measure: measureLone,
		targets: []report.Target{report.AtMost(15, report.DecidedP50)},
	},
	{
		id: "trickle", what: "ten requests a second on one run: from asking to hearing of the outcome by long poll",
		measure: measureTrickle,
		targets: []report.Target{report.AtMost(50, report.DecidedP99)},
	},
	{
		id: "pollers_2000", what: "6000 people ask for 6000 seats of one run while 2000 who have one keep asking whether it has changed (?wait=5)",
		load: workload{people: rushSize, runs: 1, seats: rushSize + pollers}, measure: measurePollers,
		targets: []report.Target{report.AtLeast(0.85, report.ToPlain)},
	},
	{
		id: "grown", what: "6000 people ask for seats of a run that has 200 000 requests, beside the same on a new run of the same database",
		load: workload{people: rushSize, runs: 1}, measure: measureGrown,
		targets: []report.Target{report.AtLeast(0.9, report.ToPlain)},
	},
	{
		id: "idle_10000", what: "10 000 runs whose registration is open, and nobody comes",
		measure: measureIdle,
		targets: []report.Target{report.AtMost(1, report.APIShare), report.AtMost(1, report.WorkerShare)},
	},
}
