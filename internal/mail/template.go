package mail

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

//go:embed templates
var files embed.FS

// The layouts that all kinds share.
var (
	plainLayout = template.Must(template.ParseFS(files, "templates/layout.txt"))
	htmlLayout  = htmltemplate.Must(htmltemplate.ParseFS(files, "templates/layout.html"))
)

// kind is the template file of a kind of mail. For each language it defines a
// subject of one line and a body with a paragraph on each line, such as
// "en.subject" and "en.body". If the mail carries a calendar entry, it also
// defines the entry's method as "calendar".
type kind struct {
	texts    *template.Template
	calendar calendar.Method // empty = no entry
}

// parseKinds parses the template files of the kinds. Each must exist and be
// complete, and there must be no others.
func parseKinds(files fs.FS, all []enroll.MailKind) (map[enroll.MailKind]kind, error) {
	names, err := fs.Glob(files, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("listing the templates: %w", err)
	}
	for _, name := range names {
		if !slices.Contains(all, enroll.MailKind(strings.TrimSuffix(path.Base(name), ".tmpl"))) {
			return nil, fmt.Errorf("%s: no such kind of mail exists", name)
		}
	}
	kinds := make(map[enroll.MailKind]kind, len(all))
	for _, k := range all {
		if kinds[k], err = parseKind(files, "templates/"+string(k)+".tmpl"); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

func parseKind(files fs.FS, name string) (kind, error) {
	texts, err := template.ParseFS(files, name)
	if err != nil {
		return kind{}, fmt.Errorf("parsing a template: %w", err)
	}
	k := kind{texts: texts}
	for _, language := range enroll.Languages {
		if subject, body, err := k.write(language, about{Title: "x"}); err != nil {
			return kind{}, fmt.Errorf("%s: %w", name, err)
		} else if subject == "" || strings.TrimSpace(body) == "" {
			return kind{}, fmt.Errorf("%s: subject or body is empty in language %q", name, language)
		}
	}
	if texts.Lookup("calendar") == nil {
		return k, nil
	}
	method, err := execute(texts, "calendar", nil)
	if k.calendar = calendar.Method(method); err != nil || k.calendar != calendar.Publish && k.calendar != calendar.Cancel {
		return kind{}, fmt.Errorf("%s: the calendar entry must be %s or %s", name, calendar.Publish, calendar.Cancel)
	}
	return k, nil
}

// entry returns the method of the calendar entry that the mail carries for the
// registration, or "" if it carries none.
func (k kind) entry(m enroll.Mail, e enroll.Enrolment) calendar.Method {
	seated := e.Status == enroll.Confirmed
	switch {
	case m.Kind == enroll.MailSummary && seated && (e.LastTold.Status != enroll.Confirmed || e.Moved()):
		return calendar.Publish
	case m.Kind == enroll.MailSummary && !seated && e.LastTold.Entry:
		return calendar.Cancel
	case k.calendar == calendar.Publish && !seated:
		return ""
	case k.calendar == calendar.Cancel && !e.LastTold.Seat: // no mail can have put an entry into a calendar
		return ""
	}
	return k.calendar
}

// write returns subject and body in the language.
func (k kind) write(l enroll.Language, a about) (subject, body string, err error) {
	if subject, err = execute(k.texts, string(l)+".subject", a); err != nil {
		return "", "", err
	}
	body, err = execute(k.texts, string(l)+".body", a)
	return subject, body, err
}

func execute(t *template.Template, name string, data any) (string, error) {
	var out strings.Builder
	if err := t.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("executing a template: %w", err)
	}
	return out.String(), nil
}

// render returns the text part and the HTML part of the mail.
func (l letter) render() (plain, html string, err error) {
	var out [2]bytes.Buffer
	if err := plainLayout.Execute(&out[0], l); err != nil {
		return "", "", fmt.Errorf("laying out the text: %w", err)
	}
	if err := htmlLayout.Execute(&out[1], l); err != nil {
		return "", "", fmt.Errorf("laying out the HTML: %w", err)
	}
	return out[0].String(), out[1].String(), nil
}
