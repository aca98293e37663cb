package mailsink

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"time"
)

// The bounds of parsing a message. Anything beyond them is only in Raw.
const (
	maxDepth   = 10  // multiparts in multiparts
	maxParts   = 100 // in the whole message, multiparts too
	maxHeaders = 1000
	maxValue   = 64 << 10 // bytes of a header's value
)

// Content is what could be parsed of a message. All text is valid UTF-8.
type Content struct {
	Subject     string    // decoded; empty if there is none
	Sender      string    // the From header, decoded
	Date        time.Time // of the Date header; zero if it is missing or invalid
	Header      []Header
	Text        string       // the first part of type text/plain, or the body if it has no parts
	HTML        string       // the first part of type text/html
	Attachments []Attachment // all other parts, in the order of the message
	Troubles    []string     // what could not be parsed, for people
}

// Header is one line of a message's header, unfolded and decoded.
type Header struct {
	Name, Value string
}

// Attachment is a part of a message that is not its text.
type Attachment struct {
	Name string // a file name without folders, never empty
	Type string // such as text/calendar, in lower case
	Body []byte // decoded
}

// Value returns the value of the first header with the name, in upper or lower
// case, or "".
func (c Content) Value(name string) string {
	i := slices.IndexFunc(c.Header, func(h Header) bool { return strings.EqualFold(h.Name, name) })
	if i < 0 {
		return ""
	}
	return c.Header[i].Value
}

func (c Content) size() int {
	n := len(c.Text) + len(c.HTML)
	for _, h := range c.Header {
		n += len(h.Name) + len(h.Value)
	}
	for _, a := range c.Attachments {
		n += len(a.Body)
	}
	return n
}

// parse parses as much of a message as it can. It never fails, because a
// message can be any bytes; Troubles says what it could not parse.
func parse(raw []byte) Content {
	lines, body := splitHeader(string(raw))
	p := parser{}
	for _, h := range lines {
		// Clones, so that a header does not keep the whole message in memory.
		p.Header = append(p.Header, Header{strings.Clone(h.Name), strings.Clone(decodeWords(h.Value))})
	}
	p.Subject, p.Sender = p.Value("Subject"), p.Value("From")
	if date, err := mail.ParseDate(p.Value("Date")); err == nil {
		p.Date = date
	}
	p.part(func(name string) string { return rawValue(lines, name) }, strings.NewReader(body), 0)
	if p.Text == "" && p.HTML == "" && len(p.Attachments) == 0 && body != "" {
		p.Text = strings.ToValidUTF8(body, "\ufffd") // better than nothing
	}
	return p.Content
}

type parser struct {
	Content
	parts int
}

// part adds a part with everything in it. header returns the undecoded value of
// the part's header with that name, or "".
func (p *parser) part(header func(string) string, body io.Reader, depth int) {
	p.parts++
	kind, params, err := mime.ParseMediaType(header("Content-Type"))
	if err != nil && header("Content-Type") != "" {
		p.trouble("the content type %q: %v", header("Content-Type"), err)
	}
	if kind == "" {
		kind = "text/plain" // RFC 2045, 5.2
	}
	if strings.HasPrefix(kind, "multipart/") {
		p.multipart(kind, params["boundary"], body, depth)
		return
	}
	content, err := io.ReadAll(decodeTransfer(header("Content-Transfer-Encoding"), body))
	if err != nil {
		p.trouble("a part of type %s: %v", kind, err)
	}
	disposition, more, err := mime.ParseMediaType(header("Content-Disposition"))
	if err != nil && header("Content-Disposition") != "" {
		p.trouble("the content disposition %q: %v", header("Content-Disposition"), err)
	}
	name := more["filename"]
	if name == "" {
		name = params["name"]
	}

	loose := disposition != "attachment" && name == ""
	switch {
	case loose && kind == "text/plain" && p.Text == "":
		p.Text = p.decodeCharset(params["charset"], content)
	case loose && kind == "text/html" && p.HTML == "":
		p.HTML = p.decodeCharset(params["charset"], content)
	case len(content) > 0 || !loose:
		p.Attachments = append(p.Attachments, Attachment{fileName(name, kind, len(p.Attachments)+1), valid(kind), content})
	}
}

func (p *parser) multipart(kind, boundary string, body io.Reader, depth int) {
	if boundary == "" {
		p.trouble("%s without a boundary", kind)
		return
	}
	if depth == maxDepth {
		p.trouble("more than %d nested multiparts", maxDepth)
		return
	}
	r := multipart.NewReader(body, boundary)
	for {
		part, err := r.NextRawPart()
		switch {
		case err == io.EOF: // unwrapped only after the last boundary
			return
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			p.trouble("%s ends before its last boundary", kind)
			return
		case err != nil:
			p.trouble("%s: %v", kind, err)
			return
		case p.parts >= maxParts:
			p.trouble("more than %d parts", maxParts)
			return
		}
		p.part(part.Header.Get, part, depth+1)
	}
}

func decodeTransfer(encoding string, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, r)
	default: // 7bit, 8bit, binary, and unknown encodings
		return r
	}
}

func (p *parser) trouble(format string, args ...any) {
	const enough = 10
	text := short(valid(fmt.Sprintf(format, args...)), 300)
	if len(p.Troubles) < enough && !slices.Contains(p.Troubles, text) {
		p.Troubles = append(p.Troubles, text)
	}
}
