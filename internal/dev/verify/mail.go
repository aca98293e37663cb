package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// Mail is a mail that has arrived.
type Mail struct {
	ID          string // of the mail in the outbox; empty if it is not one of ours
	To          string
	When, Where string // the time and place in its text
	Text        string
	Kind        enroll.MailKind // by the outbox
}

// Mails are the mails that have arrived, by the ID of the mail in the outbox.
type Mails map[string][]Mail

// ReadMail reads a mail that has arrived. Its Message-ID begins with the mail's
// id.
func ReadMail(m mailsink.Message) Mail {
	mail := Mail{To: strings.Join(m.To, " "), Text: m.Text}
	for _, h := range m.Header {
		if strings.EqualFold(h.Name, "Message-ID") {
			mail.ID, _, _ = strings.Cut(strings.Trim(h.Value, "<> "), "@")
			mail.ID, _, _ = strings.Cut(mail.ID, ".")
		}
	}
	for line := range strings.Lines(m.Text) {
		if when, ok := strings.CutPrefix(line, "When: "); ok {
			mail.When = strings.TrimSpace(when)
		}
		if where, ok := strings.CutPrefix(line, "Where: "); ok {
			mail.Where = strings.TrimSpace(where)
		}
	}
	return mail
}

// OutboxRow is a mail of the outbox.
type OutboxRow struct {
	ID     string
	Run    string
	Kind   enroll.MailKind
	State  enroll.MailState
	Status enroll.Status // of the registration, in the end

	Ticket  int64
	Problem string
}

// ReadOutbox reads the outbox of all runs from the database at url.
func ReadOutbox(ctx context.Context, url string) ([]OutboxRow, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `
		SELECT m.id::text, r.slug, m.kind, m.state, q.status, m.ticket, m.problem
		FROM mails m JOIN runs r ON r.id = m.run_id JOIN requests q ON q.run_id = m.run_id AND q.ticket = m.ticket`)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[OutboxRow]) // with the error of Query
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return all, nil
}

// superseded reports whether the mail need not arrive: what it says is no longer
// true.
func (m OutboxRow) superseded() bool {
	if m.State != enroll.MailSkipped {
		return false
	}
	if m.Problem == "the address was corrected" {
		return true // the new address gets another mail, which is checked by itself
	}
	switch m.Kind {
	case enroll.MailChanged:
		return true // another mail tells it: whether every holder was told is checked by itself
	case enroll.MailConfirmed, enroll.MailPromoted:
		return m.Status != enroll.Confirmed
	case enroll.MailWaitlisted:
		return m.Status != enroll.Waitlisted
	case enroll.MailAlreadyRegistered:
		return m.Status != enroll.Confirmed && m.Status != enroll.Waitlisted
	default:
		return false
	}
}

// mailsAtOnce is how many mails a worker sends at once, by default: so many can be
// on their way when a fault comes.
const mailsAtOnce = 4

// Delivery is the verdict on the mails that were to arrive.
type Delivery struct {
	Findings
	Arrived  int
	Missing  int
	Repeated int // arrivals beyond the first
}

// Deliver compares the outbox with the mails that arrived while that many faults
// happened. The line says which mails belong in the outbox. A mail that a later
// event superseded need not arrive. A mail may arrive again if its worker died or
// froze while handing it over, or if the mail server took it without an answer.
func Deliver(outbox []OutboxRow, arrived Mails, faults int) Delivery {
	var d Delivery
	left := maps.Clone(arrived)
	for _, m := range outbox {
		n := len(arrived[m.ID])
		delete(left, m.ID)
		if n == 0 && !m.superseded() {
			d.Missing++
			d.Addf("run %s: a mail %q is %s, its registration %s, and it has not arrived", m.Run, m.Kind, m.State, m.Status)
		}
		if n > 1 {
			d.Repeated += n - 1
		}
		d.Arrived += n
	}
	if most := mailsAtOnce * faults; d.Repeated > most {
		d.Addf("%d mails have arrived again; %d faults can explain %d", d.Repeated, faults, most)
	}
	for id, mails := range left {
		d.Addf("%d mails have arrived that are not in the outbox (%s)", len(mails), cmp.Or(id, "unread"))
	}
	return d
}

// OfRun returns the mails about the registrations of a run, by their tickets.
func (arrived Mails) OfRun(slug string, outbox []OutboxRow) map[int64][]Mail {
	all := make(map[int64][]Mail)
	for _, row := range outbox {
		if row.Run != slug {
			continue
		}
		for _, m := range arrived[row.ID] {
			m.Kind = row.Kind
			all[row.Ticket] = append(all[row.Ticket], m)
		}
	}
	return all
}
