package sheet_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// spreadsheet names LibreOffice's program. `make test` sets it.
const spreadsheet = "LASTSEAT_TEST_SOFFICE"

// office is LibreOffice, with a profile of its own.
type office struct {
	t       *testing.T
	program string
	folder  string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	program := os.Getenv(spreadsheet)
	if program == "" {
		found, err := exec.LookPath("soffice")
		if err != nil {
			t.Fatalf("LibreOffice is missing: run the tests with `make test`, which installs Debian's libreoffice-calc, or set %s to its program soffice", spreadsheet)
		}
		program = found
	}
	return &office{t: t, program: program, folder: t.TempDir()}
}

// open opens CSV files with the filter options, saves them in another format,
// and returns the result.
// https://help.libreoffice.org/latest/en-US/text/shared/guide/csv_params.html
func (o *office) open(options, format string, files ...string) (saved [][]byte) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out := filepath.Join(o.folder, "out")
	args := []string{"-env:UserInstallation=file://" + o.folder + "/profile", "--headless", "--norestore",
		"--infilter=Text - txt - csv (StarCalc):" + options, "--convert-to", format, "--outdir", out}
	c := exec.CommandContext(ctx, o.program, append(args, files...)...)
	c.Env = append(os.Environ(), "HOME="+o.folder) // it writes there, too
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := proc.RunGuarded(c); err != nil {
		o.t.Fatalf("soffice: %v\n%s", err, &said)
	}
	extension, _, _ := strings.Cut(format, ":")
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".csv")+"."+extension))
		if err != nil {
			o.t.Fatal(err)
		}
		saved = append(saved, text)
	}
	return saved
}

// TestSpreadsheet opens a file in LibreOffice in the ways that people do.
func TestSpreadsheet(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	rows := [][]string{{"number", "text"}}
	for text := range typed {
		if !strings.Contains(text, "\n") { // CSV cannot keep the CR in it
			rows = append(rows, []string{fmt.Sprint(len(rows)), text})
		}
	}
	files := []string{filepath.Join(o.folder, "sheet.csv"), filepath.Join(o.folder, "bare.csv")}
	for i, text := range [][]byte{write(t, rows), []byte("a,b\n1,Eva;=1+1;\n")} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const (
		utf8   = ",34,76,1,"        // quotes, encoding, the first line
		eager  = ",1031,false,true" // detects dates and other numbers in the German notation
		csvOut = "csv:Text - txt - csv (StarCalc):44,34,76"
	)
	// Not in parallel, because two instances would share the profile.
	for name, options := range map[string]string{"by default": "44" + utf8 + eager, "as text": "44" + utf8 + "1/2/2/2"} {
		saved := o.open(options, csvOut, files[0])[0]
		got, err := read(saved)
		if err != nil || len(got) != len(rows) {
			t.Errorf("opened %s and saved, it is read with %v:\n%s", name, err, saved)
			continue
		}
		for i, row := range got {
			if !slices.Equal(row, rows[i]) {
				t.Errorf("opened %s and saved, %q became %q", name, rows[i], row)
			}
		}
	}
	for name, separators := range map[string]string{"semicolons and tabs": "59/9", "commas, too": "44/59/9"} {
		saved := o.open(separators+utf8+eager, "fods", files...)
		if formulas := formulasIn(t, saved[0]); len(formulas) > 0 {
			t.Errorf("opened with %s, there are formulas: %q", name, formulas)
		}
		if formulas := formulasIn(t, saved[1]); len(formulas) != 1 {
			t.Errorf("opened with %s, a file with a formula has %q", name, formulas)
		}
	}
}

// formulasIn returns the formulas of a flat OpenDocument spreadsheet.
func formulasIn(t *testing.T, fods []byte) (formulas []string) {
	t.Helper()
	if !strings.Contains(string(fods), "office:spreadsheet") {
		t.Fatalf("this is no spreadsheet: %.200s", fods)
	}
	for d := xml.NewDecoder(strings.NewReader(string(fods))); ; {
		token, err := d.Token()
		if token == nil {
			return formulas
		} else if err != nil {
			t.Fatal(err)
		}
		if start, is := token.(xml.StartElement); is {
			for _, a := range start.Attr {
				if a.Name.Local == "formula" {
					formulas = append(formulas, a.Value)
				}
			}
		}
	}
}
