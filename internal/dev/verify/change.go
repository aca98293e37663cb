package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Schedule is when and where a run takes place.
type Schedule struct {
	StartsAt time.Time
	Location string
}

// ReadSchedule reads the run's schedule from the database at url.
func ReadSchedule(ctx context.Context, url, slug string) (Schedule, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return Schedule{}, fmt.Errorf("reading the schedule of run %s: %w", slug, err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `SELECT starts_at, location FROM runs WHERE slug = $1`, slug)
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Schedule]) // with the error of Query
	if err != nil {
		return s, fmt.Errorf("reading the schedule of run %s: %w", slug, err)
	}
	return s, nil
}

// toldBy reports whether the mail tells the schedule.
func (s Schedule) toldBy(m Mail) bool {
	return strings.HasPrefix(m.When, s.StartsAt.UTC().Format("Monday, 2 January 2006, 15:04")) && m.Where == s.Location
}

// CheckMoved finds the people who have a seat or a place of a run that was moved,
// and got no mail with the schedule as it is now. The mails are by ticket.
func (r *Result) CheckMoved(now Schedule, l Ledger, mails map[int64][]Mail) {
	for _, h := range slices.Concat(l.Seated, l.Waiting) {
		if !slices.ContainsFunc(mails[h.Ticket], func(m Mail) bool { return m.To == h.Key && now.toldBy(m) }) {
			r.MovedUntold++
			r.Addf("ticket %d was not told that the run takes place at %s, %q", h.Ticket, now.StartsAt, now.Location)
		}
	}
}

// Correction is the correction of a registration's address.
type Correction struct {
	Ticket   int64
	ID       uuid.UUID // of the registration before it
	From, To string    // addresses
}

// NoteCorrections notes the addresses that registrations had before, which the
// ledger does not keep.
func (l *Ledger) NoteCorrections(corrections []Correction) {
	for _, c := range corrections {
		if e := l.entry(c.Ticket); e != nil {
			e.FirstKey = c.From
		}
	}
}

// CheckCorrections checks the mails, by ticket, that followed from corrections:
// the right address has the new link, the wrong one a mail that says so and
// nothing else, and no other address has either.
func (r *Result) CheckCorrections(corrections []Correction, l Ledger, mails map[int64][]Mail) {
	if len(l.Retired) != len(corrections) {
		r.Addf("%d ids are retired, %d addresses were corrected", len(l.Retired), len(corrections))
	}
	for _, c := range corrections {
		e := l.entry(c.Ticket)
		if e == nil || l.Retired[c.ID] != c.Ticket {
			r.Lost++
			r.Addf("ticket %d was corrected, and its id is not retired", c.Ticket)
			continue
		}
		if e.ID == c.ID || e.Key != c.To {
			r.Addf("ticket %d was corrected and has the old id or the old address", c.Ticket)
		}
		r.checkLinks(c, e.ID, mails[c.Ticket])
	}
}

// checkLinks checks which address got which link of a corrected registration, whose
// id is now the given one.
func (r *Result) checkLinks(c Correction, id uuid.UUID, mails []Mail) {
	linked, told := false, false
	for _, m := range mails {
		if strings.Contains(m.Text, id.String()) {
			linked = linked || m.To == c.To
			if m.To != c.To {
				r.LinksLeaked++
				r.Addf("the new link of ticket %d was sent to another address than its own", c.Ticket)
			}
		}
		if m.To == c.To && strings.Contains(m.Text, c.ID.String()) {
			r.LinksLeaked++
			r.Addf("the old link of ticket %d was sent to the new address", c.Ticket)
		}
		told = told || m.To == c.From && m.Kind == mistakenAddress
	}
	if !linked {
		r.CorrectedUntold++
		r.Addf("the right address of ticket %d has no link", c.Ticket)
	}
	if !told {
		r.CorrectedUntold++
		r.Addf("the wrong address of ticket %d was not told that it was a mistake", c.Ticket)
	}
}

// mistakenAddress tells an address that it was entered by mistake.
const mistakenAddress enroll.MailKind = "mistaken_address"
