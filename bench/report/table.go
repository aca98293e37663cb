package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTables writes a Markdown table for each case, aligned for terminals, and
// whether it reaches its targets.
func (r *Report) WriteTables(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "\n%s: %s\n\n", c.ID, c.What)
		c.write(&b)
		if r.Smoke {
			continue
		}
		b.WriteString("\n")
		for _, t := range c.Targets {
			fmt.Fprintf(&b, "target: %s\n", t.verdict(c))
		}
	}
	if r.Smoke {
		b.WriteString("\nA smoke run: fewer people than it says came, once. These numbers mean nothing.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Case) write(b *strings.Builder) {
	if others := c.numbers(); len(others) > 0 {
		writeRows(b, append([][]string{{"Lastseat", "median"}}, others...))
		b.WriteString("\n")
	}
	if len(c.Rivals) == 0 && c.Ceiling == nil {
		return
	}
	rows := [][]string{{"contender", "per second", "Lastseat / it", "p50 ms", "p99 ms", "cpu ms per seat", "oversold", "pool", "rounds", "does not promise"}}
	own := c.Lastseat
	own.Name, own.Lacks = "Lastseat", "–"
	rows = append(rows, own.row("1"))
	all := slices.Clone(c.Rivals)
	slices.SortStableFunc(all, func(x, y *Entrant) int { return cmp.Compare(rate(Median(y.Samples)), rate(Median(x.Samples))) })
	if c.Ceiling != nil {
		all = append([]*Entrant{c.Ceiling}, all...)
	}
	for _, e := range all {
		if len(e.Samples) > 0 {
			rows = append(rows, e.row(number(c.ratioTo(e))))
		}
	}
	writeRows(b, rows)
}

// numbers returns the rows of Lastseat's own table.
func (c *Case) numbers() (rows [][]string) {
	m := Median(c.Lastseat.Samples)
	for _, name := range []Metric{
		Accepted, Decided, Plain, AnsweredP50, AnsweredP99, DecidedP50, DecidedP99, CPU, CPUPostgres, CPURedis, CPUClient, CPUSeated,
		APIShare, WorkerShare, PostgresShare, RedisShare, PostgresOps, RedisOps,
	} {
		if x, ok := m[name]; ok {
			rows = append(rows, []string{string(name), number(x)})
		}
	}
	return rows
}

func (e *Entrant) row(ratio string) []string {
	m := Median(e.Samples)
	p50, p99 := e.latency()
	pool := "–"
	if e.Pool > 0 {
		pool = fmt.Sprint(e.Pool)
	}
	oversold := number(m[Oversold])
	if m[GaveUp] > 0 {
		oversold += fmt.Sprintf(" (%s gave up)", number(m[GaveUp]))
	}
	return []string{e.Name, number(rate(m)), ratio, number(p50), number(p99), number(valueOf(m, CPUSeated)), oversold, pool, fmt.Sprint(len(e.Samples)), e.Lacks}
}

// number writes a number with three significant digits.
func number(x float64) string {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case x == 0:
		return "0"
	case size >= 100:
		return fmt.Sprintf("%.0f", x)
	case size >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// writeRows writes rows of which the first column is text, and the last one unless
// there are only two.
func writeRows(b *strings.Builder, rows [][]string) {
	last := len(rows[0]) - 1
	WriteRows(b, rows, func(column int) bool { return column == 0 || column == last && last > 1 })
}

// WriteRows writes a head and rows as an aligned Markdown table: text to the left,
// numbers to the right.
func WriteRows(b *strings.Builder, rows [][]string, isText func(column int) bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		b.WriteString("|")
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if isText(i) {
				b.WriteString(" " + cell + pad + " |")
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteString("\n")
		if n > 0 {
			continue
		}
		b.WriteString("|")
		for i, width := range widths {
			if isText(i) {
				b.WriteString(strings.Repeat("-", width+2) + "|")
			} else {
				b.WriteString(strings.Repeat("-", width+1) + ":|")
			}
		}
		b.WriteString("\n")
	}
}
