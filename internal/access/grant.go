package access

import "github.com/lastseat/lastseat/internal/enroll"

// Role is what an account may do in the courses for which it has the role.
type Role string

// The roles. Each may do everything that the ones after it may. The zero Role
// may do nothing.
const (
	Admin     Role = "admin"     // everything, accounts included; always for all courses
	Organiser Role = "organiser" // everything about the courses
	Door      Role = "door"      // names and presence of the people with a seat
)

// roleOrder says how much a role may do.
var roleOrder = map[Role]int{Door: 1, Organiser: 2, Admin: 3}

// AtLeast tells whether the role may do all that the other may.
func (r Role) AtLeast(other Role) bool { return roleOrder[r] >= roleOrder[other] }

// ParseRole returns the role, or an error of code Invalid whose fault names the
// field "role".
func ParseRole(s string) (Role, error) {
	if roleOrder[Role(s)] == 0 {
		return "", enroll.FaultIn("role", enroll.Invalid, "unknown", "must be admin, organiser or door")
	}
	return Role(s), nil
}

// AllCourses is the course of a grant for all courses.
const AllCourses = ""

// Grants are an account's roles by the slug of the course, or by AllCourses. An
// account has one role for each.
type Grants map[string]Role

// For returns the role for a course: the greater of the one for it and the one
// for all courses.
func (g Grants) For(course string) Role {
	role, everywhere := g[course], g[AllCourses]
	if everywhere.AtLeast(role) {
		return everywhere
	}
	return role
}

// Grant is a role for one course, or for AllCourses.
type Grant struct {
	Role   Role
	Course string
}

// NewGrant returns the grant, or an error of code Invalid. The role of an admin
// is for all courses.
func NewGrant(role, course string) (Grant, error) {
	r, err := ParseRole(role)
	var bad error
	if course != AllCourses {
		if _, err := enroll.ParseSlug(course); err != nil {
			bad = enroll.FaultIn("course", enroll.Invalid, "form", "must be the slug of a course")
		} else if r == Admin {
			bad = enroll.FaultIn("course", enroll.Invalid, "excluded", "must be left out or null for the role admin, which is for all courses")
		}
	}
	if err := enroll.JoinFaults(err, bad); err != nil {
		return Grant{}, err
	}
	return Grant{r, course}, nil
}
