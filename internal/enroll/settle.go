package enroll

import "slices"

// Settle decides requests, which must be the next ones of a run's line in ticket
// order. Listed are the first on the waiting list in ticket order: as many as
// there are requests, or all; for a request that moves many people, which is
// settled by itself, as many as are to be moved at once. Seated is the same of
// the seats, and only looked at for CallOff.
//
// It settles as many of the requests as it can together: what moves many people
// stands alone, and takes several calls if not all of them are given. Until the
// last one, its request is not among the outcomes, and comes first again.
//
// It depends on nothing but its arguments and changes none of them, so the same
// line has the same outcomes however it is cut into pieces and wherever it is
// computed.
func Settle(counts RunCounts, listed, seated []Holding, requests []Request) Settlement {
	b := book{
		RunCounts: counts,
		listed:    slices.Clip(listed), // appended to, and the caller's array is not ours
		allListed: len(listed) >= counts.Waiting,
		seated:    seated,
		known:     make(map[int64]*Outcome), holder: make(map[AddressKey]int64),
	}
	for i, r := range requests {
		if r.Kind.MovesMany() {
			if i == 0 {
				b.moveMany(r)
			}
			break // it stands alone
		}
		if r.Kind == Cancel {
			b.cancel(r)
		} else {
			b.register(r)
		}
	}
	return b.settlement()
}

// book is what is known of a run while its requests are settled.
type book struct {
	RunCounts
	listed    []Holding // the first on the waiting list
	left      int       // how many of them have been passed
	allListed bool
	seated    []Holding

	outcomes []*Outcome
	changed  []*Outcome
	notices  []Notice
	known    map[int64]*Outcome   // every registration that was touched
	holder   map[AddressKey]int64 // by what an address has a seat or a place now, where that changed
}

func (b *book) settlement() Settlement {
	s := Settlement{Counts: b.RunCounts, Notices: b.notices}
	for _, o := range b.outcomes {
		s.Outcomes = append(s.Outcomes, *o)
	}
	for _, o := range b.changed {
		s.Changed = append(s.Changed, *o)
	}
	return s
}

// decide adds the outcome of a request.
func (b *book) decide(ticket int64, status Status, reason Reason) {
	o := &Outcome{Ticket: ticket, Before: Queued, Status: status, Reason: reason}
	b.outcomes = append(b.outcomes, o)
	b.known[ticket] = o
}

// become changes a registration that was decided before, in this call or in an
// earlier one.
func (b *book) become(h Holding, before, status Status, reason Reason) {
	o := b.known[h.Ticket]
	if o == nil {
		o = &Outcome{Ticket: h.Ticket, Before: before}
		b.known[h.Ticket] = o
		b.changed = append(b.changed, o)
	}
	o.Status, o.Reason, o.Changed = status, reason, true
	if status == Cancelled || status == NotPromoted {
		b.holder[h.Key] = 0
	}
}

func (b *book) tell(ticket int64, mail MailKind) { b.notices = append(b.notices, Notice{ticket, mail}) }

func (b *book) register(r Request) {
	holder, changed := b.holder[r.Key]
	if !changed {
		holder = r.Holder
	}
	room := !r.Late && !b.listFull() // on the waiting list
	switch {
	case b.CalledOff:
		b.decide(r.Ticket, Rejected, RunCalledOff)
		b.tell(r.Ticket, MailCalledOff)
	case holder != 0:
		b.decide(r.Ticket, Rejected, AlreadyRegistered)
		b.tell(holder, MailAlreadyRegistered) // to the registration that stands, whoever asked now
	case !b.full() && (b.Waiting == 0 || r.Late): // those who wait wait only to be told that the list has ended
		b.decide(r.Ticket, Confirmed, "")
		b.tell(r.Ticket, MailConfirmed)
		b.holder[r.Key] = r.Ticket
		b.Taken++
	case room && (r.WaitlistLimit == nil || b.Waiting < *r.WaitlistLimit):
		b.decide(r.Ticket, Waitlisted, "")
		b.tell(r.Ticket, MailWaitlisted)
		b.holder[r.Key] = r.Ticket
		if b.allListed {
			b.listed = append(b.listed, Holding{r.Ticket, r.Key})
		}
		b.Waiting++
	default:
		reason := Full
		if room && *r.WaitlistLimit > 0 {
			reason = WaitlistTooLong
		}
		b.decide(r.Ticket, Rejected, reason)
		if r.Notify {
			b.tell(r.Ticket, MailFull)
		}
	}
}

// cancel gives up a seat, which the first on the waiting list then gets, or a
// place on the list. A registration that has neither stays as it is.
func (b *book) cancel(r Request) {
	status := r.TargetStatus
	if o := b.known[r.Target.Ticket]; o != nil {
		status = o.Status
	}
	reason := Reason("")
	if r.ByOrganiser {
		reason = Removed
	}
	switch status {
	case Confirmed:
		b.become(r.Target, status, Cancelled, reason)
		b.Taken--
	case Waitlisted:
		b.become(r.Target, status, Cancelled, reason)
		b.Waiting--
	default:
		b.decide(r.Ticket, Done, NoEffect)
		return
	}
	b.tell(r.Target.Ticket, MailCancelled)
	if status == Confirmed && !r.Late && b.mayPromote() {
		b.promoteFirst() // it is known who that is: each request takes one off the list at most
	}
	b.decide(r.Ticket, Done, "")
}

// mayPromote tells whether there is a seat for whoever has waited longest.
func (b *book) mayPromote() bool { return b.Waiting > 0 && !b.full() && !b.WaitlistEnded }

// first takes the first on the waiting list off it, or returns false if it is
// not known who that is.
func (b *book) first() (Holding, bool) {
	for b.left < len(b.listed) {
		h := b.listed[b.left]
		b.left++
		if o := b.known[h.Ticket]; o == nil || o.Status == Waitlisted { // who cancelled stands on it no more
			b.Waiting--
			return h, true
		}
	}
	return Holding{}, false
}

// promoteFirst gives the first on the waiting list a seat, or returns false if
// it is not known who that is.
func (b *book) promoteFirst() bool {
	h, known := b.first()
	if !known {
		return false
	}
	b.become(h, Waitlisted, Confirmed, "")
	b.tell(h.Ticket, MailPromoted)
	b.Taken++
	return true
}

// moveMany settles a request that can move many people. If there are more than
// were given, it moves those and leaves the request undecided.
func (b *book) moveMany(r Request) {
	reason := Reason("")
	done := true
	switch r.Kind {
	case Resize:
		if c := r.Change.Capacity; c != nil {
			b.Capacity = c.Most
		}
		if c := r.Change.WaitlistCapacity; c != nil {
			b.WaitlistCapacity = c.Most
		}
		for done && !r.Late && b.mayPromote() {
			done = b.promoteFirst()
		}
	case CloseWaitlist:
		if b.WaitlistEnded && b.Waiting == 0 {
			reason = NoEffect
		}
		b.WaitlistEnded = true
		b.clearList(NotPromoted, "", MailNotPromoted)
		done = b.Waiting == 0
	case CallOff:
		if b.CalledOff && b.Waiting == 0 && b.Taken == 0 {
			reason = NoEffect
		}
		b.CalledOff, b.WaitlistEnded = true, true
		b.clearList(Cancelled, RunCalledOff, MailCalledOff)
		if b.Waiting == 0 { // in one order, however many calls it takes
			b.clearSeats()
		}
		done = b.Waiting == 0 && b.Taken == 0
	default: // no others come here
	}
	if done {
		b.decide(r.Ticket, Done, reason)
	}
}

// clearSeats takes the seats of all who are given.
func (b *book) clearSeats() {
	for _, h := range b.seated {
		b.become(h, Confirmed, Cancelled, RunCalledOff)
		b.tell(h.Ticket, MailCalledOff)
		b.Taken--
	}
}

// clearList ends the waiting of all who are given.
func (b *book) clearList(status Status, reason Reason, mail MailKind) {
	for {
		h, known := b.first()
		if !known {
			return
		}
		b.become(h, Waitlisted, status, reason)
		b.tell(h.Ticket, mail)
	}
}
