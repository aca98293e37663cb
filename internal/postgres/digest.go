package postgres

import (
	"context"

	"github.com/lastseat/lastseat/internal/enroll"
)

// DigestKey returns the key of the digests.
func (s *Store) DigestKey(ctx context.Context) (enroll.DigestKey, error) {
	var key enroll.DigestKey
	if err := s.pool.QueryRow(ctx, `SELECT key FROM digest_keys WHERE version = 1`).Scan(&key); err != nil {
		return nil, translate("reading the key of the digests", err)
	}
	return key, nil
}

// digestBytes returns the digest as it is stored, nil for none.
func digestBytes(d enroll.Digest) []byte {
	if d == "" {
		return nil
	}
	return []byte(d)
}
