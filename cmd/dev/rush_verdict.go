package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// rushJSON is the last line of a rush with -json.
type rushJSON struct {
	People             int            `json:"people"`
	Seats              int            `json:"seats"`
	Accepted           int            `json:"accepted"`
	Confirmed          int            `json:"confirmed"`
	Waitlisted         int            `json:"waitlisted"`
	Rejected           map[string]int `json:"rejected"`
	Undecided          int            `json:"undecided"`
	Oversold           int            `json:"oversold"`
	OutOfOrder         int            `json:"out_of_order"`
	DuplicatesSeated   int            `json:"duplicates_seated"`
	SettledByTaskShare float64        `json:"settled_by_task_share"`
	AcceptPerSecond    float64        `json:"accept_per_second"`
	DecidedPerSecond   float64        `json:"decided_per_second"`
	DecidedP50         float64        `json:"decided_p50_ms"`
	DecidedP99         float64        `json:"decided_p99_ms"`
	Confirmations      int            `json:"confirmations"`
	ConfirmationsSent  int            `json:"confirmations_sent"` // when patience ended

	ConfirmationsSuperseded int     `json:"confirmations_superseded"` // the seat was given up before they were sent
	Waitlist                *int    `json:"waitlist"`                 // null = any number of places
	Cancel                  float64 `json:"cancel"`
	Cancelled               int     `json:"cancelled"`
	Promoted                int     `json:"promoted"`
	PromotedOutOfOrder      int     `json:"promoted_out_of_order"`
	MailsMissing            int     `json:"mails_missing"`
	rushCPU
}

// result is what a rush came to.
type result struct {
	rushJSON
	plan         rushPlan
	clicks       int
	directSeats  int           // given at once, by the rules
	lastDecision time.Duration // after the last answer
	took         time.Duration // from the first question to the last decision
	wentBack     int           // people who were told something that was over
	wrong        []string      // promises that were broken, in words
}

// rounded is exact enough for people and for comparisons.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// err returns an error if a promise was broken.
func (r result) err() error {
	if len(r.wrong) > 0 {
		return fmt.Errorf("the rush broke a promise: %s", r.wrong[0])
	}
	return nil
}

// writeTable prints the result for people.
func (r result) writeTable(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(w)
	row("people", "%d, with %d clicks", r.People, r.clicks)
	row("seats", "%d", r.Seats)
	row("accepted", "%d (%.0f per second)", r.Accepted, r.AcceptPerSecond)
	row("confirmed", "%d", r.Confirmed)
	if !r.plan.plain() {
		row("waitlisted", "%d (%s)", r.Waitlisted, r.plan.places())
		row("cancelled", "%d", r.Cancelled)
		row("promoted", "%d", r.Promoted)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Rejected)) {
		row("rejected, "+reason, "%d", r.Rejected[reason])
	}
	row("undecided", "%d", r.Undecided)
	row("decided", "%.0f per second", r.DecidedPerSecond)
	row("accepted to decided", "%.1f ms median, %.1f ms p99", r.DecidedP50, r.DecidedP99)
	row("last decision", "%d ms after the last answer", r.lastDecision.Milliseconds())
	row("CPU per seated person", "%s", r.words())
	row("settled by tasks", "%.1f %%", 100*r.SettledByTaskShare)
	superseded := ""
	if !r.plan.plain() || r.ConfirmationsSuperseded > 0 {
		superseded = fmt.Sprintf(", %d superseded", r.ConfirmationsSuperseded)
	}
	row("confirmed by mail", "%d written, %d sent%s", r.Confirmations, r.ConfirmationsSent, superseded)
	row("oversold", "%d", r.Oversold)
	row("out of order", "%d", r.OutOfOrder)
	row("seated twice", "%d", r.DuplicatesSeated)
	if !r.plan.plain() {
		row("promoted out of order", "%d", r.PromotedOutOfOrder)
		row("mails missing", "%d", r.MailsMissing)
	}
	_ = w.Flush() // to a terminal
	writeVerdict(out, r.wrong, r.praise())
}

// writeVerdict prints what is wrong, or else the praise.
func writeVerdict(out io.Writer, wrong []string, praise string) {
	if len(wrong) == 0 {
		fmt.Fprintf(out, "\n  Verdict: right. %s\n\n", praise)
		return
	}
	const most = 20
	fmt.Fprintf(out, "\n  Verdict: WRONG.\n")
	for _, text := range wrong[:min(len(wrong), most)] {
		fmt.Fprintf(out, "    %s\n", text)
	}
	if more := len(wrong) - most; more > 0 {
		fmt.Fprintf(out, "    and %d more\n", more)
	}
	fmt.Fprintln(out)
}

// praise says what is right.
func (r result) praise() string {
	if r.plan.plain() {
		return fmt.Sprintf("The first %d people who asked have the seats, each one.", r.Confirmed)
	}
	return fmt.Sprintf("%d people have a seat and %d wait for one, in the order in which they asked;\n  %d gave theirs up, and %d were promoted, each in turn.",
		r.Confirmed, r.Waitlisted, r.Cancelled, r.Promoted)
}
