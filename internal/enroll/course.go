package enroll

// Course is what is taught.
type Course struct {
	Slug        string // names the course in URLs; see ParseNewSlug
	Title       string
	Description string
	Organiser   string // who sends the mails, by name; empty = the installation
	ReplyTo     string // where answers to them go; empty = to the sender
	Version     int64  // grows with every change of what organisers edit
}
