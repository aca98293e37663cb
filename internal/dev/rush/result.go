package rush

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/verify"
)

// numbers is the last line of a rush with -json.
type numbers struct {
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
	ConfirmationsSent  int            `json:"confirmations_sent"` // within mailPatience

	ConfirmationsSuperseded int     `json:"confirmations_superseded"` // the seat was given up before they were sent
	Waitlist                *int    `json:"waitlist"`                 // null = any number of places
	Cancel                  float64 `json:"cancel"`
	Cancelled               int     `json:"cancelled"`
	Promoted                int     `json:"promoted"`
	PromotedOutOfOrder      int     `json:"promoted_out_of_order"`
	MailsMissing            int     `json:"mails_missing"`
	cpu
}

// Result is what a rush came to.
type Result struct {
	numbers
	verify.Findings
	Took time.Duration // from the first submission to the last decision

	plan         Plan
	submissions  int
	seatedAtOnce int           // by the rules
	lastDecision time.Duration // after the last answer
}

// judge compares the ledger with the rules, and the answers with the ledger.
func judge(plan Plan, submissions []*clients.Submission, l verify.Ledger) *Result {
	v := verify.Line(verify.Run{Seats: plan.Seats, Places: plan.Waitlist}, l)
	v.CompareAnswers(submissions, l)
	r := &Result{
		numbers: numbers{
			People: plan.People, Seats: plan.Seats, Waitlist: plan.Waitlist, Cancel: plan.Cancel, Accepted: len(submissions),
			Confirmed: v.Confirmed, Waitlisted: v.Waitlisted, Rejected: v.Rejected, Undecided: v.Undecided, Cancelled: v.Cancelled,
			Oversold: v.Oversold, OutOfOrder: v.OutOfOrder, DuplicatesSeated: v.DuplicatesSeated,
			Promoted: v.Promoted, PromotedOutOfOrder: v.PromotedOutOfOrder, MailsMissing: v.MailsMissing,
		},
		Findings: v.Findings, plan: plan, submissions: len(submissions), seatedAtOnce: v.SeatedAtOnce,
	}
	r.measure(submissions, l.Line)
	return r
}

// Err returns an error if a promise was broken.
func (r *Result) Err() error {
	if len(r.Findings) > 0 {
		return fmt.Errorf("the rush broke a promise: %s", r.Findings[0])
	}
	return nil
}

// writeTable prints the result for people.
func (r *Result) writeTable(out io.Writer) {
	t := verify.NewTable(out)
	t.Row("people", "%d, with %d clicks", r.People, r.submissions)
	t.Row("seats", "%d", r.Seats)
	t.Row("accepted", "%d (%.0f per second)", r.Accepted, r.AcceptPerSecond)
	t.Row("confirmed", "%d", r.Confirmed)
	if !r.plan.plain() {
		t.Row("waitlisted", "%d (%s)", r.Waitlisted, r.plan.places())
		t.Row("cancelled", "%d", r.Cancelled)
		t.Row("promoted", "%d", r.Promoted)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Rejected)) {
		t.Row("rejected, "+reason, "%d", r.Rejected[reason])
	}
	t.Row("undecided", "%d", r.Undecided)
	t.Row("decided", "%.0f per second", r.DecidedPerSecond)
	t.Row("accepted to decided", "%.1f ms median, %.1f ms p99", r.DecidedP50, r.DecidedP99)
	t.Row("last decision", "%s the last answer", beforeOrAfter(r.lastDecision))
	t.Row("CPU per seated person", "%s", r.words())
	t.Row("settled by tasks", "%.1f %%", 100*r.SettledByTaskShare)
	superseded := ""
	if !r.plan.plain() || r.ConfirmationsSuperseded > 0 {
		superseded = fmt.Sprintf(", %d superseded", r.ConfirmationsSuperseded)
	}
	t.Row("confirmed by mail", "%d written, %d sent%s", r.Confirmations, r.ConfirmationsSent, superseded)
	t.Row("oversold", "%d", r.Oversold)
	t.Row("out of order", "%d", r.OutOfOrder)
	t.Row("seated twice", "%d", r.DuplicatesSeated)
	if !r.plan.plain() {
		t.Row("promoted out of order", "%d", r.PromotedOutOfOrder)
		t.Row("mails missing", "%d", r.MailsMissing)
	}
	t.Close()
	verify.WriteVerdict(out, r.Findings, r.praise())
}

// beforeOrAfter says in words when something happened.
func beforeOrAfter(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("%d ms before", -d.Milliseconds())
	}
	return fmt.Sprintf("%d ms after", d.Milliseconds())
}

// praise says what is right.
func (r *Result) praise() string {
	if r.plan.plain() {
		return fmt.Sprintf("The first %d people who asked have the seats, each one.", r.Confirmed)
	}
	return fmt.Sprintf("%d people have a seat and %d wait for one, in the order in which they asked;\n  %d gave theirs up, and %d were promoted, each in turn.",
		r.Confirmed, r.Waitlisted, r.Cancelled, r.Promoted)
}
