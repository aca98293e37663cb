// Command vulnerabilities reads what `govulncheck -format json` writes, and says
// what has to be done. It fails if a package that is imported from a dependency
// is vulnerable. The standard library is the machine's, and of a module that is
// only required nothing is compiled, so their findings are only listed.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

func main() {
	vulnerable, err := judge(os.Stdin, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "reading the findings of govulncheck:", err)
		os.Exit(1)
	case vulnerable:
		os.Exit(3)
	}
}

// message is one of the objects that govulncheck writes, as far as it is needed.
type message struct {
	Config *struct {
		GoVersion string `json:"go_version"`
	} `json:"config"`
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV          string `json:"osv"`
		FixedVersion string `json:"fixed_version"`
		Trace        []struct {
			Module  string `json:"module"`
			Version string `json:"version"`
			Package string `json:"package"`
		} `json:"trace"`
	} `json:"finding"`
}

// judge writes each vulnerability once, and reports whether one of them is in a
// package of a dependency.
func judge(from io.Reader, to io.Writer) (vulnerable bool, err error) {
	goVersion := ""
	summaries := map[string]string{}
	lists := map[string][]string{} // by what has to be done
	for decoder := json.NewDecoder(from); ; {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false, err
		}
		if m.Config != nil {
			goVersion = m.Config.GoVersion
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if m.Finding == nil {
			continue
		}
		f := m.Finding
		if len(f.Trace) == 0 {
			return false, fmt.Errorf("%s has no trace", f.OSV)
		}
		at, list := f.Trace[0], "update"
		switch {
		case at.Module == "stdlib":
			list = "go"
		case at.Package == "":
			list = "unused"
		}
		line := fmt.Sprintf("  %s %s@%s, fixed in %s: %s\n", f.OSV, at.Module, at.Version, cmp.Or(f.FixedVersion, "no version"), summaries[f.OSV])
		if !slices.Contains(lists[list], line) {
			lists[list] = append(lists[list], line)
		}
	}
	if goVersion == "" {
		return false, errors.New("there is no configuration among them")
	}
	for _, part := range []struct{ list, title string }{
		{"go", goVersion + " has these vulnerabilities; a newer Go has fixes:"},
		{"unused", "No vulnerable package of these modules is compiled:"},
		{"update", "Update these, or stop using them:"},
	} {
		if len(lists[part.list]) > 0 {
			fmt.Fprintln(to, part.title)
		}
		for _, line := range lists[part.list] {
			fmt.Fprint(to, line)
		}
	}
	return len(lists["update"]) > 0, nil
}
