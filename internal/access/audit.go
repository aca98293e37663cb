package access

import (
	"net/netip"
	"time"
)

// Action is what an audit entry records. The kinds of requests in a line are
// actions, too.
type Action string

// The actions that are no request in a line.
const (
	AccountAdded    Action = "account_added"
	AccountDisabled Action = "account_disabled"
	AccountEnabled  Action = "account_enabled"
	RoleGranted     Action = "role_granted"
	RoleRevoked     Action = "role_revoked"
	TokenAdded      Action = "token_added"
	TokenRevoked    Action = "token_revoked"
	CourseAdded     Action = "course_added"
	CourseChanged   Action = "course_changed"
	RunAdded        Action = "run_added"
	RunChanged      Action = "run_changed"
	RunPublished    Action = "run_published"
	RunArchived     Action = "run_archived"
	RunDeleted      Action = "run_deleted"
	PersonCorrected Action = "person_corrected"
	MailResent      Action = "mail_resent"
	LineRead        Action = "line_read"  // with the names and addresses in it
	MailsRead       Action = "mails_read" // with the addresses in them
)

// Entry is one thing that a caller did. It never has a name, an address, an
// answer, a search word or a text of a person.
type Entry struct {
	ID      EntryID
	At      time.Time
	Account AccountID // 0 = an operator at the command line
	Token   TokenID
	Client  netip.Prefix // where the request came from; zero = unknown
	Action  Action

	// What it was about; zero = nothing of that kind.
	Course       string
	Run          string
	Ticket       int64
	AboutAccount AccountID
	AboutToken   TokenID

	Details map[string]any // field names and settings
}

// EntryID is a position in the audit, the newest entry first. The zero EntryID is
// in front of all.
type EntryID struct {
	At     time.Time
	Line   int32 // the run whose line has the entry; 0 = no line has it
	Number int64
}

// AuditQuery says which entries to list, the newest first.
type AuditQuery struct {
	Run      string   // about this run only; empty = about any
	Courses  []string // about these courses only; nil = about all
	Accounts bool     // entries about no course, too
	After    EntryID
	Most     int
}

// NetworkOf returns the network of a client's address: precise enough to tell
// places apart, and not people. It is zero for what is no address.
func NetworkOf(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
