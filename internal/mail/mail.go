// Package mail composes the e-mails that Lastseat sends.
//
// It owns what they say, in which words and languages, and that whatever people
// have typed stays text: in headers, in HTML and in calendars. It must not know
// when a mail is due (internal/enroll does), how one is sent, or who else got
// one. It does no I/O, and no error of it quotes a mail.
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

// Options are what an installation says of its mails.
type Options struct {
	// From is the sender: the name that mails have whose course names no
	// organiser, and the address that all have.
	From      netmail.Address
	PublicURL string // where people reach the API, http or https; links begin with it
}

// Composer composes mails. It is safe for concurrent use.
type Composer struct {
	from      netmail.Address
	publicURL string
	kinds     map[enroll.MailKind]kind
}

// New returns a composer, or an error if a kind of mail lacks a text in some
// language or the sender's address cannot stand in a header.
func New(o Options) (*Composer, error) {
	if a, err := netmail.ParseAddress(o.From.Address); err != nil || a.Address != o.From.Address || !ascii(a.Address) {
		return nil, errors.New("the sender must have a plain address in ASCII")
	}
	kinds, err := parseKinds(files, enroll.MailKinds())
	if err != nil {
		return nil, err
	}
	return &Composer{from: o.From, publicURL: strings.TrimRight(o.PublicURL, "/"), kinds: kinds}, nil
}

// Compose returns the message of a mail. All attempts to send one mail that say
// the same have the same Message-ID, by which a mailbox that got it twice can
// tell.
func (c *Composer) Compose(m enroll.Mail) (*gomail.Msg, error) {
	kind, known := c.kinds[m.Kind]
	if !known || len(m.About) == 0 {
		return nil, fmt.Errorf("composing a mail of kind %q about %d registrations: there is no such mail", m.Kind, len(m.About))
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
	// Holiday notes shall not answer (RFC 3834, 5; Exchange knows the other only).
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
// delivered the mail: what the next one says of another time or location, or a
// summary says of what has happened since, must not pass for a copy of that.
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

// address says from whom the mail comes and to whom it and an answer go. The
// recipient's name stays out of it: the mailbox is all that is certain.
func (c *Composer) address(msg *gomail.Msg, m enroll.Mail, sender string) {
	msg.FromMailAddress(&netmail.Address{Name: displayName(sender), Address: c.from.Address})
	msg.ToMailAddress(&netmail.Address{Address: m.To.Mailbox()})
	if ofInstallation(m.Kind) {
		return
	}
	// An address that does not parse would break the header. Answers go to the
	// sender then.
	if reply, err := enroll.ParseAddress(m.About[0].For.ReplyTo); err == nil {
		msg.ReplyToMailAddress(&netmail.Address{Address: reply.Mailbox()})
	}
}

// ofInstallation tells whether a kind of mail names no course's organiser: it tells
// of several courses, or must not say of which.
func ofInstallation(k enroll.MailKind) bool {
	return k == enroll.MailLinks || k == enroll.MailMistakenAddress
}

// sender returns the name a mail is signed with.
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

// link returns where a registration is shown.
func (c *Composer) link(r enroll.Registration) string { return c.publicURL + r.Path() }
