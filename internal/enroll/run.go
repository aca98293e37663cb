package enroll

import "time"

// RunID is the number of a run inside one installation. It fits the second key
// of a Postgres advisory lock, which names the lane of the run.
type RunID int32

// Run is one scheduled date of a course.
type Run struct {
	ID       RunID
	Slug     string // immutable: it names the run's queue and its URL
	Course   string // the course's slug
	Title    string // the course's title
	Location string
	TimeZone string   // IANA name in which the run's times are shown
	Language Language // of its mails, unless a request names another; empty = English

	Organiser string // the course's
	ReplyTo   string // the course's
	Revision  int    // the number of changes to the schedule

	StartsAt time.Time
	EndsAt   time.Time

	Capacity         *int      // seats; nil = unlimited, 0 = none
	WaitlistCapacity *int      // places on the waiting list; nil = unlimited, 0 = there is none
	PromoteUntil     time.Time // when the waiting list ends; zero = when the run begins. See ListEndsAt

	OpensAt  time.Time // the registration window begins (inclusive)
	ClosesAt time.Time // the registration window ends (exclusive)

	State   State // empty = Published
	Version int64 // grows with every change of what organisers edit

	WaitlistEnded bool // by a request in the line
	CalledOff     bool
}

// Schedule returns when and where the run takes place.
func (r Run) Schedule() Schedule {
	return Schedule{StartsAt: r.StartsAt, EndsAt: r.EndsAt, TimeZone: r.TimeZone, Location: r.Location}
}

// RunState is a run as of Now.
type RunState struct {
	Run
	AttendancesCount int       // seats held
	WaitingCount     int       // people on the waiting list
	LastTicket       int64     // the last ticket issued in the run's line
	SettledTicket    int64     // the last ticket decided
	Now              time.Time // by the line's clock, which never runs backwards
}

// Waiting returns how many requests of the line are undecided.
func (r RunState) Waiting() int64 { return r.LastTicket - r.SettledTicket }

// OverCapacity tells whether people hold more seats than the run has. That is
// legal: lowering a capacity takes no seat away.
func (r RunState) OverCapacity() bool {
	return r.Capacity != nil && r.AttendancesCount > *r.Capacity
}

// Schedule is when and where a run takes place.
type Schedule struct {
	StartsAt, EndsAt time.Time
	TimeZone         string // IANA name
	Location         string
}

// Equal tells whether both say the same.
func (s Schedule) Equal(o Schedule) bool {
	return s.StartsAt.Equal(o.StartsAt) && s.EndsAt.Equal(o.EndsAt) && s.TimeZone == o.TimeZone && s.Location == o.Location
}
