package ops

import (
	"context"
	"os/signal"
	"syscall"
)

// StopSignals returns a context that ends on the first SIGTERM or SIGINT. The
// second one ends the process at once. The process ignores SIGHUP, and the
// SIGPIPE of a log without a reader.
func StopSignals() (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // restores the default: the next signal ends the process
	return ctx, stop
}
