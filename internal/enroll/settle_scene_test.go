package enroll_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// scene is a run and the next requests of its line, told with people. The first
// word of a name is the address: "ada" and "ada again" are two registrations of
// one. Tickets rise from seated to listed to the line.
type scene struct {
	capacity, places *int // nil = unlimited
	seated, listed   []string
	ended, calledOff bool
	given            *int // how many of the seated, and of the listed, Settle is given; nil = all
	line             []ask
}

// told is a Settlement in words.
type told struct{ outcomes, changed, notices, after string }

type ask struct {
	who string
	enroll.Request
}

func registers(who string) ask { return ask{who, enroll.Request{Kind: enroll.Register}} }

func cancels(who string) ask { return ask{who, enroll.Request{Kind: enroll.Cancel}} }

func asks(kind enroll.Kind) ask { return ask{Request: enroll.Request{Kind: kind}} }

func resizes(capacity, places *enroll.Limit) ask {
	return ask{Request: enroll.Request{Kind: enroll.Resize, Change: enroll.Change{Capacity: capacity, WaitlistCapacity: places}}}
}

func most(n int) *enroll.Limit { return &enroll.Limit{Most: &n} }

func unlimited() *enroll.Limit { return &enroll.Limit{} }

// upTo makes it a registration that wants no later place on the list.
func (a ask) upTo(place int) ask {
	a.WaitlistLimit = &place
	return a
}

// notify makes it a registration whose refusal is told by mail.
func (a ask) notify() ask {
	a.Notify = true
	return a
}

// late makes it a request that was accepted when the list's time had come.
func (a ask) late() ask {
	a.Late = true
	return a
}

func (a ask) byOrganiser() ask {
	a.ByOrganiser = true
	return a
}

// was makes it a cancel of a registration that had the status before the call.
func (a ask) was(status enroll.Status) ask {
	a.TargetStatus = status
	return a
}

func (a ask) said() string {
	if a.Kind == enroll.Register {
		return a.who
	}
	return strings.TrimSpace(string(a.Kind) + " " + a.who)
}

// everybody asks for a seat.
func everybody(who ...string) []ask {
	line := make([]ask, len(who))
	for i, w := range who {
		line[i] = registers(w)
	}
	return line
}

func keyOf(who string) enroll.AddressKey {
	key, _, _ := strings.Cut(who, " ")
	return enroll.AddressKey(key)
}

// settle settles the line in one call, and checks what holds for every line.
func (s scene) settle(t *testing.T) told {
	t.Helper()
	people := slices.Concat([]string{"nobody"}, s.seated, s.listed) // by ticket
	places := func(who []string) []enroll.Holding {
		var all []enroll.Holding
		for _, w := range who {
			all = append(all, enroll.Holding{Ticket: int64(slices.Index(people, w)), Key: keyOf(w)})
		}
		return slices.Grow(all, 5) // room, so that writing there is seen
	}
	seated, listed := places(s.seated), places(s.listed)
	// Registrations that were decided before and hold nothing now.
	for _, a := range s.line {
		if a.TargetStatus != "" {
			people = append(people, a.who)
		}
	}
	before := int64(len(people))
	requests := make([]enroll.Request, len(s.line))
	for i, a := range s.line {
		r := a.Request
		r.Ticket = before + int64(i)
		people = append(people, a.said())
		switch r.Kind {
		case enroll.Register:
			r.Key = keyOf(a.who)
			for _, h := range slices.Concat(seated, listed) {
				if h.Key == r.Key {
					r.Holder = h.Ticket
				}
			}
		case enroll.Cancel:
			r.Target = enroll.Holding{Ticket: int64(slices.Index(people, a.who)), Key: keyOf(a.who)}
			switch {
			case r.TargetStatus != "":
			case slices.Contains(s.seated, a.who):
				r.TargetStatus = enroll.Confirmed
			case slices.Contains(s.listed, a.who):
				r.TargetStatus = enroll.Waitlisted
			case r.Target.Ticket >= before:
				r.TargetStatus = enroll.Queued
			default:
				t.Fatalf("the scene has no %s to cancel", a.who)
			}
		default:
		}
		requests[i] = r
	}
	counts := enroll.RunCounts{
		Capacity: s.capacity, WaitlistCapacity: s.places, Taken: len(seated), Waiting: len(listed), WaitlistEnded: s.ended, CalledOff: s.calledOff,
	}
	shown := func(all []enroll.Holding) []enroll.Holding {
		if s.given == nil {
			return all
		}
		return all[:min(*s.given, len(all))] // the backing array has the rest, so that writing there is seen
	}

	type arguments struct {
		Counts         enroll.RunCounts
		Seated, Listed []enroll.Holding
		Requests       []enroll.Request
	}
	all := arguments{counts, seated[:cap(seated)], listed[:cap(listed)], requests}
	untouched := fmt.Sprintf("%+v", deref(all))
	got := enroll.Settle(counts, shown(listed), shown(seated), requests)
	if now := fmt.Sprintf("%+v", deref(all)); now != untouched {
		t.Errorf("Settle changed its arguments:\n got %s\nwant %s", now, untouched)
	}
	if again := enroll.Settle(counts, shown(listed), shown(seated), requests); !reflect.DeepEqual(again, got) {
		t.Errorf("Settle returned something else the second time:\n got %+v\nwant %+v", again, got)
	}
	for i, o := range got.Outcomes {
		if o.Ticket != before+int64(i) || o.Before != enroll.Queued {
			t.Errorf("outcome %d is %+v", i, o)
		}
	}

	var out told
	say := func(to *string, format string, args ...any) {
		if *to != "" {
			*to += ", "
		}
		*to += strings.TrimSpace(fmt.Sprintf(format, args...))
	}
	for _, o := range got.Outcomes {
		say(&out.outcomes, "%s %s %s", people[o.Ticket], o.Status, o.Reason)
	}
	for _, o := range got.Changed {
		say(&out.changed, "%s %s→%s %s", people[o.Ticket], o.Before, o.Status, o.Reason)
	}
	for _, n := range got.Notices {
		say(&out.notices, "%s %s", people[n.Ticket], n.Mail)
	}
	out.after = fmt.Sprintf("%d/%s seats, %d/%s places", got.Counts.Taken, number(got.Counts.Capacity), got.Counts.Waiting, number(got.Counts.WaitlistCapacity))
	if got.Counts.WaitlistEnded {
		out.after += ", ended"
	}
	if got.Counts.CalledOff {
		out.after += ", called off"
	}
	return out
}

func number(n *int) string {
	if n == nil {
		return "∞"
	}
	return fmt.Sprint(*n)
}

// deref returns the value with what its pointers point to, for printing.
func deref(v any) any {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return "nil"
		}
		return deref(rv.Elem().Interface())
	case reflect.Slice:
		all := make([]any, rv.Len())
		for i := range all {
			all[i] = deref(rv.Index(i).Interface())
		}
		return all
	case reflect.Struct:
		all := make([]any, rv.NumField())
		for i := range all {
			all[i] = deref(rv.Field(i).Interface())
		}
		return all
	default:
		return v
	}
}

type row struct {
	name string
	scene
	want told
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got := r.settle(t)
			for _, c := range []struct{ what, got, want string }{
				{"the outcomes", got.outcomes, r.want.outcomes},
				{"what changed", got.changed, r.want.changed},
				{"the notices", got.notices, r.want.notices},
				{"the run afterwards", got.after, r.want.after},
			} {
				if c.got != c.want {
					t.Errorf("%s\n got %q\nwant %q", c.what, c.got, c.want)
				}
			}
		})
	}
}
