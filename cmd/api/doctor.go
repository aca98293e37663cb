package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// errWrong means that the doctor has found, and printed, something wrong.
var errWrong = errors.New("something is wrong")

// doctorFlags are the flags of `api doctor`.
type doctorFlags struct {
	doctor.Options
	json bool
}

func parseDoctor(args []string) (doctorFlags, error) {
	var d doctorFlags
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&d.Run, "run", "", "")
	flags.BoolVar(&d.Repair, "repair", false, "")
	flags.BoolVar(&d.json, "json", false, "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return d, flag.ErrHelp
	} else if err != nil || flags.NArg() > 0 {
		return d, errUsage
	}
	return d, nil
}

// examine has the doctor check the ledger and writes the report. It returns
// errWrong if something is wrong, and another error if not everything could be
// checked.
func examine(ctx context.Context, c config.Config, d doctorFlags, stdout io.Writer) error {
	report, err := visit(ctx, c, d.Options)
	var unwritten error
	switch nothing := err != nil && report.Runs+len(report.Undone) == 0; {
	case d.json:
		unwritten = writeJSON(stdout, report, err)
	case !nothing: // otherwise the error says everything
		writeWords(stdout, report, d.Repair, err)
	}
	if wrong, _ := report.Wrong(); wrong > 0 {
		if err != nil {
			fmt.Fprintln(os.Stderr, "api:", err)
		}
		err = errWrong
	}
	return errors.Join(err, unwritten)
}

// visit returns what the doctor found, and an error if not everything could be
// checked or repaired.
func visit(ctx context.Context, c config.Config, asked doctor.Options) (doctor.Report, error) {
	o := options(c, 1)
	o.Name = "doctor"
	o.StatementTimeout = max(o.StatementTimeout, 30*time.Second) // no client waits, and runs can be large
	store, err := postgres.Open(ctx, string(c.Postgres.URL), o)
	if err != nil {
		return doctor.Report{}, fmt.Errorf("postgres.url: %w", err)
	}
	defer store.Close()
	bounded, cancel := context.WithTimeout(ctx, o.ConnectTimeout+o.StatementTimeout)
	defer cancel()
	if err := store.Ready(bounded); err != nil {
		return doctor.Report{}, err
	}
	progress, clear := showProgress(os.Stderr)
	asked.Progress = progress
	report, err := doctor.Visit(ctx, store, asked)
	clear()
	switch {
	case asked.Run != "" && enroll.CodeOf(err) == enroll.NotFound:
		err = errors.New("there is no such run")
	case err != nil:
		err = fmt.Errorf("not everything could be checked: %w", err)
	case len(report.Undone) > 0:
		err = errors.New("not everything could be done")
	}
	return report, err
}

// verdict returns the doctor's verdict as a word for programs and as a
// sentence.
func verdict(r doctor.Report, err error) (word, sentence string) {
	wrong, warnings := r.Wrong()
	counts := fmt.Sprintf("runs checked: %d, findings: %d, warnings: %d", r.Runs, wrong, warnings)
	switch {
	case wrong > 0:
		return "wrong", "something is wrong (" + counts + ")"
	case err != nil:
		return "unchecked", "not everything could be checked (" + counts + ")"
	default:
		return "sound", "nothing is wrong (" + counts + ")"
	}
}

// writeJSON writes the report as one JSON object, with or without an error. No
// error of the settings or the database quotes a password.
func writeJSON(w io.Writer, r doctor.Report, err error) error {
	word, _ := verdict(r, err)
	wrong, warnings := r.Wrong()
	said := ""
	if err != nil {
		said = err.Error()
	}
	// Nil slices become empty lists.
	r.Findings, r.Repairs, r.Undone = append([]doctor.Finding{}, r.Findings...), append([]doctor.Note{}, r.Repairs...), append([]doctor.Note{}, r.Undone...)
	return json.NewEncoder(w).Encode(struct {
		Verdict  string `json:"verdict"`         // sound, wrong, unchecked
		Error    string `json:"error,omitempty"` // why not everything could be checked or done
		Wrong    int    `json:"wrong"`
		Warnings int    `json:"warnings"`
		doctor.Report
	}{word, said, wrong, warnings, r})
}

// writeWords writes a line for each repair and each finding, and the verdict.
func writeWords(w io.Writer, r doctor.Report, repair bool, err error) {
	for _, n := range r.Repairs {
		fmt.Fprintf(w, "run %s: repaired: %s\n", n.Run, n.Text)
	}
	for _, f := range r.Findings {
		hint := ""
		switch {
		case !repair && f.Repairable:
			hint = " [--repair corrects it]"
		case repair && f.Run != "" && !f.Warning:
			hint = " [not repaired]"
		}
		fmt.Fprintf(w, "%s%s\n", f, hint)
	}
	for _, n := range r.Undone {
		fmt.Fprintf(w, "run %s: %s\n", n.Run, n.Text)
	}
	_, sentence := verdict(r, err)
	fmt.Fprintln(w, sentence)
}

// showProgress returns two functions: one shows progress on a terminal, the
// other erases it.
func showProgress(f *os.File) (show func(checked, runs int), clear func()) {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, func() {}
	}
	next := time.Now().Add(time.Second)
	shown := false
	return func(checked, runs int) {
			if now := time.Now(); now.After(next) {
				fmt.Fprintf(f, "\r%d of %d runs checked", checked, runs)
				next, shown = now.Add(200*time.Millisecond), true
			}
		}, func() {
			if shown {
				fmt.Fprint(f, "\r\x1b[K")
			}
		}
}
