package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Load returns the settings of a process: the defaults, overridden by a YAML
// file (empty = none), overridden by the variables in environ. These are as
// os.Environ returns them; the last of several with the same name counts, and
// an empty one counts as unset. The error is an *Error with every fault, and
// the Config is then empty.
func Load(file string, environ []string) (Config, error) {
	cfg := Default()
	l := &loader{settings: settingsOf(&cfg)}
	if file != "" {
		l.readFile(file)
	}
	l.readEnviron(environ)
	l.validate(cfg)
	if len(l.faults) > 0 {
		return Config{}, &Error{Faults: l.faults}
	}

	cfg.API.PublicURL = strings.TrimRight(cfg.API.PublicURL, "/")
	if cfg.Postgres.LockURL == "" {
		cfg.Postgres.LockURL = cfg.Postgres.URL
	}
	return cfg, nil
}

// loader collects the faults of one Load.
type loader struct {
	settings []*setting
	faults   []Fault
}

// setting is one field of a Config on its way through Load.
type setting struct {
	key      string        // as in the file: "postgres.max_conns"
	variable string        // "LASTSEAT_POSTGRES_MAX_CONNS"
	bounds   string        // "4..500"; empty unless it is a number or a duration
	value    reflect.Value // the field
	source   string        // where its value comes from; the variable if it has its default
	faulty   bool          // its value has a fault already, so it is not validated further
}

// settingsOf returns the settings of cfg in the order of the struct.
func settingsOf(cfg *Config) []*setting {
	var all []*setting
	for sectionField, section := range reflect.ValueOf(cfg).Elem().Fields() {
		for field, value := range section.Fields() {
			key := sectionField.Tag.Get("yaml") + "." + field.Tag.Get("yaml")
			variable := prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
			all = append(all, &setting{
				key:      key,
				variable: variable,
				bounds:   field.Tag.Get("bounds"),
				value:    value,
				source:   variable,
			})
		}
	}
	return all
}

// setting returns the setting with this key, or nil if there is none.
func (l *loader) setting(key string) *setting {
	for _, s := range l.settings {
		if s.key == key {
			return s
		}
	}
	return nil
}

// assign sets a setting to the value found in source: one text, or any number
// of texts for a list.
func (l *loader) assign(s *setting, source string, texts ...string) {
	s.source, s.faulty = source, false
	if err := s.set(texts); err != nil {
		l.fault(s, "%v", err)
	}
}

// fault adds a fault of a setting, with the source of its value.
func (l *loader) fault(s *setting, format string, args ...any) {
	s.faulty = true
	l.faults = append(l.faults, Fault{Key: s.key, Source: s.source, Text: fmt.Sprintf(format, args...)})
}

func (s *setting) isList() bool   { return s.value.Kind() == reflect.Slice }
func (s *setting) isSecret() bool { return s.value.Type() == reflect.TypeFor[Secret]() }

// set parses texts into the field. File and environment both use it, so a text
// means the same in both.
func (s *setting) set(texts []string) error {
	switch {
	case s.isList():
		s.value.Set(reflect.ValueOf(append([]string(nil), texts...)))
	case s.value.CanInt():
		n, err := s.parse(texts[0])
		if err != nil {
			return err
		}
		s.value.SetInt(n)
	case s.value.Kind() == reflect.Bool:
		if texts[0] != "true" && texts[0] != "false" {
			return fmt.Errorf("must be true or false, not %.40q", texts[0])
		}
		s.value.SetBool(texts[0] == "true")
	default:
		s.value.SetString(texts[0])
	}
	return nil
}

// parse parses a number that fits the field, or a duration as nanoseconds.
func (s *setting) parse(text string) (int64, error) {
	if s.value.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("must be a duration with a unit, such as 500ms, 10s or 2m, not %.40q", text)
		}
		return int64(d), nil
	}
	n, err := strconv.ParseInt(text, 10, s.value.Type().Bits())
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("must be %s, not %.40s", s.bounds, text)
	case err != nil:
		return 0, fmt.Errorf("must be a whole number, not %.40q", text)
	}
	return n, nil
}

// checkBounds returns an error if the value is outside its bounds.
func (s *setting) checkBounds() error {
	low, high, _ := strings.Cut(s.bounds, "..")
	smallest, err := s.parse(low)
	if err != nil {
		return fmt.Errorf("reading the lower bound: %w", err)
	}
	largest, err := s.parse(high)
	if err != nil {
		return fmt.Errorf("reading the upper bound: %w", err)
	}
	if n := s.value.Int(); n < smallest || n > largest {
		return fmt.Errorf("must be %s, not %v", s.bounds, s.value)
	}
	return nil
}

// readBounded returns the content of a file of at most limit bytes. Its errors
// do not name the file, because a variable that should hold a path may hold a
// password by mistake.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}

func withoutPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
