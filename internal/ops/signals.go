package ops

import (
	"context"
	"os/signal"
	"syscall"
)

// StopSignals returns a context that ends when the process is told to stop, by
// SIGTERM or SIGINT. The second such signal ends the process at once. Neither
// SIGHUP ends it, nor a log that nobody reads any more.
func StopSignals() (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on the system decides, which ends the process
	return ctx, stop
}
