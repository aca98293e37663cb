package mailsink

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// splitHeader returns the header's lines, unfolded but not decoded, and the
// body. The first line that cannot be a header begins the body. It is more
// lenient than net/mail, and keeps the order.
func splitHeader(raw string) (lines []Header, body string) {
	unfold := strings.NewReplacer("\r", "", "\n", "")
	for raw != "" {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(raw, "\r"), "\n"); ok {
			return lines, rest
		}
		field, rest := cutField(raw)
		name, value, ok := strings.Cut(field, ":")
		if !ok || !isHeaderName(name) {
			return lines, raw
		}
		if len(lines) < maxHeaders {
			lines = append(lines, Header{name, unfold.Replace(short(strings.TrimSpace(value), maxValue))})
		}
		raw = rest
	}
	return lines, ""
}

// cutField cuts the first line and its continuation lines from raw.
func cutField(raw string) (field, rest string) {
	end := 0
	for {
		line := strings.IndexByte(raw[end:], '\n')
		if line < 0 {
			return raw, ""
		}
		end += line + 1
		if end == len(raw) || raw[end] != ' ' && raw[end] != '\t' {
			return raw[:end], raw[end:]
		}
	}
}

// isHeaderName follows RFC 5322, 3.6.8.
func isHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func rawValue(lines []Header, name string) string {
	for _, h := range lines {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// decodeWords decodes RFC 2047's =?charset?encoding?text?=.
func decodeWords(value string) string {
	decoder := mime.WordDecoder{CharsetReader: charsetReader}
	if decoded, err := decoder.DecodeHeader(value); err == nil {
		value = decoded
	}
	return valid(value)
}

// charsetReader supports the charsets that browsers support.
func charsetReader(charset string, r io.Reader) (io.Reader, error) {
	encoding, err := htmlindex.Get(charset)
	if err != nil {
		return nil, fmt.Errorf("the charset %q is unknown", charset)
	}
	return encoding.NewDecoder().Reader(r), nil
}

// decodeCharset decodes text. It treats a missing or an unknown charset as
// UTF-8.
func (p *parser) decodeCharset(charset string, text []byte) string {
	if charset == "" || strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "utf-8") {
		return valid(string(text))
	}
	r, err := charsetReader(charset, bytes.NewReader(text))
	if err != nil {
		p.trouble("%v", err)
		return valid(string(text))
	}
	decoded, err := io.ReadAll(r)
	if err != nil {
		p.trouble("text in %s: %v", charset, err)
	}
	return valid(string(decoded))
}

// fileName returns a safe file name for an attachment, made from the name that
// the message gives.
func fileName(name, kind string, number int) string {
	name = path.Base(strings.ReplaceAll(decodeWords(name), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // control characters, and characters that change the direction of text
			return -1
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if name != "" && name != "/" {
		return short(name, 100)
	}
	switch {
	case kind == "text/calendar":
		return fmt.Sprintf("calendar-%d.ics", number)
	case kind == "message/rfc822":
		return fmt.Sprintf("message-%d.eml", number)
	case kind == "text/html":
		return fmt.Sprintf("text-%d.html", number)
	case strings.HasPrefix(kind, "text/"):
		return fmt.Sprintf("text-%d.txt", number)
	default:
		return fmt.Sprintf("attachment-%d", number)
	}
}

// short cuts s to n bytes at the end of a character, and adds an ellipsis.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
