// Package mail composes the e-mails that Lastseat sends.
//
// It owns their texts in every language, and keeps text that people have typed
// from becoming anything else in headers, in HTML and in calendars. It must not
// know when a mail is due (internal/enroll does), how it is sent, or who else
// gets one. It does no I/O, and none of its errors quotes a mail.
package mail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	netmail "net/mail"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Options are an installation's settings for its mails.
type Options struct {
	// From is the sender's address, and the sender's name for courses without
	// an organiser.
	From      netmail.Address
	PublicURL string // where people reach the API, http or https; all links begin with it
}

// Composer composes mails. It is safe for concurrent use.
type Composer struct {
	from      netmail.Address
	publicURL string
	kinds     map[enroll.MailKind]kind
}

// New returns a composer. It returns an error if a kind of mail lacks a text in
// a language, or if the sender's address cannot stand in a header.
func New(o Options) (*Composer, error) {
	if a, err := netmail.ParseAddress(o.From.Address); err != nil || a.Address != o.From.Address || !ascii(a.Address) {
		return nil, errors.New("the sender's address must be plain and in ASCII")
	}
	kinds, err := parseKinds(files, enroll.MailKinds())
	if err != nil {
		return nil, err
	}
	return &Composer{from: o.From, publicURL: strings.TrimRight(o.PublicURL, "/"), kinds: kinds}, nil
}

// Compose returns the message of a mail. Attempts to send one mail have the
// same Message-ID as long as they say the same, so a mailbox can recognise a
// copy.
func (c *Composer) Compose(m enroll.Mail) (*gomail.Msg, error) {
	kind, known := c.kinds[m.Kind]
	if !known || len(m.About) == 0 {
		return nil, fmt.Errorf("composing a mail of kind %q about %d registrations: no such mail exists", m.Kind, len(m.About))
	}
	l, err := c.letter(kind, m)
	if err != nil {
		return nil, fmt.Errorf("composing a mail of kind %q in language %q: %w", m.Kind, m.Language, err)
	}
	plain, html, err := l.render()
	if err != nil {
		return nil, fmt.Errorf("composing a mail of kind %q in language %q: %w", m.Kind, m.Language, err)
	}

	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	c.address(msg, m, l.Sender)
	msg.SetGenHeader(gomail.HeaderSubject, headerText(l.Subject))
	msg.SetDateWithValue(m.Now.UTC())
	msg.SetMessageIDWithValue(c.messageID(m))
	msg.SetGenHeader(gomail.HeaderContentLang, string(m.Language))
	// These keep autoresponders from answering (RFC 3834, 5; Exchange knows
	// only the second).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader(gomail.HeaderXAutoResponseSuppress, "All")

	msg.SetBodyString(gomail.TypeTextPlain, plain)
	msg.AddAlternativeString(gomail.TypeTextHTML, html)
	if err := c.attachEntries(msg, kind, m); err != nil {
		return nil, fmt.Errorf("attaching a calendar entry: %w", err)
	}
	return msg, nil
}

// messageID returns the Message-ID. An attempt whose answer was lost may have
// delivered the mail. If the next attempt tells another time or location, or a
// summary tells more, it must not pass for a copy.
func (c *Composer) messageID(m enroll.Mail) string {
	version := 0
	switch m.Kind {
	case enroll.MailSummary:
		version = m.Attempt
	case enroll.MailLinks:
	default:
		version = m.About[0].For.Revision
	}
	id := m.ID.String()
	if version > 0 {
		id += "." + strconv.Itoa(version)
	}
	return id + "@" + c.host()
}

// attachEntries attaches the calendar entries that the mail carries.
func (c *Composer) attachEntries(msg *gomail.Msg, k kind, m enroll.Mail) error {
	attached := 0
	for _, e := range m.About {
		method := k.entry(m, e)
		if method == "" {
			continue
		}
		name := e.For.Slug
		if attached++; attached > 1 {
			name += "-" + strconv.Itoa(attached)
		}
		entry := calendar.Entry(method, e, calendar.Organiser(c.from), m.Now)
		err := msg.AttachReader(name+".ics", bytes.NewReader(entry), gomail.WithFileContentType(gomail.ContentType(method.ContentType())))
		if err != nil {
			return err
		}
	}
	return nil
}

// address sets From, To and Reply-To. To has no name, because only the mailbox
// is certain.
func (c *Composer) address(msg *gomail.Msg, m enroll.Mail, sender string) {
	msg.FromMailAddress(&netmail.Address{Name: displayName(sender), Address: c.from.Address})
	msg.ToMailAddress(&netmail.Address{Address: m.To.Mailbox()})
	if ofInstallation(m.Kind) {
		return
	}
	// An address that does not parse would break the header. Replies then go to
	// the sender.
	if reply, err := enroll.ParseAddress(m.About[0].For.ReplyTo); err == nil {
		msg.ReplyToMailAddress(&netmail.Address{Address: reply.Mailbox()})
	}
}

// ofInstallation tells whether a kind of mail comes from the installation and
// not from a course's organiser: because it is about several courses, or must
// not say which.
func ofInstallation(k enroll.MailKind) bool {
	return k == enroll.MailLinks || k == enroll.MailMistakenAddress
}

// sender returns the name that signs the mail.
func (c *Composer) sender(m enroll.Mail) string {
	if ofInstallation(m.Kind) {
		return c.from.Name
	}
	return cmp.Or(m.About[0].For.Organiser, c.from.Name)
}

func (c *Composer) host() string {
	_, host, _ := strings.Cut(c.from.Address, "@")
	return host
}

// link returns the link to a registration.
func (c *Composer) link(r enroll.Registration) string { return c.publicURL + r.Path() }
