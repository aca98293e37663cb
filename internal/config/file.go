package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const maxFileBytes = 1 << 20

// file is a configuration file being read. It walks the syntax tree itself,
// because the library's strict decoding stops at the first fault and quotes the
// lines around it, secrets included.
type file struct {
	*loader
	name  string
	lines map[string]int // key → the line that gave it first
}

// readFile overrides settings with those of a YAML file.
func (l *loader) readFile(name string) {
	f := &file{loader: l, name: name, lines: map[string]int{}}
	data, err := readBounded(name, maxFileBytes)
	if err != nil {
		f.report("", 0, "cannot be read: %v", err)
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // the parser takes a byte-order mark for part of a key
	// The parser allows duplicate keys; each reports them with the other
	// faults.
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		line, text := syntaxFault(err)
		f.report("", line, "is not valid YAML: %s", text)
		return
	}
	documents := 0
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if documents++; documents > 1 {
			f.report("", lineOf(doc.Body), "begins a second YAML document; only one is allowed")
			return
		}
		f.each("", doc.Body, f.section)
	}
}

// section reads one top-level key.
func (f *file) section(key string, line int, value ast.Node) {
	for _, s := range f.settings {
		if strings.HasPrefix(s.key, key+".") {
			f.each(key, value, f.value)
			return
		}
	}
	f.report(shown(key), line, "unknown section")
}

// value reads one key of a section.
func (f *file) value(key string, line int, value ast.Node) {
	s := f.setting(key)
	if s == nil {
		f.report(shown(key), line, "unknown key")
		return
	}
	s.source = f.at(line)
	if _, empty := value.(*ast.NullNode); empty {
		f.fault(s, "has no value; remove the line to get the default")
		return
	}
	if s.isList() {
		list, ok := value.(*ast.SequenceNode)
		if !ok {
			f.fault(s, "must be a list: [a, b]")
			return
		}
		texts := make([]string, len(list.Values))
		for i, element := range list.Values {
			if texts[i], ok = scalar(element); !ok {
				f.fault(s, "must be a list of plain values")
				return
			}
		}
		f.assign(s, s.source, texts...)
		return
	}
	text, ok := scalar(value)
	if !ok {
		f.fault(s, "must be one plain value")
		return
	}
	f.assign(s, s.source, text)
}

// each calls read with every full key of a mapping, and reports keys that are
// given twice. A null is an empty mapping: a section whose lines are all
// commented out.
func (f *file) each(section string, node ast.Node, read func(key string, line int, value ast.Node)) {
	if _, empty := node.(*ast.NullNode); empty {
		return
	}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		f.report(section, lineOf(node), "must hold keys and values")
		return
	}
	for entries := mapping.MapRange(); entries.Next(); {
		key, line := entries.Key().GetToken().Value, lineOf(entries.Key())
		if section != "" {
			key = section + "." + key
		}
		if first, twice := f.lines[key]; twice {
			f.report(shown(key), line, "is duplicated; line %d has it, too", first)
		} else {
			f.lines[key] = line
		}
		read(key, line, entries.Value())
	}
}

// report adds a fault in a line (0 = the whole file).
func (f *file) report(key string, line int, format string, args ...any) {
	f.faults = append(f.faults, Fault{Key: key, Source: f.at(line), Text: fmt.Sprintf(format, args...)})
}

func (f *file) at(line int) string {
	if line == 0 {
		return f.name
	}
	return fmt.Sprintf("line %d of %s", line, f.name)
}

// scalar returns the text of a plain value. It returns false for null, lists,
// mappings, tags, anchors and aliases.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// lineOf returns the line in which a node begins, or 0 if it is unknown.
func lineOf(node ast.Node) int {
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// syntaxFault returns the line and the text of a parser's error, without the
// text that it quotes from the file.
func syntaxFault(err error) (line int, text string) {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		return 0, "it cannot be parsed"
	}
	if t := syntax.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	text, _, _ = strings.Cut(syntax.GetMessage(), `"`)
	return line, strings.TrimRight(text, ": ")
}
