package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/filelock"
)

// Running returns the stack that runs as .dev/<name>, or else as <name>-2,
// <name>-3, …; an error that matches fs.ErrNotExist if there is none.
func Running(root, name string) (*Stack, error) {
	files, err := filepath.Glob(filepath.Join(root, ".dev", name+"*", stackFile))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b string) int { return len(a) - len(b) })
	for _, file := range files {
		dir := filepath.Dir(file)
		if instance := filepath.Base(dir); instance != name && !strings.HasPrefix(instance, name+"-") {
			continue
		}
		// No process holds the lock of a stack.json that a dirty stop left behind.
		lock, err := filelock.Try(filepath.Join(dir, lockName))
		if err == nil {
			lock.Close()
			continue
		}
		if !errors.Is(err, filelock.ErrLocked) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		s := new(Stack)
		if err := json.Unmarshal(content, s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("no stack %q is running (make run starts one): %w", name, fs.ErrNotExist)
}
