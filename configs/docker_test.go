package configs_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// dockerfile is what the tests need to know of the Dockerfile.
type dockerfile struct {
	copied   []string // sources in the repository
	built    []string // packages: ./cmd/api
	programs []string // what of the build is in the final image: /api
	tags     string   // of the build
	user     string   // of the final image
}

func readDockerfile(t *testing.T) (d dockerfile) {
	t.Helper()
	data, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch args := words[1:]; {
		case words[0] == "FROM":
			d.user = ""
		case words[0] == "USER":
			d.user = args[0]
		case words[0] == "COPY" && !strings.HasPrefix(args[0], "--"):
			d.copied = append(d.copied, args[:len(args)-1]...)
		case words[0] == "COPY" && args[len(args)-1] == "/":
			for _, from := range args[1 : len(args)-1] {
				d.programs = append(d.programs, "/"+path.Base(from))
			}
		case words[0] == "RUN" && slices.Contains(args, "build"):
			for _, arg := range args {
				if tags, is := strings.CutPrefix(arg, "-tags="); is {
					d.tags = tags
				}
				if strings.HasPrefix(arg, "./") {
					d.built = append(d.built, arg)
				}
			}
		}
	}
	return d
}

func TestDockerfileBuildsWhatComposeRuns(t *testing.T) {
	t.Parallel()
	d, p := readDockerfile(t), project(t, nil)
	for _, name := range ours {
		s := service(t, p, name)
		if s.Image != service(t, p, "migrate").Image {
			t.Errorf("%s is not the image that is built here", name)
		}
		// Builds of one tag race. "never" keeps compose from looking for the image in a registry.
		if builds := name == "migrate"; builds != (s.Build != nil) || builds == (s.PullPolicy == types.PullPolicyNever) {
			t.Errorf("%s: build %v, pull policy %q", name, s.Build, s.PullPolicy)
		}
		program := s.Command[0]
		if !slices.Contains(d.programs, program) || !slices.Contains(d.built, "./cmd"+program) {
			t.Errorf("%s runs %s; the image has %q, built from %q", name, program, d.programs, d.built)
		}
	}
	if d.tags != "" { // crash points, for one, must not be deployed
		t.Errorf("it is built with the tags %q", d.tags)
	}
	if d.user == "" || strings.HasPrefix(d.user, "0") || strings.HasPrefix(d.user, "root") {
		t.Errorf("the image runs as %q", d.user)
	}
}

// Every package that the programs need, and every file embedded there, must be
// among what is copied and not among what .dockerignore keeps out.
func TestDockerfileCopiesEverythingThatIsCompiled(t *testing.T) {
	t.Parallel()
	d := readDockerfile(t)
	if len(d.built) == 0 {
		t.Fatal("it builds nothing")
	}
	for _, source := range d.copied {
		if _, err := os.Stat(filepath.Join("..", source)); err != nil {
			t.Errorf("it copies what is not there: %v", err)
		}
	}
	data, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	ignored := strings.Split(strings.TrimSpace(string(data)), "\n")

	const files = `{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.ImportPath}}/{{.}}
{{end}}{{range $.EmbedFiles}}{{$.ImportPath}}/{{.}}
{{end}}{{end}}{{end}}`
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", files}, d.built...)...)
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	compiled := strings.Fields(string(out))
	if len(compiled) < len(d.built) {
		t.Fatalf("%v names no files", list)
	}
	for _, file := range compiled {
		file = strings.TrimPrefix(file, "github.com/lastseat/lastseat/")
		if !slices.ContainsFunc(d.copied, func(dir string) bool { return strings.HasPrefix(file, dir+"/") }) {
			t.Errorf("%s is compiled and not copied", file)
		}
		for _, pattern := range ignored {
			if keepsOut(t, pattern, file) {
				t.Errorf("%s is compiled and kept out by %q in .dockerignore", file, pattern)
			}
		}
	}
}

// keepsOut tells whether a line of .dockerignore matches a file or a folder above
// it. It knows the forms that are used there: a path, and **/ before a name.
func keepsOut(t *testing.T, pattern, file string) bool {
	t.Helper()
	for p := file; p != "."; p = path.Dir(p) {
		name := p
		base, anywhere := strings.CutPrefix(pattern, "**/")
		if anywhere {
			name = path.Base(p)
		}
		matches, err := path.Match(base, name)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if matches {
			return true
		}
	}
	return false
}
