package enroll

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the same zones wherever the programs run
)

// ParseTimeZone returns the time zone with an IANA name such as Europe/Berlin,
// or an error of code Invalid whose fault names the field "time_zone". Upper
// and lower case matter. It refuses names that Go or a machine's own files know
// beyond the IANA ones: "Local" and "localtime" mean the machine's zone,
// "Factory" means none, and the others are technical.
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
