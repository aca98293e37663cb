package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/verify"
)

// numbers is the last line of chaos with -json.
type numbers struct {
	Seconds         int            `json:"seconds"`
	Seed            uint64         `json:"seed"`
	Faults          map[string]int `json:"faults"` // by kind
	Accepted        int            `json:"accepted"`
	Lost            int            `json:"lost"`
	Oversold        int            `json:"oversold"`
	OutOfOrder      int            `json:"out_of_order"`
	DoubleSeated    int            `json:"double_seated"`
	Undecided       int            `json:"undecided"`
	WentBack        int            `json:"went_back"`
	MailMissing     int            `json:"mail_missing"`
	MailRepeated    int            `json:"mail_repeated"`
	SlowestRecovery float64        `json:"slowest_recovery_ms"`

	Moved           int `json:"runs_moved"`
	MovedUntold     int `json:"moved_untold"` // people with a seat or a place who were not told of it
	Corrected       int `json:"addresses_corrected"`
	CorrectedUntold int `json:"corrected_untold"` // addresses, right and wrong
	LinkLeaked      int `json:"links_leaked"`     // to an address that is not the link's

	NotPossible map[string]string `json:"faults_not_possible"` // on this machine, and why
}

// result is what chaos came to.
type result struct {
	numbers
	verify.Findings
	confirmed, waitlisted, cancelled, promoted int
	mails                                      int // that have arrived
}

// newResult begins a result with the faults and the recovery from them.
func newResult(p plan, impossible map[string]string, o observations) *result {
	r := &result{numbers: numbers{Seconds: p.seconds, Seed: p.seed, Faults: make(map[string]int), NotPossible: impossible}, Findings: o.pending}
	var excuses []verify.Interval
	for _, f := range o.faults {
		if !f.from.IsZero() {
			r.Faults[f.kind]++
		}
		if f.excuses() {
			excuses = append(excuses, verify.Interval{From: f.from, To: f.to})
		}
	}
	for _, marks := range o.lines {
		slowest := verify.SlowestRecovery(marks, excuses)
		r.SlowestRecovery = max(r.SlowestRecovery, verify.Rounded(verify.Milliseconds(slowest)))
	}
	return r
}

// faultCount returns how many faults happened.
func (r *result) faultCount() (n int) {
	for _, count := range r.Faults {
		n += count
	}
	return n
}

// add adds the verdict on a run.
func (r *result) add(run *run, v *verify.Result) {
	for _, text := range v.Findings {
		r.Addf("run %s: %s", run.slug, text)
	}
	r.Accepted += v.Requests
	r.Undecided += v.Undecided
	r.confirmed += v.Confirmed
	r.waitlisted += v.Waitlisted
	r.cancelled += v.Cancelled
	r.promoted += v.Promoted
	r.Lost += v.Lost
	r.Oversold += v.Oversold
	r.OutOfOrder += v.OutOfOrder + v.PromotedOutOfOrder
	r.DoubleSeated += v.DuplicatesSeated
	r.MailMissing += v.MailsMissing
	r.WentBack += v.WentBack
	r.Moved += run.moves
	r.MovedUntold += v.MovedUntold
	r.Corrected += len(run.corrections)
	r.CorrectedUntold += v.CorrectedUntold
	r.LinkLeaked += v.LinksLeaked
}

// addDelivery adds the verdict on the mails that were to arrive.
func (r *result) addDelivery(d verify.Delivery) {
	r.Findings = append(r.Findings, d.Findings...)
	r.mails += d.Arrived
	r.MailMissing += d.Missing
	r.MailRepeated += d.Repeated
}

// err returns an error if a promise was broken.
func (r *result) err() error {
	if len(r.Findings) > 0 {
		return fmt.Errorf("chaos broke a promise: %s", r.Findings[0])
	}
	return nil
}

// writeTable prints the result for people.
func (r *result) writeTable(out io.Writer) {
	t := verify.NewTable(out)
	t.Row("seed", "%d", r.Seed)
	t.Row("faults", "%d in %d seconds", r.faultCount(), r.Seconds)
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, r.Faults[kind]))
	}
	for some := range slices.Chunk(kinds, 5) {
		t.Row("", "%s", strings.Join(some, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.NotPossible)) {
		t.Row("not possible here", "%s: %s", kind, r.NotPossible[kind])
	}
	t.Row("requests accepted", "%d", r.Accepted)
	t.Row("lost", "%d", r.Lost)
	t.Row("undecided", "%d", r.Undecided)
	t.Row("confirmed", "%d, of whom %d were promoted", r.confirmed, r.promoted)
	t.Row("waitlisted", "%d", r.waitlisted)
	t.Row("cancelled", "%d", r.cancelled)
	t.Row("oversold", "%d", r.Oversold)
	t.Row("out of order", "%d", r.OutOfOrder)
	t.Row("seated twice", "%d", r.DoubleSeated)
	t.Row("told something that was over", "%d", r.WentBack)
	t.Row("mails", "%d arrived, %d missing, %d once more than due", r.mails, r.MailMissing, r.MailRepeated)
	t.Row("runs moved", "%d; %d people were not told", r.Moved, r.MovedUntold)
	t.Row("addresses corrected", "%d; %d were not told, %d links went astray", r.Corrected, r.CorrectedUntold, r.LinkLeaked)
	t.Row("slowest recovery", "%.0f ms", r.SlowestRecovery)
	t.Close()
	verify.WriteVerdict(out, r.Findings, fmt.Sprintf("All %d requests have one outcome each, the right one.", r.Accepted))
}
