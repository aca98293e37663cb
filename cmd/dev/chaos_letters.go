package main

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// outboxRow is a mail of the outbox.
type outboxRow struct {
	ID    string
	Run   string
	Kind  enroll.MailKind
	State enroll.MailState
	About enroll.Status // of the registration, in the end
}

// superseded tells whether the mail need not arrive: what it says is no longer so.
func (m outboxRow) superseded() bool {
	if m.State != enroll.MailSkipped {
		return false
	}
	switch m.Kind {
	case enroll.MailConfirmed, enroll.MailPromoted:
		return m.About != enroll.Confirmed
	case enroll.MailWaitlisted:
		return m.About != enroll.Waitlisted
	case enroll.MailAlreadyRegistered:
		return m.About != enroll.Confirmed && m.About != enroll.Waitlisted
	default:
		return false
	}
}

func (s *site) readOutbox(ctx context.Context) ([]outboxRow, error) {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		SELECT m.id::text, r.slug, m.kind, m.state, q.status
		FROM mails m JOIN runs r ON r.id = m.run_id JOIN requests q ON q.run_id = m.run_id AND q.ticket = m.ticket`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow])
}

// mailsAtOnce is how many mails a worker sends at once, by default: so many can be
// on their way when a fault comes.
const mailsAtOnce = 4

// judgeLetters compares the outbox with what arrived. Which mails have to be in
// the outbox, the line says. One that a later event superseded need not arrive;
// one that was handed over while somebody died or was frozen, or that the mail
// server took without a word, may arrive again.
func (r *chaosResult) judgeLetters(outbox []outboxRow, arrived map[string]int) {
	missing := 0
	for _, m := range outbox {
		n := arrived[m.ID]
		delete(arrived, m.ID)
		if n == 0 && !m.superseded() {
			missing++
			r.blame("run %s: a mail %q is %s, its registration %s, and it has not arrived", m.Run, m.Kind, m.State, m.About)
		}
		if n > 1 {
			r.MailRepeated += n - 1
		}
		r.letters += n
	}
	r.MailMissing += missing
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	if most := mailsAtOnce * faults; r.MailRepeated > most {
		r.blame("%d mails have arrived again; %d faults can explain %d", r.MailRepeated, faults, most)
	}
	for id, n := range arrived {
		r.blame("%d mails have arrived that are not in the outbox (%s)", n, cmp.Or(id, "unread"))
	}
}
