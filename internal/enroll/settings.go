package enroll

import (
	"errors"
	"time"
	"unicode/utf8"
)

// The longest texts of a course and a run, in runes.
const (
	maxTitle       = 200
	maxDescription = 10_000
	maxLocation    = 200
)

// CourseSettings are what organisers edit of a course.
type CourseSettings struct {
	Title       string
	Description string
	Organiser   string
	ReplyTo     string
}

// Check returns an error of code Invalid with every fault of the settings.
func (s CourseSettings) Check() error {
	replyTo := error(nil)
	if s.ReplyTo != "" {
		if _, err := ParseAddress(s.ReplyTo); err != nil {
			replyTo = renameFault(err, "reply_to")
		}
	}
	return JoinFaults(
		required("title", s.Title), short("title", s.Title, maxTitle), CheckLine("title", s.Title),
		short("description", s.Description, maxDescription), CheckLines("description", s.Description),
		short("organiser", s.Organiser, maxTitle), CheckLine("organiser", s.Organiser), replyTo,
	)
}

// Changes returns the names of the fields in which the settings differ.
func (s CourseSettings) Changes(to CourseSettings) []string {
	return changed([]field{
		{"title", s.Title == to.Title}, {"description", s.Description == to.Description},
		{"organiser", s.Organiser == to.Organiser}, {"reply_to", s.ReplyTo == to.ReplyTo},
	})
}

// RunSettings are what organisers edit of a run. Its capacities are changed in its
// line.
type RunSettings struct {
	Location     string
	TimeZone     string
	Language     Language
	StartsAt     time.Time
	EndsAt       time.Time
	OpensAt      time.Time
	ClosesAt     time.Time
	PromoteUntil time.Time // zero = when the run begins
}

// Settings returns the run's settings.
func (r Run) Settings() RunSettings {
	return RunSettings{r.Location, r.TimeZone, r.Language, r.StartsAt, r.EndsAt, r.OpensAt, r.ClosesAt, r.PromoteUntil}
}

// Check returns an error of code Invalid with every fault of the settings.
func (s RunSettings) Check() error {
	_, zone := ParseTimeZone(s.TimeZone)
	_, language := ParseLanguage(string(s.Language))
	order := func(first, second time.Time, field, detail string) error {
		if !first.IsZero() && !second.IsZero() && !first.Before(second) {
			return FaultIn(field, Invalid, "range", detail)
		}
		return nil
	}
	return JoinFaults(
		short("location", s.Location, maxLocation), CheckLine("location", s.Location), zone, language,
		order(s.StartsAt, s.EndsAt, "ends_at", "must be after starts_at"),
		order(s.OpensAt, s.ClosesAt, "closes_at", "must be after opens_at"),
	)
}

// Changes returns the names of the fields in which the settings differ.
func (s RunSettings) Changes(to RunSettings) []string {
	return changed([]field{
		{"location", s.Location == to.Location}, {"time_zone", s.TimeZone == to.TimeZone}, {"language", s.Language == to.Language},
		{"starts_at", s.StartsAt.Equal(to.StartsAt)}, {"ends_at", s.EndsAt.Equal(to.EndsAt)},
		{"opens_at", s.OpensAt.Equal(to.OpensAt)}, {"closes_at", s.ClosesAt.Equal(to.ClosesAt)}, {"promote_until", s.PromoteUntil.Equal(to.PromoteUntil)},
	})
}

// field is a setting, and whether it stays the same.
type field struct {
	name string
	same bool
}

func changed(fields []field) []string {
	names := []string{}
	for _, f := range fields {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// CheckCapacity returns an error of code Invalid unless the field can have the
// number; nil is no limit.
func CheckCapacity(field string, n *int) error {
	if n != nil && (*n < 0 || *n > MaxCapacity) {
		return FaultIn(field, Invalid, "range", "must be a whole number from 0 to 1000000, or null for no limit")
	}
	return nil
}

func required(field, s string) error {
	if s == "" {
		return FaultIn(field, Invalid, "required", "is required")
	}
	return nil
}

func short(field, s string, most int) error {
	switch {
	case !utf8.ValidString(s):
		return FaultIn(field, Invalid, "invalid_text", "must be valid UTF-8")
	case utf8.RuneCountInString(s) > most:
		return FaultIn(field, Invalid, "too_long", "is too long")
	}
	return nil
}

// JoinFaults returns one error of code Invalid with the faults of all, nil if there
// are none.
func JoinFaults(errs ...error) error {
	var faults []Fault
	for _, err := range errs {
		if e, is := errors.AsType[*Error](err); is {
			faults = append(faults, e.Faults...)
		}
	}
	if faults == nil {
		return nil
	}
	return &Error{Code: Invalid, Faults: faults}
}

// renameFault returns the error with its faults in another field.
func renameFault(err error, field string) error {
	e, is := errors.AsType[*Error](err)
	if !is {
		return err
	}
	renamed := *e
	renamed.Faults = nil
	for _, f := range e.Faults {
		f.Field = field
		renamed.Faults = append(renamed.Faults, f)
	}
	return &renamed
}
