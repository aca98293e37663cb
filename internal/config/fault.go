package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Error lists everything that is wrong with a configuration. It never holds the
// value of a Secret.
type Error struct {
	// Faults has at least one element. Faults of the file come first, then
	// faults of the environment, then faults of values.
	Faults []Fault
}

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	// Key is the setting as the file names it, such as "postgres.url"; empty if
	// the fault is not about a setting.
	Key string
	// Source is where the value is, or where a missing one can be given: a line
	// of the file, or a variable.
	Source string
	// Text says what is wrong, and what is allowed.
	Text string
}

// Error returns a line that counts the faults, followed by an indented line for
// each.
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

// shown returns an unknown key or variable for use in a fault. It withholds
// anything that does not look like a name: a URL in the wrong place of a file
// is read as a key, and may hold a password.
func shown(name string) string {
	if namePattern.MatchString(name) {
		return name
	}
	return "(not a name)"
}
