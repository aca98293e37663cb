package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// schedule is when and where a run takes place.
type schedule struct {
	StartsAt time.Time
	Location string
}

// told tells whether the mail says so.
func (s schedule) told(l letter) bool {
	return strings.HasPrefix(l.when, s.StartsAt.UTC().Format("Monday, 2 January 2006, 15:04")) && l.where == s.Location
}

func (s *site) readSchedule(ctx context.Context, slug string) (schedule, error) {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return schedule{}, err
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `SELECT starts_at, location FROM runs WHERE slug = $1`, slug) // collecting has the error
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[schedule])
}

// judgeMoved looks for everybody who has a seat or a place of a run that was moved
// and has had no mail that says when and where it takes place now.
func (r *chaosResult) judgeMoved(run *chaosRun, now schedule, l ledger, letters map[int64][]letter) {
	if run.moves == 0 {
		return
	}
	r.Moved += run.moves
	for _, h := range slices.Concat(l.seated, l.waiting) {
		if !slices.ContainsFunc(letters[h.Ticket], func(l letter) bool { return l.to == h.Key && now.told(l) }) {
			r.MovedUntold++
			r.blame("run %s: ticket %d was not told that the run takes place at %s, %q", run.slug, h.Ticket, now.StartsAt, now.Location)
		}
	}
}

// judgeCorrected looks at who has which link after an address was corrected: the
// right one the new link, the wrong one a mail that says so and no more, and no
// other address either of them.
func (r *chaosResult) judgeCorrected(run *chaosRun, l ledger, letters map[int64][]letter) {
	if len(l.retired) != len(run.corrections) {
		r.blame("run %s: %d ids are retired, %d addresses were corrected", run.slug, len(l.retired), len(run.corrections))
	}
	for _, c := range run.corrections {
		r.Corrected++
		if l.retired[c.id] != c.ticket || c.ticket > int64(len(l.line)) {
			r.Lost++
			r.blame("run %s: ticket %d was corrected, and its id is not retired", run.slug, c.ticket)
			continue
		}
		e := l.line[c.ticket-1]
		if e.ID == c.id || e.Key != c.email {
			r.blame("run %s: ticket %d was corrected and has the old id or the old address", run.slug, c.ticket)
		}
		linked, owned := false, false
		for _, m := range letters[c.ticket] {
			if strings.Contains(m.text, e.ID.String()) {
				linked = linked || m.to == c.email
				if m.to != c.email {
					r.LinkLeaked++
					r.blame("run %s: the new link of ticket %d was sent to another address than its own", run.slug, c.ticket)
				}
			}
			if m.to == c.email && strings.Contains(m.text, c.id.String()) {
				r.LinkLeaked++
				r.blame("run %s: the old link of ticket %d was sent to the new address", run.slug, c.ticket)
			}
			owned = owned || m.to == c.known.email && m.kind == mistakenAddress
		}
		if !linked {
			r.CorrectedUntold++
			r.blame("run %s: the right address of ticket %d has no link", run.slug, c.ticket)
		}
		if !owned {
			r.CorrectedUntold++
			r.blame("run %s: the wrong address of ticket %d was not told that it was a mistake", run.slug, c.ticket)
		}
	}
}

// mistakenAddress tells an address that it was entered by mistake.
const mistakenAddress enroll.MailKind = "mistaken_address"
