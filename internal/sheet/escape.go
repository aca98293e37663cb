package sheet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// separators are the characters after which a spreadsheet may begin another
// cell, whatever the file's separator is.
const separators = ",;\t\r\n"

// Escape returns a typed text as a cell that every spreadsheet takes for text:
// not for a formula, a number, a date or a truth value, even if the spreadsheet
// splits the cell. Unescape returns the text again.
//
// Spreadsheets decide by the beginning of a cell. So Escape puts an apostrophe
// before every beginning that is not a letter: at the start of the text and
// after each separator. A list of characters that begin formulas would not do,
// because Unicode has look-alikes such as the full-width equals sign.
func Escape(text string) string {
	var b strings.Builder
	for part := range parts(text) {
		if !plain(part) {
			b.WriteByte('\'')
		}
		b.WriteString(part)
	}
	return b.String()
}

// Unescape returns the text of a cell that Escape made. Any other cell loses an
// apostrophe at its start and after each separator.
func Unescape(cell string) string {
	var b strings.Builder
	for part := range parts(cell) {
		b.WriteString(strings.TrimPrefix(part, "'"))
	}
	return b.String()
}

// parts yields the text in pieces, each with the separator that ends it.
func parts(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			end := strings.IndexAny(text, separators) + 1
			if end == 0 {
				end = len(text)
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// plain tells whether a spreadsheet takes the part for text. It does if a
// letter comes first, unless the part can be a date (Jan 2027) or a truth
// value. Addresses are text even if a digit comes first (123@example.org).
func plain(part string) bool {
	part = strings.Trim(part, separators+" ")
	first, _ := utf8.DecodeRuneInString(part)
	switch {
	case part == "":
		return true
	case !unicode.IsLetter(first) && !unicode.IsNumber(first):
		return false
	case strings.ContainsFunc(part, unicode.IsNumber):
		return strings.Contains(part, "@")
	}
	return !truthValues[strings.ToLower(part)]
}

// truthValues are the truth values of English and German spreadsheets.
var truthValues = map[string]bool{"true": true, "false": true, "wahr": true, "falsch": true}
