package httpapi

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/sheet"
)

// FuzzLineDocuments: whatever people call themselves, both forms of a line can be
// read again with the same texts in the same places. What a spreadsheet makes of
// them is tested in internal/sheet.
func FuzzLineDocuments(f *testing.F) {
	for _, seed := range []string{
		"Ada Lovelace", `=HYPERLINK("http://x")`, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a,b;c", `"`, `""=1`, "'=1", "a\nb", "a\r\nb", "\ufeff", "\xff", "", " =1", "\\", "<script>", "\u2028",
	} {
		f.Add(seed, "ada@example.org")
		f.Add("Ada", seed)
	}
	f.Fuzz(func(t *testing.T, name, email string) {
		if !utf8.ValidString(name) || !utf8.ValidString(email) {
			return // the database holds nothing else
		}
		entries := []enroll.LineEntry{
			{Ticket: 1, Kind: enroll.Register, Status: enroll.Queued, Name: enroll.Name(name), Email: email},
			{Ticket: 2, Kind: enroll.Resize, Status: enroll.Done, Change: enroll.Change{Capacity: &enroll.Limit{}}},
		}
		write := func(make func(*bufio.Writer) lineWriter) []byte {
			var out bytes.Buffer
			buffer := bufio.NewWriter(&out)
			w := make(buffer)
			for _, err := range []error{w.begin("go-1"), w.entry(entries[0]), w.entry(entries[1]), w.end(), buffer.Flush()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return out.Bytes()
		}

		text := write(func(b *bufio.Writer) lineWriter { return newCSVLine(b) })
		if !strings.ContainsAny(name+email, "\r") { // which names and addresses cannot hold, nor CSV keep
			r, err := sheet.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			var rows [3][]string
			for i := range rows {
				if rows[i], err = r.Read(); err != nil || len(rows[i]) != 12 {
					t.Fatalf("%q is read as %q, %v", text, rows, err)
				}
			}
			if rows[1][7] != name || rows[1][8] != email || rows[2][11] != `{"capacity":null}` {
				t.Errorf("%q and %q became %q", name, email, rows)
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
