package mailsink

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/testwait"
)

func TestParse(t *testing.T) {
	t.Parallel()
	deep := ""
	for i := range 30 {
		deep += fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	for name, c := range map[string]struct {
		raw  string
		want Content // Header, Sender and Date are not compared
	}{
		"nothing":                        {"", Content{}},
		"only a line":                    {"hello\n", Content{Text: "hello\r\n"}},
		"only headers":                   {"Subject: x\n", Content{Subject: "x"}},
		"no subject":                     {"From: a\n\nhello", Content{Text: "hello"}},
		"a folded subject":               {"Subject: one\n two\n\tthree\n\n", Content{Subject: "one two\tthree"}},
		"a header without a colon":       {"Subject: x\nwhat is this\n\nbody", Content{Subject: "x", Text: "what is this\r\n\r\nbody"}},
		"the first of two subjects":      {"Subject: a\nsubject: b\n\n", Content{Subject: "a"}},
		"a subject in Latin 1":           {"Subject: =?iso-8859-1?q?Gr=FC=DFe?=\n\n", Content{Subject: "Grüße"}},
		"a subject in an unknown set":    {"Subject: =?klingon?q?x?=\n\n", Content{Subject: "=?klingon?q?x?="}},
		"a subject that is not UTF-8":    {"Subject: a\xffb\n\n", Content{Subject: "a\ufffdb"}},
		"text in Latin 1":                {"Content-Type: text/plain; charset=ISO-8859-1\n\nGr\xfc\xdfe", Content{Text: "Grüße"}},
		"text that is not UTF-8":         {"\nGr\xfcn", Content{Text: "Gr\ufffdn"}},
		"text in an unknown charset":     {"Content-Type: text/plain; charset=klingon\n\nx", Content{Text: "x", Troubles: []string{`the charset "klingon" is unknown`}}},
		"quoted-printable":               {"Content-Transfer-Encoding: Quoted-Printable\n\na=3Db=\nc", Content{Text: "a=bc"}},
		"base64":                         {"Content-Transfer-Encoding: base64\n\naGVs\nbG8=\n", Content{Text: "hello"}},
		"base64 that breaks off":         {"Content-Transfer-Encoding: base64\n\naGVsbG8!", Content{Text: "hel", Troubles: []string{"a part of type text/plain: illegal base64 data at input byte 7"}}},
		"only HTML":                      {"Content-Type: text/html\n\n<p>x", Content{HTML: "<p>x"}},
		"a type that is none":            {"Content-Type: ;;;\n\nx", Content{Text: "x", Troubles: []string{`the content type ";;;": mime: no media type`}}},
		"only an attachment":             {"Content-Type: image/png\n\nx", Content{Attachments: []Attachment{{"attachment-1", "image/png", []byte("x")}}}},
		"text to be saved":               {"Content-Disposition: attachment\n\nx", Content{Attachments: []Attachment{{"text-1.txt", "text/plain", []byte("x")}}}},
		"a calendar without a name":      {"Content-Type: text/calendar\n\nx", Content{Attachments: []Attachment{{"calendar-1.ics", "text/calendar", []byte("x")}}}},
		"a message in a message":         {"Content-Type: message/rfc822\n\nSubject: inner\n", Content{Attachments: []Attachment{{"message-1.eml", "message/rfc822", []byte("Subject: inner\r\n")}}}},
		"a name beyond ASCII (RFC 2231)": {"Content-Disposition: attachment; filename*=utf-8''Gr%C3%BCn.txt\n\nx", Content{Attachments: []Attachment{{"Grün.txt", "text/plain", []byte("x")}}}},
		"a second text": {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo\n--b--\n",
			Content{Text: "one", Attachments: []Attachment{{"text-1.txt", "text/plain", []byte("two")}}}},
		"a multipart without a boundary": {"Content-Type: multipart/mixed\n\nx", Content{Text: "x", Troubles: []string{"multipart/mixed without a boundary"}}},
		"a boundary that never comes": {"Content-Type: multipart/mixed; boundary=b\n\nx", Content{Text: "x",
			Troubles: []string{"multipart/mixed ends before its last boundary"}}},
		"a multipart that breaks off": {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhalf a mess", Content{Text: "half a mess",
			Troubles: []string{"a part of type text/plain: unexpected EOF", "multipart/mixed ends before its last boundary"}}},
		"multiparts without end": {deep, Content{Text: strings.SplitN(string(crlf(deep)), "\r\n\r\n", 2)[1],
			Troubles: []string{"more than 10 nested multiparts", "multipart/mixed ends before its last boundary"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(crlf(c.raw))
			got.Header, got.Sender, got.Date = nil, "", time.Time{}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+q\nwant %+q", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", c.want))
			}
		})
	}
}

func TestParseKeepsTheHeaderInOrder(t *testing.T) {
	t.Parallel()
	got := parse([]byte("B: 2\r\nA: =?utf-8?q?=C3=A9ins?=\r\nDate: Mon, 03 Feb 2031 10:11:12 +0100\r\nb: again\r\n\r\n"))
	want := []Header{{"B", "2"}, {"A", "éins"}, {"Date", "Mon, 03 Feb 2031 10:11:12 +0100"}, {"b", "again"}}
	if !reflect.DeepEqual(got.Header, want) {
		t.Errorf("got %q", got.Header)
	}
	if !got.Date.Equal(time.Date(2031, 2, 3, 9, 11, 12, 0, time.UTC)) {
		t.Errorf("the date is %s", got.Date)
	}
	if got.Value("b") != "2" || got.Value("none") != "" {
		t.Errorf("b is %q", got.Value("b"))
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	const size = maxMessageBytes
	for name, raw := range map[string]string{
		"a huge header":            "Subject: " + strings.Repeat("x", size),
		"a huge folded header":     "Subject: x" + strings.Repeat("\n x", size/3),
		"many folded headers":      strings.Repeat("X: x"+strings.Repeat("\n x", 1<<15)+"\n", size/(3<<15)),
		"many headers":             strings.Repeat("a:b\n", size/4),
		"many words":               "Subject: " + strings.Repeat("=?utf-8?q?x?= ", size/14),
		"half words":               "Subject: " + strings.Repeat("=?", size/2),
		"many parts":               "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", size/8),
		"empty parts":              "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\n", size/5),
		"empty multiparts":         "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: multipart/mixed; boundary=c\n\n", size/50),
		"parts without a body":     "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n", size/4),
		"multiparts without end":   strings.Repeat("Content-Type: multipart/mixed; boundary=b\n\n--b\n", size/50),
		"many parameters":          "Content-Type: text/plain" + strings.Repeat("; a=b", size/5),
		"many numbered parameters": "Content-Type: text/plain" + strings.Repeat("; a*0=b", size/7),
		"dashes":                   "Content-Type: multipart/mixed; boundary=\"-\"\n\n" + strings.Repeat("-", size),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := time.Now()
			got := parse([]byte(raw))
			if took := time.Since(before); took > testwait.Limit {
				t.Errorf("it took %s", took)
			}
			if n := got.size(); n > 4*size {
				t.Errorf("%d bytes became %d", len(raw), n)
			}
			if len(got.Header) > maxHeaders || len(got.Attachments) > maxParts || len(got.Subject) > maxValue+len("…") {
				t.Errorf("%d headers, %d attachments, a subject of %d bytes", len(got.Header), len(got.Attachments), len(got.Subject))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"",
		"Subject: =?iso-8859-1?b?R3L832U=?=\n\nx",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-16\n\n<p>\n--b\nContent-Type: text/calendar; name=x.ics\nContent-Transfer-Encoding: base64\n\nQQ==\n--b--\n",
		"Content-Type: multipart/alternative; boundary=\"a b\"\n\n--a b\nContent-Transfer-Encoding: quoted-printable\n\n=C3=\n=BC\n--a b--",
		"Content-Disposition: attachment; filename*0=\"../a\"; filename*1=\"b\\\\c\"\n\nx",
		"Date: Mon, 03 Feb 2031 10:11:12 +0100 (x\nFrom: \"a\" <b>\n c\n\n",
	} {
		f.Add(crlf(seed))
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := parse(raw)
		texts := append([]string{c.Subject, c.Sender, c.Text, c.HTML}, c.Troubles...)
		for _, h := range c.Header {
			texts = append(texts, h.Name, h.Value)
		}
		for _, a := range c.Attachments {
			texts = append(texts, a.Name, a.Type)
			if a.Name == "" || strings.ContainsAny(a.Name, "/\\\r\n\x00") || strings.HasPrefix(a.Name, ".") {
				t.Errorf("a file called %q", a.Name)
			}
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				t.Errorf("not UTF-8: %q", s)
			}
		}
		if len(c.Text)+len(c.HTML) == 0 && len(c.Attachments) == 0 {
			if _, body := splitHeader(string(raw)); body != "" {
				t.Errorf("the body is not shown: %q", body)
			}
		}
		if len(c.Header) > maxHeaders || len(c.Attachments) > maxParts || len(c.Troubles) > 10 {
			t.Errorf("%d headers, %d attachments, %d troubles", len(c.Header), len(c.Attachments), len(c.Troubles))
		}
	})
}

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
