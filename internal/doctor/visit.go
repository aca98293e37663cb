package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Ledger is what the doctor examines.
type Ledger interface {
	// Slugs returns the slugs of all runs.
	Slugs(ctx context.Context) ([]string, error)
	// CheckUp checks the run in one snapshot.
	CheckUp(ctx context.Context, run string) ([]Finding, error)
	// Trouble returns the work that is stuck.
	Trouble(ctx context.Context) (Trouble, error)
	// Repair corrects what has one right answer, under the locks of line and
	// run.
	Repair(ctx context.Context, run string) (Repaired, error)
}

// Repaired is what a repair corrected; a nil field was right already.
type Repaired struct {
	AttendancesCount *Correction
	WaitingCount     *Correction
	LastTicket       *Correction
	LastAcceptedAt   bool
}

// Correction is a number before and after its repair.
type Correction struct{ From, To int64 }

// Note says what was done to a run, or what could not be done.
type Note struct {
	Run  string `json:"run"`
	Text string `json:"text"`
}

// Options say what the doctor does.
type Options struct {
	Run      string // check only this run, and not the installation; empty = check everything
	Repair   bool
	Progress func(checked, runs int) // may be nil
}

// Report is what the doctor found.
type Report struct {
	Runs     int       `json:"runs"`     // how many runs were checked
	Findings []Finding `json:"findings"` // by run, after the repairs
	Repairs  []Note    `json:"repairs"`  // what was repaired
	Undone   []Note    `json:"undone"`   // what could not be checked or repaired
}

// Wrong returns how many things are wrong, and how many are only warnings.
func (r Report) Wrong() (wrong, warnings int) {
	for _, f := range r.Findings {
		switch n := max(f.More, 1); f.Warning {
		case true:
			warnings += n
		default:
			wrong += n
		}
	}
	return wrong, warnings
}

// perRun bounds the check of one run, and the check of the installation.
const perRun = 5 * time.Minute

// Visit checks one run, or all runs and the installation. With an error, it
// returns the report up to there. The error has code NotFound if there is no
// such run.
func Visit(ctx context.Context, l Ledger, o Options) (Report, error) {
	var report Report
	bounded, cancel := context.WithTimeout(ctx, perRun)
	defer cancel()
	trouble, err := l.Trouble(bounded)
	if err != nil {
		return report, err
	}
	slugs := []string{o.Run}
	if o.Run == "" {
		if slugs, err = l.Slugs(bounded); err != nil {
			return report, err
		}
	}
	for i, slug := range slugs {
		if o.Progress != nil {
			o.Progress(i, len(slugs))
		}
		if err := report.visit(ctx, l, slug, o.Repair, trouble); err != nil {
			return report, fmt.Errorf("checking run %s: %w", slug, err)
		}
	}
	if o.Run == "" {
		report.Findings = append(report.Findings, trouble.ofAll()...)
	}
	return report, nil
}

// visit checks one run, and checks it again after a repair.
func (r *Report) visit(ctx context.Context, l Ledger, slug string, repair bool, t Trouble) error {
	bounded, cancel := context.WithTimeout(ctx, perRun)
	defer cancel()
	found, err := l.CheckUp(bounded, slug)
	if err == nil && repair && slices.ContainsFunc(found, func(f Finding) bool { return f.Repairable }) {
		done, failed := l.Repair(bounded, slug)
		r.Repairs = append(r.Repairs, done.notes(slug)...)
		if failed != nil { // for instance because another transaction holds the run; the other runs can still be checked
			r.Undone = append(r.Undone, Note{slug, "it could not be repaired: " + failed.Error()})
		}
		found, err = l.CheckUp(bounded, slug)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		r.Undone = append(r.Undone, Note{slug, fmt.Sprintf("it could not be checked within %s", perRun)})
		return nil
	} else if err != nil {
		return err
	}
	r.Runs++
	blocked := slices.ContainsFunc(found, func(f Finding) bool { return f.blocks })
	r.Findings = append(append(r.Findings, found...), t.ofRun(slug, blocked)...)
	return nil
}

func (d Repaired) notes(run string) []Note {
	var notes []Note
	for _, c := range []struct {
		what string
		*Correction
	}{{"attendances_count", d.AttendancesCount}, {"waiting_count", d.WaitingCount}, {"last_ticket", d.LastTicket}} {
		if c.Correction != nil {
			notes = append(notes, Note{run, fmt.Sprintf("%s was %d and is now %d", c.what, c.From, c.To)})
		}
	}
	if d.LastAcceptedAt {
		notes = append(notes, Note{run, "last_accepted_at is now the last request's"})
	}
	return notes
}
