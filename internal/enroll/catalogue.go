package enroll

import "time"

// RunQuery says which runs to list, by start and slug.
type RunQuery struct {
	Course string    // of this course only; empty = of any
	Open   bool      // only those that take registrations now
	State  State     // only those in this state; empty = Published
	Among  []string  // only those of these courses; nil = of all
	After  RunCursor // only those after this one
	Most   int       // the most to return
}

// RunCursor is a position in the list of runs. The zero cursor is before all.
type RunCursor struct {
	StartsAt time.Time
	Slug     string
}

// CourseQuery says which courses to list, by title and slug.
type CourseQuery struct {
	After CourseCursor // only those after this one
	Most  int          // the most to return
}

// CourseCursor is a position in the list of courses. The zero cursor is before all.
type CourseCursor struct{ Title, Slug string }
