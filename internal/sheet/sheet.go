// Package sheet writes and reads CSV that people open in spreadsheets.
//
// It owns the form: RFC 4180 with commas, in UTF-8 with the mark by which
// spreadsheets know it, and an escaping of typed texts that a spreadsheet neither
// computes nor changes and that can be undone. It must not know what the columns
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

// Writer writes rows. Texts that people typed have to be escaped: see Escape.
type Writer struct {
	w     *bufio.Writer
	begun bool
}

// NewWriter returns a writer of rows. It is for the caller to flush w.
func NewWriter(w *bufio.Writer) *Writer { return &Writer{w: w} }

// Write writes a row.
func (w *Writer) Write(cells ...string) error {
	if !w.begun {
		w.begun = true
		_, _ = w.w.WriteString(mark) // a bufio.Writer keeps its error
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

// needsQuotes tells whether a reader might not take the cell for one as it is:
// LibreOffice splits at semicolons and tabs, too, unless it is told otherwise.
func needsQuotes(cell string) bool {
	return strings.ContainsAny(cell, separators+`" `) || cell == `\.` // which ends a COPY of Postgres
}

// Reader reads rows that a Writer wrote, also after a spreadsheet has saved them
// with semicolons or tabs, without the mark, or with more quotes.
type Reader struct{ csv *csv.Reader }

// NewReader returns a reader of the rows in r, whose first row must have two
// columns at least: it tells the separator.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReader(r)
	if start, _ := in.Peek(len(mark)); string(start) == mark {
		_, _ = in.Discard(len(mark)) // it was peeked at
	}
	head, _ := in.Peek(in.Size()) // less, if there is less
	header, _, _ := strings.Cut(string(head), "\n")
	c := csv.NewReader(in)
	most := 0
	for _, separator := range ",;\t" {
		if n := strings.Count(header, string(separator)); n > most {
			most, c.Comma = n, separator
		}
	}
	if most == 0 {
		return nil, errors.New("the first line has no columns: they are separated by commas, semicolons or tabs")
	}
	return &Reader{csv: c}, nil
}

// Read returns the cells of the next row with their texts unescaped, as many as
// the first row has, and io.EOF after the last one.
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
