package access

import (
	"crypto/sha256"
	"maps"
	"net/netip"
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Caller is the party that asks for something. The zero Caller is anonymous.
type Caller struct {
	Account  AccountID
	Token    Token
	Client   netip.Prefix // where the request came from; zero = unknown
	grants   Grants
	operator bool
}

// Operator is the caller at the command line, who may do everything.
var Operator = Caller{operator: true}

// IsOperator tells whether the caller is the Operator.
func (c Caller) IsOperator() bool { return c.operator }

// Anonymous tells that the request carried no token.
func (c Caller) Anonymous() bool { return c.Account == 0 }

// RoleFor returns the role that the caller has for a course, the zero Role if it
// has none.
func (c Caller) RoleFor(course string) Role {
	if c.Token.Courses != nil && !slices.Contains(c.Token.Courses, course) {
		return ""
	}
	return c.grants.For(course)
}

// RoleForAll returns the role that the caller has for every course.
func (c Caller) RoleForAll() Role { return c.RoleFor(AllCourses) }

// CoursesWith returns the courses for which the caller has the role or a greater
// one, nil for all courses.
func (c Caller) CoursesWith(role Role) []string {
	if c.RoleForAll().AtLeast(role) {
		return nil
	}
	courses := []string{}
	named := c.Token.Courses
	if named == nil {
		named = slices.Sorted(maps.Keys(c.grants))
	}
	for _, course := range named {
		if course != AllCourses && c.RoleFor(course).AtLeast(role) {
			courses = append(courses, course)
		}
	}
	return courses
}

// Grants returns what the account is granted, whatever the token leaves of it.
func (c Caller) Grants() Grants { return c.grants }

// ManagesAccounts tells whether the caller may read and change accounts: an
// unrestricted token of an admin.
func (c Caller) ManagesAccounts() bool {
	return !c.Token.ReadOnly && c.Token.Courses == nil && c.grants.For(AllCourses) == Admin
}

// Key is what is stored of a token, and what it opens.
type Key struct {
	// Version is that of accounts, grants and tokens when the key was read.
	Version int64
	// Good tells that there is such a token, that it is not revoked, and that its
	// account is not disabled. Nothing below is set otherwise.
	Good   bool
	Hash   [sha256.Size]byte
	Token  Token
	Grants Grants
}

// Caller returns the caller that the key lets in.
func (k Key) Caller() Caller {
	return Caller{Account: k.Token.Account, Token: k.Token, grants: k.Grants}
}

// ErrBadToken says that a token opens nothing. It does not say why: a client
// without a good token has no business to know.
var ErrBadToken = enroll.Errorf(enroll.Unauthorized, "the API token is not valid: it is malformed, unknown, expired or revoked, or its account is disabled")

// ErrManagersOnly says that accounts are not the caller's to read or change.
var ErrManagersOnly = enroll.Errorf(enroll.Forbidden, "accounts and roles need a token of an admin that is neither read-only nor limited to courses")
