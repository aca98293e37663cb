package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/lastseat/lastseat/internal/enroll"
)

// changeJSON returns the change of a resize as it is stored: a member for each
// limit that changes, null for unlimited. It returns nil for other kinds.
func changeJSON(sub enroll.Submission) []byte {
	if sub.Kind != enroll.Resize {
		return nil
	}
	members := make(map[string]*int)
	for name, l := range map[string]*enroll.Limit{"capacity": sub.Change.Capacity, "waitlist_capacity": sub.Change.WaitlistCapacity} {
		if l != nil {
			members[name] = l.Most
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // a map of integers
	}
	return text
}

// parseChange reads what changeJSON wrote.
func parseChange(text []byte) (c enroll.Change, err error) {
	var members map[string]*int
	if err := json.Unmarshal(text, &members); err != nil {
		return c, fmt.Errorf("reading the change of a resize: %w", err)
	}
	if most, is := members["capacity"]; is {
		c.Capacity = &enroll.Limit{Most: most}
	}
	if most, is := members["waitlist_capacity"]; is {
		c.WaitlistCapacity = &enroll.Limit{Most: most}
	}
	return c, nil
}
