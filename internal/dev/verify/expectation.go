package verify

import (
	"cmp"
	"math"
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/linemodel"
)

// expectation is what belongs in a run's ledger by the rules.
type expectation struct {
	*linemodel.Model
	mails       map[int64][]enroll.MailKind // about a registration's seat or place
	seen        int                         // notices that are in mails
	corrections []Entry                     // still to come, the next one first
}

// expect settles the whole line by the model. Requests of kinds that belong in no
// such line have no outcome.
func expect(run Run, line []Entry) *expectation {
	e := &expectation{Model: linemodel.New(&run.Seats, run.Places), mails: make(map[int64][]enroll.MailKind, len(line))}
	for _, entry := range line {
		if entry.Corrected != nil {
			e.corrections = append(e.corrections, entry)
		}
	}
	slices.SortStableFunc(e.corrections, func(a, b Entry) int { return cmp.Compare(*a.Corrected, *b.Corrected) })
	for _, entry := range line {
		e.correct(entry.Ticket)
		if entry.Kind == enroll.Register || entry.Kind == enroll.Cancel || entry.Kind == enroll.Resize && run.Resized {
			e.Settle(entry.request())
			e.collectMails()
		}
	}
	e.correct(math.MaxInt64)
	return e
}

// request returns the entry as it was accepted.
func (e Entry) request() enroll.Request {
	r := enroll.Request{
		Ticket: e.Ticket, Kind: e.Kind, Late: e.Late, Key: enroll.AddressKey(cmp.Or(e.FirstKey, e.Key)),
		WaitlistLimit: e.WaitlistLimit, ByOrganiser: e.ByOrganiser,
	}
	r.Target.Ticket = e.Target
	if e.Seats != nil {
		r.Change.Capacity = &enroll.Limit{Most: e.Seats}
	}
	if e.Places != nil {
		r.Change.WaitlistCapacity = &enroll.Limit{Most: e.Places}
	}
	return r
}

// collectMails takes over the new notices that the ledger is compared with.
func (e *expectation) collectMails() {
	for _, n := range e.Notices[e.seen:] {
		switch n.Mail {
		case enroll.MailConfirmed, enroll.MailWaitlisted, enroll.MailPromoted, enroll.MailCancelled:
			e.mails[n.Ticket] = append(e.mails[n.Ticket], n.Mail)
		default: // they tell of no seat and no place
		}
	}
	e.seen = len(e.Notices)
}

// correct makes the corrections that came before the ticket. A mail tells the new
// address what it has.
func (e *expectation) correct(before int64) {
	for len(e.corrections) > 0 && *e.corrections[0].Corrected < before {
		c := e.corrections[0]
		e.corrections = e.corrections[1:]
		e.Correct(c.Ticket, enroll.AddressKey(c.Key))
		if e.Outcome(c.Ticket).Status == enroll.Confirmed && !e.due(c.Ticket, enroll.MailConfirmed) {
			e.mails[c.Ticket] = append(e.mails[c.Ticket], enroll.MailConfirmed)
		}
	}
}

// due reports whether a mail of the kind is due to the registration.
func (e *expectation) due(ticket int64, kind enroll.MailKind) bool {
	return slices.Contains(e.mails[ticket], kind)
}

// count returns how many registrations are due a mail of the kind.
func (e *expectation) count(kind enroll.MailKind) int {
	n := 0
	for ticket := range e.mails {
		if e.due(ticket, kind) {
			n++
		}
	}
	return n
}

// holdings returns the registrations with the status, in ticket order, and whose
// they are.
func (e *expectation) holdings(status enroll.Status) []Holding {
	var all []Holding
	for _, ticket := range e.Tickets(status) {
		all = append(all, Holding{ticket, string(e.Key(ticket))})
	}
	return all
}
