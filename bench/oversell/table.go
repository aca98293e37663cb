package oversell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/bench/report"
)

// WriteTable writes the results as a Markdown table that is aligned for terminals. It returns the writer's error.
func WriteTable(w io.Writer, results []Result) error {
	rows := [][]string{{"answer", "seated", "oversold", "retries", "overtaken", "by up to", "took", "people/s"}}
	for _, r := range results {
		rows = append(rows, []string{
			r.Name,
			fmt.Sprintf("%d of %d", r.Seated, r.Seats),
			strconv.Itoa(r.Oversold),
			strconv.Itoa(r.Retries),
			strconv.Itoa(r.Overtaken),
			strconv.Itoa(r.PassedBy),
			r.Took.Round(10 * time.Millisecond).String(),
			fmt.Sprintf("%.0f", float64(r.People)/r.Took.Seconds()),
		})
	}
	var b strings.Builder
	report.WriteRows(&b, rows, func(column int) bool { return column == 0 })
	_, err := io.WriteString(w, b.String())
	return err
}
