package verify

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// Table prints results for people, a row for each.
type Table struct{ w *tabwriter.Writer }

// NewTable returns a table on out.
func NewTable(out io.Writer) *Table {
	t := &Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(t.w)
	return t
}

// Row prints a row.
func (t *Table) Row(name, format string, args ...any) {
	fmt.Fprintf(t.w, "  %s\t"+format+"\n", append([]any{name}, args...)...)
}

// Close prints what is left of the table.
func (t *Table) Close() { _ = t.w.Flush() } // to a terminal

// WriteVerdict prints the findings, or the praise if there are none.
func WriteVerdict(out io.Writer, wrong Findings, praise string) {
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

// Rounded rounds a number to three decimals, which is exact enough for people and
// for comparisons.
func Rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// Milliseconds returns a time in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
