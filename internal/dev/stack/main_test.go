package stack

import (
	"fmt"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
)

func TestMain(m *testing.M) {
	devtest.Main(m, map[string]func([]string) error{
		"claim": func(args []string) error {
			f, err := claimFolder(args[0], "run")
			if err == nil {
				fmt.Println(f.Path)
			}
			return err
		},
	})
}

// newTool returns a tool in root, with this machine's PATH and env as its whole
// environment, and its output.
func newTool(root string, env map[string]string) (*Tool, *devtest.Output) {
	out := new(devtest.Output)
	return NewTool(root, devtest.Env(env), out, out, out), out
}
