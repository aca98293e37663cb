package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// WriteTable writes the results as a table that reads well in a terminal and is
// Markdown as well. It returns the writer's error.
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
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad + " |") // words to the left, numbers to the right
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteString("\n")
		if n == 0 {
			for i, width := range widths {
				if i == 0 {
					b.WriteString("|" + strings.Repeat("-", width+2) + "|")
				} else {
					b.WriteString(strings.Repeat("-", width+1) + ":|")
				}
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
