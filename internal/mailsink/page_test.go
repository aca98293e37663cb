package mailsink_test

import (
	"mime"
	"net/http"
	"strings"
	"testing"
)

// letter is a message with everything that Lastseat sends.
const letter = `From: Lastseat <courses@example.com>
To: Ada <ada@example.org>
Subject: You have a seat
Date: Mon, 03 Feb 2031 10:11:12 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Gr=C3=BC=C3=9Fe, see http://localhost:8080/r/1?a=3Db&c.
--inner
Content-Type: text/html; charset=utf-8

<!DOCTYPE html><html><body><h1>Hello</h1><script>alert(1)</script></body></html>
--inner--
--outer
Content-Type: text/calendar; charset=utf-8; method=PUBLISH
Content-Disposition: attachment; filename="course.ics"
Content-Transfer-Encoding: base64

QkVHSU46VkNBTEVOREFSDQpFTkQ6VkNBTEVOREFSDQo=
--outer--
`

// hostile is text that must not appear unescaped on a page.
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>`

func TestTheEmptyListSaysWhatThisIs(t *testing.T) {
	t.Parallel()
	s := start(t)
	page := s.get("/")
	for _, want := range []string{"No mail yet", "nothing leaves this machine", `<section id="empty" class="empty">`} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	s.receive(letter)
	if !strings.Contains(s.get("/"), `class="empty" hidden`) {
		t.Error("the page says that there is no message")
	}
}

func TestTheListShowsTheNewestFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("Subject: older\n\n")
	s.receive(letter)
	page := s.get("/")
	if newer, older := strings.Index(page, "You have a seat"), strings.Index(page, "older"); newer < 0 || older < newer {
		t.Errorf("at %d and %d", newer, older)
	}
	for _, want := range []string{">Lastseat<", "ada@example.org", "with attachments", `dir="auto"`, "2 messages"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if strings.Count(page, "with attachments") != 1 {
		t.Error("the message without attachments has a paperclip")
	}
}

func TestAMessageIsShownInEveryView(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("Subject: before\n\n")
	s.receive(letter)
	s.receive("Subject: after\n\n")
	for path, wants := range map[string][]string{
		"/messages/2": {
			"<h1 dir=\"auto\">You have a seat</h1>", "Lastseat &lt;courses@example.com&gt;", "Mon, 03 Feb 2031 10:11:12 &#43;0100",
			`sandbox="allow-popups allow-popups-to-escape-sandbox" src="/messages/2/html"`,
			`href="/messages/1"`, `href="/messages/3"`, `href="/messages/2/raw"`, `href="/messages/2/attachments/1"`, "course.ics", "BEGIN:VCALENDAR",
		},
		"/messages/2?view=text":     {"Grüße", `<a href="http://localhost:8080/r/1?a=b&amp;c" target="_blank" rel="noopener noreferrer">http://localhost:8080/r/1?a=b&amp;c</a>.`},
		"/messages/2?view=headers":  {`<th scope="row">Content-Type</th>`, "multipart/mixed; boundary=outer"},
		"/messages/1":               {"before", "<span>Older</span>", `aria-current="page">Text`},
		"/messages/1?view=html":     {"no HTML part"},
		"/messages/3?view=nonsense": {"after", "<span>Newer</span>"},
	} {
		page := s.get(path)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
		if strings.Contains(page, "<h1>Hello</h1>") || strings.Contains(page, "alert(1)") {
			t.Errorf("%s has the message's HTML in it", path)
		}
	}
}

func TestAMessagesHTMLIsServedInABox(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive(letter)
	answer, body := s.do(http.MethodGet, "/messages/1/html")
	if !strings.HasPrefix(body, `<!DOCTYPE html><base target="_blank"><html>`) {
		t.Errorf("it begins: %.60q", body)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("it is %s", kind)
	}
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"sandbox ", "default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"} {
		if !strings.Contains(policy, want) {
			t.Errorf("its policy lacks %q: %s", want, policy)
		}
	}
	for _, never := range []string{"script", "allow-same-origin", "allow-forms", "allow-top-navigation"} {
		if strings.Contains(policy, never) {
			t.Errorf("its policy has %q: %s", never, policy)
		}
	}
}

func TestSourceAndAttachmentsCannotBePages(t *testing.T) {
	t.Parallel()
	s := start(t)
	m := s.receive(letter)
	answer, body := s.do(http.MethodGet, "/messages/1/raw")
	if body != string(m.Raw) || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the source is %s: %.50q", answer.Header.Get("Content-Type"), body)
	}
	answer, body = s.do(http.MethodGet, "/messages/1/attachments/1")
	if body != "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n" || answer.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("the attachment is %s: %q", answer.Header.Get("Content-Type"), body)
	}
	if d := answer.Header.Get("Content-Disposition"); d != "attachment; filename=course.ics" {
		t.Errorf("it is to be saved as %s", d)
	}
}

func TestAttachmentNamesAreSafe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`../../etc/passwd`:                 "passwd",
		`C:\\Windows\\evil.exe`:            "evil.exe",
		`.bashrc`:                          "bashrc",
		`..`:                               "attachment-1",
		`a\"b; c.txt`:                      `a"b; c.txt`,
		`=?utf-8?q?Gr=C3=BC=C3=9Fe.pdf?=`:  "Grüße.pdf",
		`=?utf-8?q?a=0D=0AX-Evil:_1.txt?=`: "aX-Evil: 1.txt",
		`=?utf-8?q?a=E2=80=AEtxt.exe?=`:    "atxt.exe",
		`<script>alert(1)</script>.txt`:    "script>.txt",
		strings.Repeat("x", 500):           strings.Repeat("x", 100) + "…",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			m := s.receive("Content-Type: application/pdf\nContent-Disposition: attachment;\n filename=\"" + name + "\"\n\nx")
			if len(m.Attachments) != 1 || m.Attachments[0].Name != want {
				t.Fatalf("kept as %+v", m.Attachments)
			}
			answer, _ := s.do(http.MethodGet, "/messages/1/attachments/1")
			_, params, err := mime.ParseMediaType(answer.Header.Get("Content-Disposition"))
			if err != nil || params["filename"] != want {
				t.Errorf("sent as %q: %v", answer.Header.Get("Content-Disposition"), err)
			}
		})
	}
}

func TestNothingInAMessageBecomesPartOfThePage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive("From: " + hostile + "\nTo: " + hostile + "\nCc: " + hostile + "\nReply-To: " + hostile + "\nDate: " + hostile + "\nSubject: " + hostile +
		"\nX-" + "<script>: " + hostile + "\nContent-Type: multipart/mixed; boundary=b\n\n" +
		"--b\n\n" + hostile + "\njavascript:alert(1) http://x/\"onmouseover=alert(1)\n" +
		"--b\nContent-Type: text/html\n\n" + hostile + "\n" +
		"--b\nContent-Type: text/calendar; x=\"<script>\n; name=\"" + strings.ReplaceAll(hostile, `"`, `\"`) + "\"\n\n" + hostile + "\n" +
		"--b\nContent-Type: text/x; name=\"" + strings.ReplaceAll(hostile, `"`, `\"`) + "\"\nContent-Transfer-Encoding: base64\n\n<script>\n--b--\n")
	for _, path := range []string{"/", "/messages/1", "/messages/1?view=text", "/messages/1?view=headers", "/messages/1?view=%22%3E%3Cscript%3E"} {
		page := s.get(path)
		for _, never := range []string{"<img", "<script>", `href="javascript:`, `" onmouseover`, `"onmouseover`} {
			if strings.Contains(page, never) {
				t.Errorf("%s has %s in it", path, never)
			}
		}
	}
}

func TestUnknownPagesAre404(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive(letter)
	s.Clear()
	s.receive(letter)
	for _, path := range []string{ // the last but one is redirected to its real path
		"/messages/1", "/messages/3", "/messages/0", "/messages/-1", "/messages/x", "/messages/99999999999999999999", "/messages/1/html", "/messages/1/raw",
		"/messages/2/attachments/0", "/messages/2/attachments/2", "/messages/2/attachments/x", "/api/messages/1", "/static/none", "/static/../page.go", "/x",
	} {
		if answer, _ := s.do(http.MethodGet, path); answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusTemporaryRedirect {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

func TestTheClearButtonClears(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive(letter)
	if !strings.Contains(s.get("/"), `<form method="post" action="/clear" id="clear">`) {
		t.Error("there is no button")
	}
	answer, _ := s.do(http.MethodPost, "/clear", "Sec-Fetch-Site", "same-origin")
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/" || len(s.Messages()) != 0 {
		t.Errorf("%s, and %d messages are left", answer.Status, len(s.Messages()))
	}
}
