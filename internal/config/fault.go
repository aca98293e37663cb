package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Error is what Load returns: everything that is wrong with the configuration. It never holds the value of a Secret.
type Error struct {
	// Faults has at least one element: those of the file first, then those of the environment, then those of the values.
	Faults []Fault
}

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	// Key is the setting as the file names it ("postgres.url"); empty if the fault belongs to none.
	Key string
	// Source is where the faulty value stands, or where a missing one could: a line of the file, or a variable.
	Source string
	// Text says what is wrong, and what would be right.
	Text string
}

// Error returns one line that counts the faults, and below it one indented line for each.
func (e *Error) Error() string {
	var b strings.Builder
	if len(e.Faults) == 1 {
		b.WriteString("1 fault in the configuration:")
	} else {
		fmt.Fprintf(&b, "%d faults in the configuration:", len(e.Faults))
	}
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// String returns the fault on one line: "postgres.max_conns (LASTSEAT_POSTGRES_MAX_CONNS): must be 4..500, not 1000".
func (f Fault) String() string {
	if f.Key == "" {
		return f.Source + ": " + f.Text
	}
	return f.Key + " (" + f.Source + "): " + f.Text
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,80}$`)

// shown returns a key or variable that an operator made up, for use in a fault. What does not look like a name is
// withheld: a URL in the wrong place of a file reads as a key, with a password in it.
func shown(name string) string {
	if namePattern.MatchString(name) {
		return name
	}
	return "(not a name)"
}
