package main

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// letter is a mail that has arrived.
type letter struct {
	id          string // of the mail in the outbox; empty if it is none of ours
	to          string
	when, where string // that it tells
	text        string
	kind        enroll.MailKind // as the outbox says
}

// readLetter reads a mail that has arrived. The Message-ID begins with the mail's
// id.
func readLetter(m mailsink.Message) letter {
	l := letter{to: strings.Join(m.To, " "), text: m.Text}
	for _, h := range m.Header {
		if strings.EqualFold(h.Name, "Message-ID") {
			l.id, _, _ = strings.Cut(strings.Trim(h.Value, "<> "), "@")
			l.id, _, _ = strings.Cut(l.id, ".")
		}
	}
	for line := range strings.Lines(m.Text) {
		if when, is := strings.CutPrefix(line, "When: "); is {
			l.when = strings.TrimSpace(when)
		}
		if where, is := strings.CutPrefix(line, "Where: "); is {
			l.where = strings.TrimSpace(where)
		}
	}
	return l
}

// collectLetters notes every mail that arrives. The function it returns says what
// came, by the mail of the outbox.
func (s *site) collectLetters(ctx context.Context) func() map[string][]letter {
	ctx, cancel := context.WithCancel(ctx)
	arrived := make(map[string][]letter)
	seen := 0
	look := func() {
		for _, m := range s.sink.Messages() {
			if m.Number <= seen {
				continue
			}
			for ; m.Number > seen+1; seen++ {
				arrived[""] = append(arrived[""], letter{}) // the sink has let it go before somebody looked
			}
			seen = m.Number
			l := readLetter(m)
			arrived[l.id] = append(arrived[l.id], l)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, 200*time.Millisecond) {
			look()
		}
	})
	return func() map[string][]letter {
		cancel()
		wg.Wait()
		look()
		return arrived
	}
}

// outboxRow is a mail of the outbox.
type outboxRow struct {
	ID    string
	Run   string
	Kind  enroll.MailKind
	State enroll.MailState
	About enroll.Status // of the registration, in the end

	Ticket  int64
	Problem string
}

// superseded tells whether the mail need not arrive: what it says is no longer so.
func (m outboxRow) superseded() bool {
	if m.State != enroll.MailSkipped {
		return false
	}
	if m.Problem == "the address was corrected" {
		return true // the new address gets another one, which is judged by itself
	}
	switch m.Kind {
	case enroll.MailChanged:
		return true // another mail has told it: that everybody was told is judged by itself
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
		SELECT m.id::text, r.slug, m.kind, m.state, q.status, m.ticket, m.problem
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
func (r *chaosResult) judgeLetters(outbox []outboxRow, arrived map[string][]letter) {
	missing := 0
	left := maps.Clone(arrived)
	for _, m := range outbox {
		n := len(arrived[m.ID])
		delete(left, m.ID)
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
	for id, letters := range left {
		r.blame("%d mails have arrived that are not in the outbox (%s)", len(letters), cmp.Or(id, "unread"))
	}
}

// lettersOf returns the mails that have arrived about the registrations of a run,
// by their tickets.
func lettersOf(slug string, outbox []outboxRow, arrived map[string][]letter) map[int64][]letter {
	all := make(map[int64][]letter)
	for _, m := range outbox {
		if m.Run != slug {
			continue
		}
		for _, l := range arrived[m.ID] {
			l.kind = m.Kind
			all[m.Ticket] = append(all[m.Ticket], l)
		}
	}
	return all
}
