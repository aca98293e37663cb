package httpapi_test

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) {
	// These tests wait more than they compute. A -parallel on the command line
	// still counts.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	taskqueue.LogRedis(slog.New(slog.DiscardHandler)) // one for the whole process
	testwait.Main(m)
}
