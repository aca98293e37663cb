package mail_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mail"
)

func composer(t testing.TB) *mail.Composer {
	t.Helper()
	c, err := mail.New(mail.Options{
		From:      netmail.Address{Name: "Lastseat", Address: "hello@lastseat.example"},
		PublicURL: "https://lastseat.example/",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mailOf returns a mail as the outbox would have it.
func mailOf(t testing.TB, kind enroll.MailKind, language enroll.Language) enroll.Mail {
	t.Helper()
	now := time.Date(2027, 2, 1, 12, 30, 15, 0, time.UTC)
	m := enroll.Mail{
		ID: uuid.MustParse("c0ffee00-0000-4000-8000-000000000001"), Kind: kind, Attempt: 1,
		To: address(t, "Ada.Lovelace+go@example.org"), Language: language, DueAt: now.Add(-time.Minute), Now: now,
		About: []enroll.Enrolment{{
			Registration: enroll.Registration{
				ID:  uuid.MustParse("7f1f0f9e-3c57-4b7e-9a55-0d6a3f1f9b11"),
				Run: "go-1", Ticket: 7, Status: enroll.Confirmed,
			},
			Name: "Ada Lovelace", Seated: true,
			For: enroll.Run{
				Slug: "go-1", Course: "go", Title: "Go for people who ship", Location: "Room 5, Main Street 1", TimeZone: "Europe/Berlin",
				Organiser: "Go School", ReplyTo: "office@go-school.example",
				OpensAt: now.AddDate(0, -1, 0), ClosesAt: now.AddDate(0, 0, 7),
				StartsAt: time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 3, 1, 16, 0, 0, 0, time.UTC),
			},
		}},
	}
	told := enroll.LastTold{Status: enroll.Confirmed, At: now.AddDate(0, 0, -5), Schedule: m.About[0].For.Schedule(), Seat: true, Entry: true}
	switch kind {
	case enroll.MailFull:
		m.About[0].Status, m.About[0].Reason, m.About[0].Seated = enroll.Rejected, enroll.Full, false
	case enroll.MailWaitlisted:
		m.About[0].Status, m.About[0].WaitlistPosition, m.About[0].Seated = enroll.Waitlisted, 3, false
	case enroll.MailNotPromoted:
		m.About[0].Status, m.About[0].Seated = enroll.NotPromoted, false
	case enroll.MailCancelled:
		m.About[0].Status, m.About[0].LastTold = enroll.Cancelled, told
	case enroll.MailCalledOff:
		m.About[0].Status, m.About[0].Reason, m.About[0].LastTold = enroll.Cancelled, enroll.RunCalledOff, told
	case enroll.MailChanged:
		told := m.About[0].For.Schedule()
		told.StartsAt, told.EndsAt = told.StartsAt.Add(-24*time.Hour), told.EndsAt.Add(-25*time.Hour)
		m.About[0].LastTold = enroll.LastTold{Status: enroll.Confirmed, At: now.AddDate(0, 0, -5), Schedule: told, Entry: true}
		m.About[0].For.Revision = 1
	case enroll.MailSummary:
		m.About[0].LastTold = enroll.LastTold{Status: enroll.Confirmed, At: now.Add(-10 * time.Minute), Schedule: m.About[0].For.Schedule(), Entry: true}
		first := m.About[0]
		first.ID, first.Ticket, first.Status = uuid.UUID{15: 1}, 5, enroll.Cancelled
		never := first
		never.Seated = false
		never.ID, never.Ticket, never.LastTold = uuid.UUID{15: 2}, 6, enroll.LastTold{Schedule: first.For.Schedule()}
		m.About = append(m.About, first, never)
	case enroll.MailLinks:
		first := m.About[0]
		for i, r := range []struct {
			status enroll.Status
			reason enroll.Reason
			title  string
		}{
			{enroll.Queued, "", "SQL evenings"},
			{enroll.Rejected, enroll.Full, "A very small course"},
			{enroll.Rejected, enroll.AlreadyRegistered, "Go for people who ship"},
			{enroll.Waitlisted, "", "Tests that hold"},
			{enroll.Cancelled, "", "Profiling"},
			{enroll.Cancelled, enroll.RunCalledOff, "Assembly"},
			{enroll.NotPromoted, "", "Compilers"},
		} {
			e := first
			e.ID, e.Ticket, e.Status, e.Reason, e.For.Title = uuid.UUID{15: byte(i + 1)}, int64(i+20), r.status, r.reason, r.title
			m.About = append(m.About, e)
		}
		m.About[1].For.Location = ""
		m.About[4].WaitlistPosition = 2
		m.About[2].For.EndsAt = m.About[2].For.EndsAt.Add(24 * time.Hour)
	default:
	}
	return m
}

func address(t testing.TB, typed string) enroll.Address {
	t.Helper()
	a, err := enroll.ParseAddress(typed)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// received is a message as a mailbox reads it.
type received struct {
	raw                   []byte
	header                netmail.Header
	structure             string // of media types
	plain, html, calendar string
	attachment            string // its file's name
}

// receive composes, serialises and parses a mail, and checks what must hold for
// every message in transport.
func receive(t testing.TB, m enroll.Mail) received {
	t.Helper()
	msg, err := composer(t).Compose(m)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := msg.WriteTo(&raw); err != nil {
		t.Fatal(err)
	}
	recipients, err := msg.GetRecipients()
	if err != nil || len(recipients) != 1 || recipients[0] != "<"+m.To.Mailbox()+">" {
		t.Errorf("the envelope is to %q and %v, want %s", recipients, err, m.To.Mailbox())
	}
	for line := range bytes.Lines(raw.Bytes()) {
		text, whole := bytes.CutSuffix(line, []byte("\r\n"))
		if !whole && !bytes.HasPrefix(line, []byte("--")) || bytes.ContainsAny(text, "\r\n") {
			t.Errorf("a line does not end with CR LF: %q", line)
		}
		if len(text) > 998 || bytes.ContainsFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
			t.Errorf("a line of %d octets cannot be transported: %q", len(text), text)
		}
		if len(text) > 0 && len(bytes.TrimSpace(text)) == 0 {
			t.Error("a header has a line of blanks, which some readers take for the end of the headers")
		}
		if bytes.Equal(text, []byte("Subject:")) {
			t.Error("the subject begins with an empty line")
		}
		for word := range bytes.FieldsSeq(text) {
			if bytes.HasPrefix(word, []byte("=?")) && len(word) > 75 {
				t.Errorf("an encoded word of %d octets: %q", len(word), word)
			}
		}
	}
	got := received{raw: raw.Bytes()}
	parsed, err := netmail.ReadMessage(&raw)
	if err != nil {
		t.Fatal(err)
	}
	got.header = parsed.Header
	got.readPart(t, parsed.Header.Get, parsed.Body)
	return got
}

func (r *received) readPart(t testing.TB, header func(string) string, body io.Reader) {
	t.Helper()
	kind, parameters, err := mime.ParseMediaType(header("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(kind, "multipart/") {
		r.structure += kind + "{"
		parts := multipart.NewReader(body, parameters["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err == io.EOF {
				r.structure += "}"
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.readPart(t, part.Header.Get, part)
		}
	}
	switch header("Content-Transfer-Encoding") {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	default:
		t.Errorf("a part is encoded as %q", header("Content-Transfer-Encoding"))
	}
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.EqualFold(parameters["charset"], "utf-8") {
		t.Errorf("a part's charset is %q", parameters["charset"])
	}
	r.structure += fmt.Sprintf("(%s)", kind)
	switch kind {
	case "text/plain":
		r.plain = strings.ReplaceAll(string(content), "\r\n", "\n")
	case "text/html":
		r.html = strings.ReplaceAll(string(content), "\r\n", "\n")
	case "text/calendar":
		r.calendar += string(content)
		_, disposition, err := mime.ParseMediaType(header("Content-Disposition"))
		if err != nil || !strings.HasPrefix(r.calendar, "BEGIN:VCALENDAR\r\n") {
			t.Errorf("got the calendar %q and %v", r.calendar, err)
		}
		if method := parameters["method"]; method == "" || !strings.Contains(r.calendar, "\r\nMETHOD:"+method+"\r\n") {
			t.Errorf("the part's method %q is not the entry's", method)
		}
		r.attachment = disposition["filename"]
	}
}

// decoded returns a header's text.
func (r received) decoded(t testing.TB, name string) string {
	t.Helper()
	text, err := new(mime.WordDecoder).DecodeHeader(r.header.Get(name))
	if err != nil {
		t.Error(err)
	}
	return text
}

// address returns the only address of a header.
func (r received) address(t testing.TB, name string) netmail.Address {
	t.Helper()
	all, err := r.header.AddressList(name)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: got %v and %v, want one address", name, all, err)
	}
	return *all[0]
}

var (
	unseen = regexp.MustCompile(`(?s)<head>.*</head>|<!DOCTYPE html>`)
	ends   = regexp.MustCompile(`</td>\n<td[^>]*>|</p>|</tr>|<br>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// shown returns the text that the HTML shows, by cell and paragraph. Cutting
// out tags is safe, because they hold no typed text.
func (r received) shown() string {
	text := unseen.ReplaceAllString(r.html, "")
	text = ends.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "</td>") {
			return ": "
		}
		return "\n"
	})
	return html.UnescapeString(tag.ReplaceAllString(text, ""))
}

// links returns the targets of the links in the HTML.
func (r received) links() []string {
	var links []string
	for _, match := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(r.html, -1) {
		links = append(links, html.UnescapeString(match[1]))
	}
	return links
}
