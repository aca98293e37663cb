package enroll

import "slices"

// Settle decides requests of a run's line. They must be the next undecided
// ones, in ticket order.
//
// listed holds the first people on the waiting list, in ticket order: as many
// as there are requests, or all of them. A request that moves many people is
// settled alone; listed then holds as many people as may move in this call.
// seated is the same for seats, and Settle reads it only for CallOff.
//
// Settle decides as many of the requests as it can together. A request that
// moves many people takes several calls if not all of those people are given.
// Until the last call it is not among the outcomes, and the caller passes it
// first again.
//
// The result depends on nothing but the arguments, and Settle changes none of
// them. So a line has the same outcomes however it is cut into calls, and
// wherever it is settled.
func Settle(counts RunCounts, listed, seated []Holding, requests []Request) Settlement {
	b := book{
		RunCounts: counts,
		listed:    slices.Clip(listed), // so that appending copies the caller's array
		allListed: len(listed) >= counts.Waiting,
		seated:    seated,
		known:     make(map[int64]*Outcome), holder: make(map[AddressKey]int64),
	}
	for i, r := range requests {
		if r.Kind.MovesMany() {
			if i == 0 {
				b.moveMany(r)
			}
			break // it is settled alone
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
	left      int       // how many of them have been taken off the list
	allListed bool
	seated    []Holding

	outcomes []*Outcome
	changed  []*Outcome
	notices  []Notice
	known    map[int64]*Outcome   // every registration that was decided or changed
	holder   map[AddressKey]int64 // the ticket of the holding of each address that gained or lost one; 0 = lost
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
		b.tell(holder, MailAlreadyRegistered) // to the holder, not to this request
	case !b.full() && (b.Waiting == 0 || r.Late): // if late, the people on the list get nothing any more
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

// cancel gives up a seat or a place. A seat goes to the first person on the
// waiting list. A registration with neither stays as it is.
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
		b.promoteFirst() // cannot fail: each request takes at most one person off the list
	}
	b.decide(r.Ticket, Done, "")
}

// mayPromote tells whether there is a seat for the first person on the waiting
// list.
func (b *book) mayPromote() bool { return b.Waiting > 0 && !b.full() && !b.WaitlistEnded }

// first takes the first person off the waiting list. It returns false if that
// person was not given to Settle.
func (b *book) first() (Holding, bool) {
	for b.left < len(b.listed) {
		h := b.listed[b.left]
		b.left++
		if o := b.known[h.Ticket]; o == nil || o.Status == Waitlisted { // otherwise a cancel in this call has left the list
			b.Waiting--
			return h, true
		}
	}
	return Holding{}, false
}

// promoteFirst gives a seat to the first person on the waiting list. It returns
// false if that person was not given to Settle.
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

// moveMany settles a request that can move many people. If more people must
// move than were given, it moves those and leaves the request undecided.
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
		if b.Waiting == 0 { // the list first, then the seats, however many calls it takes
			b.clearSeats()
		}
		done = b.Waiting == 0 && b.Taken == 0
	default: // MovesMany names no other kinds
	}
	if done {
		b.decide(r.Ticket, Done, reason)
	}
}

// clearSeats takes away the seats that were given.
func (b *book) clearSeats() {
	for _, h := range b.seated {
		b.become(h, Confirmed, Cancelled, RunCalledOff)
		b.tell(h.Ticket, MailCalledOff)
		b.Taken--
	}
}

// clearList takes the people who were given off the waiting list.
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
