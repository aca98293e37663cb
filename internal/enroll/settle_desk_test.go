package enroll_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// course is a run before its first request, and its line: of each request only
// what was accepted. A cancel's target is known by its ticket.
type course struct {
	start enroll.RunCounts
	line  []enroll.Request
}

// desk calls Settle as the store does: it keeps what the store has in tables,
// passes what the store reads, writes the result, and checks the store's
// constraints.
type desk struct {
	course
	counts         enroll.RunCounts
	settled        int              // so many of the line
	statuses       []statusAndWhy   // of the whole line
	seated, listed []enroll.Holding // in ticket order
	notices        []enroll.Notice
	calls          int
}

type statusAndWhy struct {
	status  enroll.Status
	reason  enroll.Reason
	changed bool // by a later request
}

func newDesk(c course) *desk {
	d := &desk{course: c, counts: c.start, statuses: make([]statusAndWhy, len(c.line))}
	for i := range d.statuses {
		d.statuses[i].status = enroll.Queued
	}
	return d
}

func (d *desk) done() bool { return d.settled == len(d.line) }

// settle settles at most the next n requests, in one call, and returns what was
// read and what came of it.
func (d *desk) settle(t rapid.TB, n int) (enroll.RunCounts, []enroll.Request, enroll.Settlement) {
	t.Helper()
	requests := slices.Clone(d.line[d.settled:min(d.settled+n, len(d.line))])
	moves, callOff := false, len(requests) > 0 && requests[0].Kind == enroll.CallOff
	for i := range requests {
		switch r := &requests[i]; r.Kind {
		case enroll.Register:
			for _, h := range slices.Concat(d.seated, d.listed) {
				if h.Key == r.Key {
					r.Holder = h.Ticket
				}
			}
			continue
		case enroll.Cancel:
			r.Target.Key = d.line[r.Target.Ticket-1].Key
			r.TargetStatus = d.statuses[r.Target.Ticket-1].status
		default:
		}
		moves = true
	}
	var listed, seated []enroll.Holding
	if moves {
		listed = d.listed[:min(n, len(d.listed))]
	}
	if callOff {
		seated = d.seated[:min(n, len(d.seated))]
	}

	before, given, listedNow, seatedNow := d.counts, slices.Clone(requests), slices.Clone(d.listed), slices.Clone(d.seated)
	s := enroll.Settle(d.counts, listed, seated, requests)
	if !slices.Equal(requests, given) || !slices.Equal(d.listed, listedNow) || !slices.Equal(d.seated, seatedNow) {
		t.Fatal("Settle changed its arguments")
	}
	d.calls++
	d.write(t, s)
	if len(requests) > 0 && len(s.Outcomes) == 0 && len(s.Changed) == 0 {
		t.Fatalf("no progress at ticket %d: %+v", d.settled+1, s)
	}
	return before, given, s
}

// write writes a settlement as the store does: first the seats and places that
// are given up, then those that are given.
func (d *desk) write(t rapid.TB, s enroll.Settlement) {
	t.Helper()
	type move struct {
		holding enroll.Holding
		to      enroll.Status
	}
	var gained []move
	apply := func(o enroll.Outcome) {
		now := &d.statuses[o.Ticket-1]
		if now.status != o.Before {
			t.Fatalf("ticket %d was %s, not %s", o.Ticket, now.status, o.Before)
		}
		if o.Status == o.Before || o.Status == enroll.Queued {
			t.Fatalf("ticket %d went from %s to %s", o.Ticket, o.Before, o.Status)
		}
		now.status, now.reason, now.changed = o.Status, o.Reason, o.Changed
		holding := enroll.Holding{Ticket: o.Ticket, Key: d.line[o.Ticket-1].Key}
		switch o.Before {
		case enroll.Confirmed:
			d.seated = without(t, d.seated, holding)
		case enroll.Waitlisted:
			d.listed = without(t, d.listed, holding)
		default:
		}
		gained = append(gained, move{holding, o.Status})
	}
	for i, o := range s.Outcomes {
		if o.Ticket != int64(d.settled+i+1) || o.Before != enroll.Queued {
			t.Fatalf("outcome %d after ticket %d is %+v", i, d.settled, o)
		}
		apply(o)
	}
	for _, o := range s.Changed {
		if o.Ticket > int64(d.settled) {
			t.Fatalf("%+v is not an earlier registration", o)
		}
		apply(o)
	}
	for _, m := range gained {
		switch m.to {
		case enroll.Confirmed:
			d.seated = with(d.seated, m.holding)
		case enroll.Waitlisted:
			d.listed = with(d.listed, m.holding)
		default:
		}
	}
	d.settled += len(s.Outcomes)
	d.counts = s.Counts
	d.notices = append(d.notices, s.Notices...)

	has := make(map[enroll.AddressKey]bool)
	for _, h := range slices.Concat(d.seated, d.listed) {
		if has[h.Key] {
			t.Fatalf("%s has a seat or a place twice: seated %v, listed %v", h.Key, d.seated, d.listed)
		}
		has[h.Key] = true
	}
	if d.counts.Taken != len(d.seated) || d.counts.Waiting != len(d.listed) {
		t.Fatalf("%d seats and %d places are counted, %d and %d are held", d.counts.Taken, d.counts.Waiting, len(d.seated), len(d.listed))
	}
	gave := func(m move) bool { return m.to == enroll.Confirmed }
	if c := d.counts.Capacity; c != nil && len(d.seated) > *c && slices.ContainsFunc(gained, gave) {
		t.Fatalf("a seat was given although %d of %d are held", len(d.seated), *c)
	}
}

func byTicket(h, q enroll.Holding) int { return cmp.Compare(h.Ticket, q.Ticket) }

// with and without do not change the slice: Settle may still have it.
func with(holdings []enroll.Holding, h enroll.Holding) []enroll.Holding {
	i, _ := slices.BinarySearchFunc(holdings, h, byTicket)
	return slices.Insert(slices.Clone(holdings), i, h)
}

func without(t rapid.TB, holdings []enroll.Holding, h enroll.Holding) []enroll.Holding {
	t.Helper()
	i, found := slices.BinarySearchFunc(holdings, h, byTicket)
	if !found {
		t.Fatalf("ticket %d is not among %v", h.Ticket, holdings)
	}
	return slices.Delete(slices.Clone(holdings), i, i+1)
}

// Rapid prefers the first and the last values. So frequent values stand there,
// and rare ones in the middle.
var (
	drawnKinds = rapid.SampledFrom(slices.Concat(
		slices.Repeat([]enroll.Kind{enroll.Register}, 29), slices.Repeat([]enroll.Kind{enroll.Cancel}, 27),
		slices.Repeat([]enroll.Kind{enroll.Resize}, 3), []enroll.Kind{enroll.CloseWaitlist, enroll.CallOff, enroll.Register},
	))
	drawnSeats  = rapid.SampledFrom([]*int{new(1), new(2), new(3), new(4), new(0), nil, new(7)})
	drawnPlaces = rapid.SampledFrom([]*int{nil, new(5), new(3), new(2), new(1), new(0), new(9)})
	drawnLimit  = rapid.SampledFrom([]*int{nil, nil, nil, nil, nil, new(3), new(2), new(1), new(0), nil})
	drawnBool   = rapid.Bool()
)

// drawLimit draws a change of a limit, or none.
func drawLimit(t *rapid.T, limit *rapid.Generator[*int]) *enroll.Limit {
	if !drawnBool.Draw(t, "changes") {
		return nil
	}
	return &enroll.Limit{Most: limit.Draw(t, "to")}
}

// drawCourse draws a run and its line. A cancel's target is any earlier
// registration. From some request on all are late, unless the end of the list
// moved to and fro.
func drawCourse(t *rapid.T) course {
	names := []enroll.AddressKey{"ada", "bob", "cy", "dee", "eve", "fay", "gus", "hal", "ian", "joy", "kay", "lee"}
	people := rapid.SampledFrom(names[:rapid.IntRange(3, len(names)).Draw(t, "people")])
	c := course{
		start: enroll.RunCounts{Capacity: drawnSeats.Draw(t, "seats"), WaitlistCapacity: drawnPlaces.Draw(t, "places")},
		line:  make([]enroll.Request, rapid.IntRange(1, 30).Draw(t, "requests")+rapid.IntRange(0, 30).Draw(t, "more requests")),
	}
	ends := len(c.line)
	when := rapid.IntRange(0, 5).Draw(t, "0-2: never late, 3-4: late from some request on, 5: late at random")
	if when > 2 {
		ends = rapid.IntRange(0, len(c.line)).Draw(t, "the list ends at")
	}
	var registrations []int64
	for i := range c.line {
		r := &c.line[i]
		r.Ticket, r.Kind, r.Late = int64(i+1), drawnKinds.Draw(t, "kind"), i >= ends
		if when == 5 {
			r.Late = drawnBool.Draw(t, "late")
		}
		if r.Kind == enroll.Cancel && len(registrations) == 0 {
			r.Kind = enroll.Register
		}
		switch r.Kind {
		case enroll.Register:
			r.Key = people.Draw(t, "who")
			r.WaitlistLimit, r.Notify = drawnLimit.Draw(t, "limit"), drawnBool.Draw(t, "notify")
			registrations = append(registrations, r.Ticket)
		case enroll.Cancel:
			back := rapid.IntRange(0, len(registrations)-1).Draw(t, "target, counted back")
			r.Target.Ticket = registrations[len(registrations)-1-back]
			r.ByOrganiser = drawnBool.Draw(t, "by organiser")
		case enroll.Resize:
			r.Change = enroll.Change{Capacity: drawLimit(t, drawnSeats), WaitlistCapacity: drawLimit(t, drawnPlaces)}
		default:
		}
	}
	return c
}

// often checks a property of drawn courses rounds × rapid.checks times, on all
// processors.
func often(t *testing.T, seen *sightings, property func(*rapid.T)) {
	t.Helper()
	t.Parallel()
	t.Cleanup(func() { seen.complain(t) })
	for range rounds {
		t.Run("round", func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, property)
		})
	}
}

const rounds = 50

// sightings counts what the drawn courses showed. Each expected sight must occur
// at least once, or the property was not tested.
type sightings struct {
	expected []string
	mu       sync.Mutex
	times    map[string]int
}

func (s *sightings) add(what map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = make(map[string]int)
	}
	s.times[""]++
	for w, saw := range what {
		if saw {
			s.times[w]++
		}
	}
}

func (s *sightings) complain(t *testing.T) {
	t.Logf("of %d courses: %v", s.times[""], s.times)
	for _, w := range s.expected {
		if s.times[w] == 0 && s.times[""] >= 1000 && !t.Failed() {
			t.Errorf("no course showed %q", w)
		}
	}
}
