package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// chaosJSON is the last line of chaos with -json.
type chaosJSON struct {
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
	MovedUntold     int `json:"moved_untold"` // who have a seat or a place and were not told of it
	Corrected       int `json:"addresses_corrected"`
	CorrectedUntold int `json:"corrected_untold"` // addresses, right and wrong ones
	LinkLeaked      int `json:"links_leaked"`     // to an address that is not theirs

	NotPossible map[string]string `json:"faults_not_possible"` // on this machine, and why
}

// chaosResult is what chaos came to.
type chaosResult struct {
	chaosJSON
	confirmed, waitlisted, cancelled, promoted int
	letters                                    int      // mails that have arrived
	wrong                                      []string // promises that were broken, in words
}

func (r *chaosResult) blame(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// err returns an error if a promise was broken.
func (r chaosResult) err() error {
	if len(r.wrong) > 0 {
		return fmt.Errorf("chaos broke a promise: %s", r.wrong[0])
	}
	return nil
}

// writeTable prints the result for people.
func (r chaosResult) writeTable(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{name}, args...)...)
	}
	count := 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		count += r.Faults[kind]
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, r.Faults[kind]))
	}
	fmt.Fprintln(w)
	row("seed", "%d", r.Seed)
	row("faults", "%d in %d seconds", count, r.Seconds)
	for part := range slices.Chunk(kinds, 5) {
		row("", "%s", strings.Join(part, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.NotPossible)) {
		row("not possible here", "%s: %s", kind, r.NotPossible[kind])
	}
	row("requests accepted", "%d", r.Accepted)
	row("lost", "%d", r.Lost)
	row("undecided", "%d", r.Undecided)
	row("confirmed", "%d, of whom %d were promoted", r.confirmed, r.promoted)
	row("waitlisted", "%d", r.waitlisted)
	row("cancelled", "%d", r.cancelled)
	row("oversold", "%d", r.Oversold)
	row("out of order", "%d", r.OutOfOrder)
	row("seated twice", "%d", r.DoubleSeated)
	row("told something that was over", "%d", r.WentBack)
	row("mails", "%d arrived, %d missing, %d once more than due", r.letters, r.MailMissing, r.MailRepeated)
	row("runs moved", "%d; %d people were not told", r.Moved, r.MovedUntold)
	row("addresses corrected", "%d; %d were not told, %d links went astray", r.Corrected, r.CorrectedUntold, r.LinkLeaked)
	row("slowest recovery", "%.0f ms", r.SlowestRecovery)
	_ = w.Flush() // to a terminal
	writeVerdict(out, r.wrong, fmt.Sprintf("All %d requests have one outcome each, the right one.", r.Accepted))
}
