package intake

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lastseat/lastseat/internal/enroll"
)

// digests has the key of the digests. It is read from the ledger when it is
// first needed, since a process can start before its database.
type digests struct {
	known atomic.Pointer[enroll.DigestKey]
	reads singleflight.Group
}

// key returns the key. However many callers wait for it, the ledger is read
// once, for up to timeout.
func (d *digests) key(ctx context.Context, ledger Ledger, timeout time.Duration) (enroll.DigestKey, error) {
	if k := d.known.Load(); k != nil {
		return *k, nil
	}
	read := d.reads.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		k, err := ledger.DigestKey(ctx)
		if err == nil {
			d.known.Store(&k)
		}
		return nil, err
	})
	select {
	case result := <-read:
		if result.Err != nil {
			return nil, result.Err
		}
		return *d.known.Load(), nil
	case <-ctx.Done():
		return nil, &enroll.Error{Code: enroll.Unavailable, Err: ctx.Err()}
	}
}
