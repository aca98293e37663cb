package httpapi

import (
	"bufio"
	"bytes"
	"encoding/csv"
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzLineDocuments: whatever people call themselves, both forms of a line can be
// read again with the same texts in the same places, and no spreadsheet computes
// a cell.
func FuzzLineDocuments(f *testing.F) {
	for _, seed := range []string{
		"Ada Lovelace", `=HYPERLINK("http://x")`, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a,b;c", `"`, `""=1`, "'=1", "a\nb", "a\r\nb", "\ufeff", "\xff", "", " =1", "\\", "<script>", "\u2028",
	} {
		f.Add(seed, "ada@example.org")
		f.Add("Ada", seed)
	}
	const formula = "=+-@\t\r"
	f.Fuzz(func(t *testing.T, name, email string) {
		if !utf8.ValidString(name) || !utf8.ValidString(email) {
			return // the database holds nothing else
		}
		entries := []enroll.Entry{
			{Ticket: 1, Kind: enroll.Register, Status: enroll.Queued, Name: enroll.Name(name), Email: email},
			{Ticket: 2, Kind: enroll.Resize, Status: enroll.Done, Change: enroll.Change{Capacity: &enroll.Limit{}}},
		}
		write := func(make func(*bufio.Writer) lineWriter) []byte {
			var out bytes.Buffer
			buffer := bufio.NewWriter(&out)
			w := make(buffer)
			for _, err := range []error{w.begin("go-1"), w.entry(entries[0]), w.entry(entries[1]), w.end(), w.flush(), buffer.Flush()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return out.Bytes()
		}

		text, marked := bytes.CutPrefix(write(func(b *bufio.Writer) lineWriter { return newCSVLine(b) }), []byte("\ufeff"))
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || !marked || len(rows) != 3 || len(rows[1]) != len(rows[0]) || len(rows[2]) != len(rows[0]) {
			t.Fatalf("%q is read as %q, %v", text, rows, err)
		}
		for _, row := range rows {
			for _, c := range row {
				if c != "" && strings.Contains(formula, c[:1]) {
					t.Errorf("the cell %q is computed", c)
				}
			}
		}
		// The writer drops lone CRs, which names and addresses cannot hold.
		for i, want := range map[int]string{7: name, 8: email} {
			computed := want != "" && strings.Contains(formula, want[:1])
			want = strings.ReplaceAll(want, "\r", "")
			if computed {
				want = "'" + want
			}
			if got := rows[1][i]; got != want {
				t.Errorf("%q became %q", want, got)
			}
		}

		var line struct {
			Entries []struct{ Name, Email *string }
		}
		text = write(func(b *bufio.Writer) lineWriter { return &jsonLine{w: b} })
		if err := stdjson.Unmarshal(text, &line); err != nil || len(line.Entries) != 2 {
			t.Fatalf("%s: %v", text, err)
		}
		for want, got := range map[string]*string{name: line.Entries[0].Name, email: line.Entries[0].Email} {
			if (got == nil) != (want == "") || got != nil && *got != want {
				t.Errorf("%q became %v", want, got)
			}
		}
	})
}
