package sheet_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lastseat/lastseat/internal/sheet"
)

// typed maps texts that people do or might type to their cells.
var typed = map[string]string{
	"":                        "",
	"Ada Lovelace":            "Ada Lovelace",
	"O'Brien-Smith, Jr.":      "O'Brien-Smith, Jr.",
	"李小龍":                     "李小龍",
	"דָּוִד":                  "דָּוִד",
	"ada+1@example.org":       "ada+1@example.org",
	"123@example.org":         "123@example.org",
	"Eva;=1+1;":               "Eva;'=1+1;",
	"Eva;'=1+1;":              "Eva;''=1+1;",
	"Eva;;\t=1+1":             "Eva;;\t'=1+1",
	"a,=1+1,":                 "a,'=1+1,",
	"a\t=1+1":                 "a\t'=1+1",
	"a\n=1+1\r\n-2":           "a\n'=1+1\r\n'-2",
	"=1+1":                    "'=1+1",
	"'=1+1":                   "''=1+1",
	"''=1+1":                  "'''=1+1",
	" =1+1":                   "' =1+1",
	`"=1+1"`:                  `'"=1+1"`,
	`x;"=1+1"`:                `x;'"=1+1"`,
	"＝1+1":                    "'＝1+1",
	"﹦1+1":                    "'﹦1+1",
	"＋49 30":                  "'＋49 30",
	"−2":                      "'−2",
	"＠SUM(A1)":                "'＠SUM(A1)",
	"\u200b=1+1":              "'\u200b=1+1",
	"=cmd|' /C calc'!A0":      "'=cmd|' /C calc'!A0",
	"=cmd@example.org":        "'=cmd@example.org",
	"007":                     "'007",
	"1e5":                     "'1e5",
	"1;2":                     "'1;'2",
	"12:30":                   "'12:30",
	"2027-02-01":              "'2027-02-01",
	"Jan 2027":                "'Jan 2027",
	"März 3":                  "'März 3",
	"R2D2":                    "'R2D2",
	"True":                    "'True",
	"wahr":                    "'wahr",
	"#N/A":                    "'#N/A",
	"50%":                     "'50%",
	"€ 5":                     "'€ 5",
	"a; =1":                   "a;' =1",
	"a; 'b":                   "a;' 'b",
	" b":                      " b",
	"(5)":                     "'(5)",
	"½":                       "'½",
	"１２":                      "'１２",
	"١٢٣":                     "'١٢٣",
	"👩‍👩‍👧 Family":            "'👩‍👩‍👧 Family",
	`\`:                       `'\`,
	"a,b;c\td|e":              "a,b;c\td|e",
	`Robert "Bobby"; DROP`:    `Robert "Bobby"; DROP`,
	"trailing;":               "trailing;",
	"a  b\u00a0c":             "a  b\u00a0c",
	strings.Repeat("=;", 100): strings.Repeat("'=;", 100),
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range typed {
		if got := sheet.Escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := sheet.Unescape(sheet.Escape(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// FuzzSheet checks that every typed text comes back, and that no cell begins
// like a formula wherever a line is split.
func FuzzSheet(f *testing.F) {
	for text := range typed {
		f.Add(text, "x")
		f.Add("x", text)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		if !utf8.ValidString(one) || !utf8.ValidString(other) || strings.Contains(one+other, "\r") {
			return // CSV cannot keep them, and no typed text has them
		}
		rows := [][]string{{"first", "second", "third"}, {"7", one, other}, {other, "", one}}
		text := write(t, rows)
		got, err := read(text)
		if err != nil || !slices.EqualFunc(got, rows, slices.Equal[[]string]) {
			t.Fatalf("%q became %q, %v", rows, got, err)
		}
		for _, separator := range ",;\t" {
			lenient := csv.NewReader(bytes.NewReader(text))
			lenient.Comma, lenient.LazyQuotes, lenient.FieldsPerRecord = separator, true, -1
			for {
				cells, err := lenient.Read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				requireNoFormula(t, cells)
			}
			requireNoFormula(t, strings.FieldsFunc(string(text), func(r rune) bool { return r == separator || r == '\n' }))
		}
	})
}

func write(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var out bytes.Buffer
	buffer := bufio.NewWriter(&out)
	w := sheet.NewWriter(buffer)
	for _, row := range rows {
		var cells []string
		for _, text := range row {
			cells = append(cells, sheet.Escape(text))
		}
		if err := w.Write(cells...); err != nil {
			t.Fatal(err)
		}
	}
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(text []byte) (rows [][]string, err error) {
	r, err := sheet.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

func requireNoFormula(t *testing.T, cells []string) {
	t.Helper()
	for _, cell := range cells {
		start := strings.TrimLeftFunc(cell, func(r rune) bool { return r == '"' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
		if start = norm.NFKC.String(start); start != "" && strings.ContainsRune("=+-@−", []rune(start)[0]) {
			t.Errorf("the cell %q is a formula", cell)
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	want := [][]string{{"ticket", "name"}, {"1", "Eva;=1+1;"}, {"2", "a \"b\" c"}}
	for name, text := range map[string]string{
		"commas":            "\ufeffticket,name\r\n1,\"Eva;'=1+1;\"\r\n2,\"a \"\"b\"\" c\"\r\n",
		"semicolons":        "ticket;name\n1;\"Eva;'=1+1;\"\n2;\"a \"\"b\"\" c\"\n",
		"tabs":              "ticket\tname\n1\tEva;'=1+1;\n2\t\"a \"\"b\"\" c\"",
		"quotes everywhere": "\"ticket\",\"name\"\n\"1\",\"Eva;'=1+1;\"\n\"2\",\"a \"\"b\"\" c\"\n",
	} {
		if got, err := read([]byte(text)); err != nil || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "one column": "ticket\n1\n", "a row that is too short": "a,b\n1\n", "Windows-1252": "a,b\n1,M\xfcller\n", "an open quote": "a,b\n1,\"x\n",
	} {
		if got, err := read([]byte(text)); err == nil {
			t.Errorf("%s is read as %q", name, got)
		}
	}
}
