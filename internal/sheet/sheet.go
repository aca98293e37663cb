// Package sheet writes and reads CSV that people open in spreadsheets.
//
// It owns the format: RFC 4180 with commas, in UTF-8 with a byte-order mark, by
// which spreadsheets recognise it, and a reversible escaping of typed texts,
// which no spreadsheet computes or changes. It must not know what the columns
// mean.
package sheet

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const mark = "\ufeff"

// Writer writes rows. Escape typed texts before you write them.
type Writer struct {
	w     *bufio.Writer
	begun bool
}

// NewWriter returns a writer of rows to w. The caller flushes w.
func NewWriter(w *bufio.Writer) *Writer { return &Writer{w: w} }

// Write writes a row.
func (w *Writer) Write(cells ...string) error {
	if !w.begun {
		w.begun = true
		_, _ = w.w.WriteString(mark) // a bufio.Writer returns its first error again
	}
	for i, cell := range cells {
		if i > 0 {
			_ = w.w.WriteByte(',')
		}
		if needsQuotes(cell) {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = w.w.WriteString(cell)
	}
	_, err := w.w.WriteString("\r\n")
	return err
}

// needsQuotes tells whether a reader might misread the cell without quotes.
// LibreOffice also splits at semicolons and tabs, unless it is told otherwise.
func needsQuotes(cell string) bool {
	return strings.ContainsAny(cell, separators+`" `) || cell == `\.` // ends a COPY in Postgres
}

// Reader reads rows that a Writer wrote, even after a spreadsheet has saved
// them with semicolons or tabs, without the mark, or with more quotes.
type Reader struct{ csv *csv.Reader }

// NewReader returns a reader of the rows in r. The first row must have at least
// two columns, because it shows the separator.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReader(r)
	if start, _ := in.Peek(len(mark)); string(start) == mark {
		_, _ = in.Discard(len(mark)) // cannot fail after Peek
	}
	head, _ := in.Peek(in.Size()) // returns what there is, if that is less
	header, _, _ := strings.Cut(string(head), "\n")
	c := csv.NewReader(in)
	most := 0
	for _, separator := range ",;\t" {
		if n := strings.Count(header, string(separator)); n > most {
			most, c.Comma = n, separator
		}
	}
	if most == 0 {
		return nil, errors.New("the first line has only one column: columns are separated by commas, semicolons or tabs")
	}
	return &Reader{csv: c}, nil
}

// Read returns the unescaped cells of the next row, as many as the first row
// has. After the last row it returns io.EOF.
func (r *Reader) Read() ([]string, error) {
	cells, err := r.csv.Read()
	if err != nil {
		return nil, err
	}
	for i, cell := range cells {
		if !utf8.ValidString(cell) {
			line, _ := r.csv.FieldPos(i)
			return nil, fmt.Errorf("line %d is not valid UTF-8", line)
		}
		cells[i] = Unescape(cell)
	}
	return cells, nil
}
