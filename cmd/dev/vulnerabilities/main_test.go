package main

import (
	"strings"
	"testing"
)

const (
	begin    = `{"config": {"go_version": "go1.26.8"}} {"osv": {"id": "GO-1", "summary": "It breaks"}}`
	standard = `{"finding": {"osv": "GO-1", "fixed_version": "v1.26.9", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "net/http", "function": "Get"}]}}`
	required = `{"finding": {"osv": "GO-1", "trace": [{"module": "example.org/a", "version": "v1.0.0"}]}}`
	imported = `{"finding": {"osv": "GO-1", "fixed_version": "v1.0.1", "trace": [{"module": "example.org/a", "version": "v1.0.0", "package": "example.org/a/b"}]}}`
	called   = `{"finding": {"osv": "GO-1", "fixed_version": "v1.0.1", "trace": [{"module": "example.org/a", "version": "v1.0.0", "package": "example.org/a/b", "function": "F"}]}}`
)

func TestOnlyWhatIsCompiledFromDependenciesFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input      string
		vulnerable bool
		says       string
	}{
		"nothing is found":       {begin, false, ""},
		"in the library of Go":   {begin + standard + standard, false, "GO-1 stdlib@v1.26.8, fixed in v1.26.9: It breaks"},
		"in a module beside it":  {begin + required, false, "GO-1 example.org/a@v1.0.0, fixed in no version: It breaks"},
		"in an imported package": {begin + required + imported, true, "GO-1 example.org/a@v1.0.0, fixed in v1.0.1: It breaks"},
		"in a called function":   {begin + standard + called, true, "GO-1 example.org/a@v1.0.0, fixed in v1.0.1: It breaks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			vulnerable, err := judge(strings.NewReader(test.input), &said)
			if err != nil || vulnerable != test.vulnerable {
				t.Errorf("vulnerable: %t, %v; want %t", vulnerable, err, test.vulnerable)
			}
			if strings.Count(said.String(), test.says) != 1 && test.says != "" || test.says == "" && said.Len() > 0 {
				t.Errorf("it says %q, want once %q", said.String(), test.says)
			}
		})
	}
}

func TestUnreadableFindingsAreAnError(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"", "{", "{}", begin + `{"finding": {"osv": "GO-1"}}`, begin + "govulncheck: no such file"} {
		if vulnerable, err := judge(strings.NewReader(input), &strings.Builder{}); err == nil {
			t.Errorf("%q: vulnerable %t", input, vulnerable)
		}
	}
}
