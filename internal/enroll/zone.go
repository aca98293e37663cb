package enroll

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the same zones wherever the programs run
)

// ParseTimeZone returns the time zone of an IANA name such as Europe/Berlin, or
// an error of code Invalid whose fault names the field "time_zone". Upper and
// lower case count. Names that Go or a machine's own files know beyond those are
// refused: "Local" and "localtime" are the machine's, "Factory" is nobody's, and
// the others are not for people.
func ParseTimeZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	switch name {
	case "", "Local", "localtime", "posixrules", "Factory":
		zone = nil
	}
	if err != nil || zone == nil || strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return nil, FaultIn("time_zone", Invalid, "unknown", fmt.Sprintf("%q is not the name of a time zone: it must be an IANA name, such as Europe/Berlin", name))
	}
	return zone, nil
}
