package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/sheet"
)

// entryJSON is a request as it stands in a line.
type entryJSON struct {
	Ticket      int64           `json:"ticket"`
	Kind        enroll.Kind     `json:"kind"`
	Status      enroll.Status   `json:"status"`
	Reason      *enroll.Reason  `json:"reason"`
	AcceptedAt  *time.Time      `json:"accepted_at"`
	DecidedAt   *time.Time      `json:"decided_at"`
	ChangedAt   *time.Time      `json:"changed_at"`
	Name        *enroll.Name    `json:"name"`
	Email       *string         `json:"email"`
	Target      *int64          `json:"target"`
	ByOrganiser bool            `json:"by_organiser"`
	Change      map[string]*int `json:"change"` // what is not there has not changed
}

func showEntry(e enroll.LineEntry) entryJSON {
	return entryJSON{
		Ticket: e.Ticket, Kind: e.Kind, Status: e.Status, Reason: unlessZero(e.Reason),
		AcceptedAt: instant(e.AcceptedAt), DecidedAt: instant(e.DecidedAt), ChangedAt: instant(e.ChangedAt),
		Name: unlessZero(e.Name), Email: unlessZero(e.Email), Target: unlessZero(e.Target),
		ByOrganiser: e.ByOrganiser, Change: showChange(e.Change),
	}
}

func showChange(c enroll.Change) map[string]*int {
	var shown map[string]*int
	for name, limit := range map[string]*enroll.Limit{"capacity": c.Capacity, "waitlist_capacity": c.WaitlistCapacity} {
		if limit == nil {
			continue
		}
		if shown == nil {
			shown = make(map[string]*int)
		}
		shown[name] = limit.Most
	}
	return shown
}

func unlessZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// jsonLine writes {"run": …, "entries": […]}, with a line for each entry.
type jsonLine struct {
	w    *bufio.Writer
	some bool
}

func (j *jsonLine) begin(run string) error {
	_, err := fmt.Fprintf(j.w, `{"run":%q,"entries":[`, run) // a slug has nothing to escape
	return err
}

func (j *jsonLine) entry(e enroll.LineEntry) error {
	text, err := json.Marshal(showEntry(e))
	if err != nil {
		return fmt.Errorf("writing an entry: %w", err)
	}
	before := ",\n"
	if !j.some {
		before, j.some = "\n", true
	}
	if _, err := j.w.WriteString(before); err != nil {
		return err
	}
	_, err = j.w.Write(text)
	return err
}

func (j *jsonLine) end() error {
	_, err := j.w.WriteString("]}\n")
	return err
}

// csvLine writes CSV that spreadsheets leave alone: see internal/sheet.
type csvLine struct{ w *sheet.Writer }

func newCSVLine(w *bufio.Writer) *csvLine { return &csvLine{w: sheet.NewWriter(w)} }

func (c *csvLine) begin(string) error {
	return c.w.Write("ticket", "kind", "status", "reason", "accepted_at", "decided_at", "changed_at",
		"name", "email", "target", "by_organiser", "change")
}

func (c *csvLine) entry(e enroll.LineEntry) error {
	change, target := "", ""
	if shown := showChange(e.Change); shown != nil {
		text, err := json.Marshal(shown)
		if err != nil {
			return fmt.Errorf("writing an entry: %w", err)
		}
		change = string(text)
	}
	if e.Target != 0 {
		target = strconv.FormatInt(e.Target, 10)
	}
	return c.w.Write(
		strconv.FormatInt(e.Ticket, 10), string(e.Kind), string(e.Status), string(e.Reason),
		cellTime(e.AcceptedAt), cellTime(e.DecidedAt), cellTime(e.ChangedAt),
		sheet.Escape(string(e.Name)), sheet.Escape(e.Email), target, strconv.FormatBool(e.ByOrganiser), change,
	)
}

func (c *csvLine) end() error { return nil }

func cellTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
