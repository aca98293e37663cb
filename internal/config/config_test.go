package config_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lastseat/lastseat/internal/config"
)

const (
	shippedFile = "../../configs/lastseat.yaml"
	someURL     = "postgres://seats:pw@db.example:5432/lastseat"
	giveURL     = "LASTSEAT_POSTGRES_URL=" + someURL
)

// field is one setting, found by reflection, so that a new one cannot be forgotten here.
type field struct {
	key, variable, bounds string
	value                 reflect.Value
}

func fieldsOf(c *config.Config) []field {
	var all []field
	for outer, section := range reflect.ValueOf(c).Elem().Fields() {
		for inner, value := range section.Fields() {
			key := outer.Tag.Get("yaml") + "." + inner.Tag.Get("yaml")
			variable := "LASTSEAT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
			all = append(all, field{key, variable, inner.Tag.Get("bounds"), value})
		}
	}
	return all
}

// withURL returns what Load returns when only the required URL is given.
func withURL() config.Config {
	c := config.Default()
	c.Postgres.URL, c.Postgres.LockURL = someURL, someURL
	return c
}

func readShipped(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(shippedFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestShippedFileEqualsTheDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.Load(shippedFile, []string{giveURL})
	if err != nil {
		t.Fatal(err)
	}
	if want := withURL(); !reflect.DeepEqual(got, want) {
		t.Errorf("the file differs from the defaults:\n got %+v\nwant %+v", got, want)
	}
}

// missingKeys returns the settings that a YAML text does not give.
func missingKeys(t *testing.T, text string) []string {
	t.Helper()
	var sections map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &sections); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, f := range fieldsOf(&config.Config{}) {
		section, key, _ := strings.Cut(f.key, ".")
		if _, ok := sections[section][key]; !ok {
			missing = append(missing, f.key)
		}
	}
	return missing
}

func TestShippedFileHasEveryKey(t *testing.T) {
	t.Parallel()
	text := readShipped(t)
	if missing := missingKeys(t, text); len(missing) > 0 {
		t.Errorf("the file lacks %v", missing)
	}
	for key, line := range shippedLines(t) {
		lines := strings.Split(text, "\n")
		without := strings.Join(slices.Delete(lines, line.number, line.number+1), "\n")
		if missing := missingKeys(t, without); !slices.Equal(missing, []string{key}) {
			t.Errorf("without the line of %s, the test above finds %v missing", key, missing)
		}
	}
}

type shippedLine struct {
	number  int    // from 0
	comment string // the comment above it
}

var keyLine = regexp.MustCompile(`^( *)([a-z_]+):`)

// shippedLines returns where each setting stands in the shipped file, and its comment.
func shippedLines(t *testing.T) map[string]shippedLine {
	t.Helper()
	lines := map[string]shippedLine{}
	var section, comment string
	for i, text := range strings.Split(readShipped(t), "\n") {
		if words, ok := strings.CutPrefix(strings.TrimSpace(text), "#"); ok {
			comment += words
			continue
		}
		if m := keyLine.FindStringSubmatch(text); m != nil && m[1] == "" {
			section = m[2]
		} else if m != nil {
			lines[section+"."+m[2]] = shippedLine{i, comment}
		}
		comment = ""
	}
	return lines
}

var boundsPattern = regexp.MustCompile(`\b(\d+[a-z]*)\.\.(\d+[a-z]*)\b`)

func TestEverySettingIsDocumentedInTheFile(t *testing.T) {
	t.Parallel()
	lines := shippedLines(t)
	for _, f := range fieldsOf(&config.Config{}) {
		comment := lines[f.key].comment
		if comment == "" {
			t.Errorf("%s has no comment", f.key)
		}
		if f.value.CanInt() == (f.bounds == "") {
			t.Errorf("%s: only numbers and durations have bounds; this has %q", f.key, f.bounds)
		}
		if stated := boundsPattern.FindString(comment); stated != f.bounds {
			t.Errorf("the comment of %s says %q, the bounds are %q", f.key, stated, f.bounds)
		}
	}
}

func TestEverySettingIsDocumentedInTheStruct(t *testing.T) {
	t.Parallel()
	source, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(source, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok || f.Tag == nil {
			return true
		}
		name, doc := f.Names[0].Name, f.Doc.Text()
		if !strings.HasPrefix(doc, name+" ") {
			t.Errorf("the comment of %s does not begin with its name: %q", name, doc)
		}
		bounds := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("bounds")
		if stated := boundsPattern.FindString(doc); stated != bounds {
			t.Errorf("the comment of %s says %q, the bounds are %q", name, stated, bounds)
		}
		return true
	})
}

func TestBoundsIncludeBothEndsAndNothingBeyond(t *testing.T) {
	t.Parallel()
	for _, f := range fieldsOf(&config.Config{}) {
		if f.bounds == "" {
			continue
		}
		t.Run(f.key, func(t *testing.T) {
			t.Parallel()
			low, high, _ := strings.Cut(f.bounds, "..")
			below, above := beyond(t, f, low, -1), beyond(t, f, high, +1)
			// These values keep the rules between two settings satisfied.
			environ := []string{giveURL, "LASTSEAT_POSTGRES_STATEMENT_TIMEOUT=5m", "LASTSEAT_POSTGRES_LOCK_TIMEOUT=100ms", "LASTSEAT_INTAKE_COMMIT_TIMEOUT=1m",
				"LASTSEAT_WORKER_SWEEP_INTERVAL=100ms", "LASTSEAT_WORKER_SWEEP_ALL_INTERVAL=10m",
				"LASTSEAT_MAIL_RETRY_MIN=100ms", "LASTSEAT_MAIL_RETRY_MAX=1h"}
			for text, good := range map[string]bool{below: false, low: true, high: true, above: false} {
				_, err := config.Load("", append(slices.Clone(environ), f.variable+"="+text))
				refusal := f.key + " (" + f.variable + "): must be " + f.bounds + ", not "
				switch {
				case good && err != nil:
					t.Errorf("%s is refused: %v", text, err)
				case !good && (err == nil || !strings.Contains(err.Error(), refusal)):
					t.Errorf("%s: the error lacks %q: %v", text, refusal, err)
				}
			}
		})
	}
}

// beyond returns the bound moved by the smallest step.
func beyond(t *testing.T, f field, bound string, step int64) string {
	t.Helper()
	if _, ok := f.value.Interface().(time.Duration); ok {
		d, err := time.ParseDuration(bound)
		if err != nil {
			t.Fatal(err)
		}
		return (d + time.Duration(step)).String()
	}
	var n int64
	if _, err := fmt.Sscan(bound, &n); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(n + step)
}
