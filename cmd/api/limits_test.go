package main

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/config"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	c := config.Default()
	for files, want := range map[int]limits{
		1 << 20: {20_000, 17_500}, // as configured
		1100:    {886, 775},
		230:     {16, 14},
	} {
		if got, err := limitsFor(c, files, 20); err != nil || got != want {
			t.Errorf("with %d open files: %+v, %v, want %+v", files, got, err, want)
		}
	}
	if _, err := limitsFor(c, 229, 20); err == nil || !strings.Contains(err.Error(), "needs at least 230") {
		t.Errorf("with too few open files: %v", err)
	}
}
