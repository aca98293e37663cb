package main

import (
	"strings"
	"testing"
)

func TestGoTestArgs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"", "test -race -shuffle=on -parallel=6 -timeout=30m ./..."},
		{"-run X", "test -race -shuffle=on -parallel=6 -timeout=30m ./... -run X"},
		{"-run X ./internal/lane", "test -race -shuffle=on -parallel=6 -timeout=30m -run X ./internal/lane"},
		{"github.com/lastseat/lastseat/internal/lane -v", "test -race -shuffle=on -parallel=6 -timeout=30m github.com/lastseat/lastseat/internal/lane -v"},
		{"-v -args ./x", "test -race -shuffle=on -parallel=6 -timeout=30m ./... -v -args ./x"},
	} {
		if got := strings.Join(goTestArgs(true, strings.Fields(test.args)), " "); got != test.want {
			t.Errorf("dev test %s: go %s, want go %s", test.args, got, test.want)
		}
	}
	if got := strings.Join(goTestArgs(false, nil), " "); got != "test -shuffle=on -parallel=6 -timeout=30m ./..." {
		t.Errorf("without -race: go %s", got)
	}
}
