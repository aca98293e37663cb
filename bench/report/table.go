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

// WriteTables writes a table for each case, which reads well in a terminal and is
// Markdown as well, and how its targets stand.
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

// numbers are what is known of Lastseat.
func (c *Case) numbers() (rows [][]string) {
	m := Median(c.Lastseat.Samples)
	for _, name := range []Metric{
		Accepted, Decided, Plain, AnsweredP50, AnsweredP99, DecidedP50, DecidedP99, CPU, CPUPostgres, CPURedis, CPUClient, CPUSeated,
		APIShare, WorkerShare, PostgresShare, RedisShare, PostgresOps, RedisOps,
	} {
		if x, has := m[name]; has {
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

// number shows three digits that count.
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

// writeRows writes a head and rows: words to the left, numbers to the right.
func writeRows(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	isWord := func(i int) bool { return i == 0 || i == len(widths)-1 && len(widths) > 2 }
	for n, row := range rows {
		b.WriteString("|")
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if isWord(i) {
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
			if isWord(i) {
				b.WriteString(strings.Repeat("-", width+2) + "|")
			} else {
				b.WriteString(strings.Repeat("-", width+1) + ":|")
			}
		}
		b.WriteString("\n")
	}
}
