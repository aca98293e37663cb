package proc

import (
	"context"
	"sync"
	"time"
)

// Sleep waits for d and reports whether it did so to the end.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Progress prints status() at every interval until the returned function is
// called, and once more then. An empty status is not printed.
func (c *Console) Progress(ctx context.Context, interval time.Duration, status func() string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	print := func() {
		if text := status(); text != "" {
			c.Printf("%s", text)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for Sleep(ctx, interval) {
			print()
		}
	})
	return func() {
		cancel()
		wg.Wait()
		print()
	}
}
