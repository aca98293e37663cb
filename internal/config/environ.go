package config

import (
	"maps"
	"slices"
	"strings"
)

const (
	prefix         = "LASTSEAT_"
	fileSuffix     = "_FILE"
	maxSecretBytes = 64 << 10
)

// readEnviron overrides settings with environment variables. It reports
// variables that begin like ours but are unknown.
func (l *loader) readEnviron(environ []string) {
	ours := map[string]string{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, prefix) {
			ours[name] = value
		}
	}
	for _, s := range l.settings {
		value := ours[s.variable]
		delete(ours, s.variable)
		var path string
		if s.isSecret() {
			path = ours[s.variable+fileSuffix]
			delete(ours, s.variable+fileSuffix)
		}
		switch {
		case value != "" && path != "":
			s.source = s.variable
			l.fault(s, "is set although %s is set, too; set only one of them", s.variable+fileSuffix)
		case path != "":
			l.readSecret(s, path)
		case value != "" && s.isList():
			l.assign(s, s.variable, splitList(value)...)
		case value != "":
			l.assign(s, s.variable, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if !foreign(name) {
			l.faults = append(l.faults, Fault{Source: shown(name), Text: "unknown variable"})
		}
	}
}

// readSecret overrides a setting with the content of the file that its …_FILE
// variable names.
func (l *loader) readSecret(s *setting, path string) {
	s.source = s.variable + fileSuffix
	data, err := readBounded(path, maxSecretBytes)
	if err != nil {
		l.fault(s, "names a file that cannot be read: %v", err)
		return
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		l.fault(s, "names a file that is empty")
		return
	}
	l.assign(s, s.source, text)
}

// foreign tells whether a LASTSEAT_ variable is none of this package's
// business: LASTSEAT_CONFIG, and the variables of the development stack and of
// the tests.
func foreign(name string) bool {
	return name == prefix+"CONFIG" || strings.HasPrefix(name, prefix+"DEV_") || strings.HasPrefix(name, prefix+"TEST_")
}

// splitList splits at commas, ignoring the space around them.
func splitList(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// FileFrom returns the configuration file that LASTSEAT_CONFIG names, or "".
func FileFrom(environ []string) string {
	file := ""
	for _, each := range environ {
		if value, is := strings.CutPrefix(each, "LASTSEAT_CONFIG="); is {
			file = value
		}
	}
	return file
}
