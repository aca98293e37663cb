package enroll

// Course is a subject that is taught. Its dates are runs.
type Course struct {
	Slug        string // names the course in URLs; see ParseNewSlug
	Title       string
	Description string
	Organiser   string // the sender's name in mails; empty = the installation's
	ReplyTo     string // the address that replies go to; empty = the sender's
	Version     int64  // grows with every change of what organisers edit
}
