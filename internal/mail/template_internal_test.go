package mail

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lastseat/lastseat/internal/enroll"
)

const complete = `{{define "en.subject"}}a{{end}}{{define "en.body"}}b{{end}}{{define "de.subject"}}c{{end}}{{define "de.body"}}d{{end}}`

func TestParseKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // in the error; empty = none
	}{
		{"takes what is complete", map[string]string{"full.tmpl": complete}, ""},
		{"takes a calendar", map[string]string{"full.tmpl": complete + `{{define "calendar"}}CANCEL{{end}}`}, ""},
		{"leaves layouts alone", map[string]string{"full.tmpl": complete, "layout.txt": "{{"}, ""},
		{"misses a file", nil, "full.tmpl"},
		{"misses a language", map[string]string{"full.tmpl": strings.ReplaceAll(complete, "de.", "fr.")}, "de.subject"},
		{"misses a body", map[string]string{"full.tmpl": strings.ReplaceAll(complete, "de.body", "de.text")}, "de.body"},
		{"misses a word", map[string]string{"full.tmpl": strings.ReplaceAll(complete, "}}d{{", "}} {{")}, `"de"`},
		{"refuses a kind nobody knows", map[string]string{"full.tmpl": complete, "fool.tmpl": complete}, "fool.tmpl"},
		{"refuses a fact nobody knows", map[string]string{"full.tmpl": strings.ReplaceAll(complete, "}}a{{", "}}{{.Price}}{{")}, "Price"},
		{"refuses a method nobody knows", map[string]string{"full.tmpl": complete + `{{define "calendar"}}REQUEST{{end}}`}, "CANCEL"},
		{"refuses what does not parse", map[string]string{"full.tmpl": "{{"}, "full.tmpl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for name, text := range test.files {
				files["templates/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
			kinds, err := parseKinds(files, []enroll.MailKind{enroll.MailFull})
			if test.want == "" {
				if err != nil || len(kinds) != 1 {
					t.Errorf("got %v and %v", kinds, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error about %s", err, test.want)
			}
		})
	}
}

func TestWordsAreThereInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, language := range enroll.Languages {
		for field, value := range reflect.ValueOf(words[language]).Fields() {
			all := []reflect.Value{value}
			if value.Kind() == reflect.Array {
				all = nil
				for i := range value.Len() {
					all = append(all, value.Index(i))
				}
			}
			for i, word := range all {
				if word.String() == "" && field.Name != "clock" { // not every language says one
					t.Errorf("%s lacks word %d of %s", language, i, field.Name)
				}
			}
		}
	}
}
