package intake

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lastseat/lastseat/internal/enroll"
)

// digests has the key of the digests, read when it is first needed: a process
// can start before its database.
type digests struct {
	read    atomic.Pointer[enroll.DigestKey]
	reading singleflight.Group
}

// key returns the key. However many wait for it, one reads it.
func (d *digests) key(ctx context.Context, ledger Ledger, within time.Duration) (enroll.DigestKey, error) {
	if k := d.read.Load(); k != nil {
		return *k, nil
	}
	done := d.reading.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		k, err := ledger.DigestKey(ctx)
		if err == nil {
			d.read.Store(&k)
		}
		return nil, err
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return *d.read.Load(), nil
	case <-ctx.Done():
		return nil, &enroll.Error{Code: enroll.Unavailable, Err: ctx.Err()}
	}
}
