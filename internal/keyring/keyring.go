// Package keyring tells whose API token a request carries.
//
// It remembers what it has read, so that checking a token usually asks no
// database, and looks once a second whether that is out of date. It decides
// nothing about rights (internal/access does) and must not know HTTP or SQL. It
// needs no Redis.
package keyring

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// Store reads keys.
type Store interface {
	// AccessVersion returns a number that every change of accounts, grants and
	// tokens raises.
	AccessVersion(ctx context.Context) (int64, error)
	// Key returns what is stored of a token, as of its Version.
	Key(ctx context.Context, id access.TokenID) (access.Key, error)
	// NoteTokensUsed stores that the tokens were used in this hour.
	NoteTokensUsed(ctx context.Context, ids []access.TokenID) error
}

const (
	lookInterval = time.Second     // between two looks at the version
	lookTimeout  = 2 * time.Second // of one look
	trustFor     = 5 * time.Second // since the last look that succeeded began
	maxKeys      = 10_000          // remembered at once
)

// Keyring checks API tokens. A change of accounts, grants or tokens counts within
// a second, as long as Run runs.
type Keyring struct {
	store Store
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	looked  time.Time // when the last look that succeeded began
	version int64     // as of that look
	keys    map[access.TokenID]access.Key
	used    map[access.TokenID]bool // noted = whether the use in this hour is stored
	hour    time.Time               // of used
}

// New returns a keyring.
func New(store Store, log *slog.Logger) *Keyring {
	return &Keyring{
		store: store, log: log, now: time.Now,
		keys: make(map[access.TokenID]access.Key), used: make(map[access.TokenID]bool),
	}
}

// Run looks at the version once a second and notes which tokens were used, until
// ctx ends.
func (k *Keyring) Run(ctx context.Context) error {
	stale := outage.New(k.log, slog.LevelWarn, "changes of accounts and tokens cannot be read: requests with a token are refused",
		"changes of accounts and tokens are read again")
	unnoted := outage.New(k.log, slog.LevelWarn, "the last use of tokens cannot be stored", "the last use of tokens is stored again")
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		report(ctx, stale, k.look(ctx))
		report(ctx, unnoted, k.noteUsed(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// report tells the outage how a step ended, unless it was told to stop.
func report(ctx context.Context, o *outage.Log, err error) {
	switch {
	case err == nil:
		o.Recovered()
	case ctx.Err() == nil:
		o.Failed(err)
	}
}

// look reads the version, and forgets all keys of another one.
func (k *Keyring) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	began := k.now()
	version, err := k.store.AccessVersion(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked = began
	k.move(version)
	return nil
}

// move forgets all keys unless they are of the version. The caller holds mu.
func (k *Keyring) move(version int64) {
	if version != k.version {
		k.version = version
		clear(k.keys)
	}
}

// Authenticate returns the caller that sent the token, or access.ErrBadToken. The
// error has code Unavailable if changes could not be read for five seconds.
func (k *Keyring) Authenticate(ctx context.Context, token string) (access.Caller, error) {
	id, secret, ok := access.ParseToken(token)
	if !ok {
		return access.Caller{}, access.ErrBadToken
	}
	key, err := k.key(ctx, id)
	if err != nil {
		return access.Caller{}, err
	}
	hash, now := secret.Hash(), k.now()
	if !key.Good || subtle.ConstantTimeCompare(hash[:], key.Hash[:]) != 1 || !now.Before(key.Token.ExpiresAt) {
		return access.Caller{}, access.ErrBadToken
	}
	k.use(id, now)
	return key.Caller(), nil
}

// key returns what is stored of a token. Tokens that do not exist are remembered,
// too.
func (k *Keyring) key(ctx context.Context, id access.TokenID) (access.Key, error) {
	key, known, fresh := k.remembered(id)
	if !fresh { // at the start, and after an outage
		if err := k.look(ctx); err != nil {
			return access.Key{}, enroll.Errorf(enroll.Unavailable, "reading whether tokens are still good: %w", err)
		}
		key, known, _ = k.remembered(id)
	}
	if known {
		return key, nil
	}
	key, err := k.store.Key(ctx, id)
	if err != nil {
		return access.Key{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key.Version > k.version {
		k.move(key.Version)
	}
	if len(k.keys) >= maxKeys {
		clear(k.keys)
	}
	if key.Version == k.version { // else it was read before a change that is known already
		k.keys[id] = key
	}
	return key, nil
}

// remembered returns the key if it is known, and whether the last look is recent
// enough to go by it.
func (k *Keyring) remembered(id access.TokenID) (key access.Key, known, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known = k.keys[id]
	return key, known, k.now().Sub(k.looked) < trustFor
}

// use remembers that a token was used.
func (k *Keyring) use(id access.TokenID, now time.Time) {
	hour := now.Truncate(time.Hour)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !hour.Equal(k.hour) {
		k.hour = hour
		clear(k.used)
	}
	if _, known := k.used[id]; !known {
		k.used[id] = false
	}
}

// noteUsed stores which tokens were used in this hour, once for each.
func (k *Keyring) noteUsed(ctx context.Context) error {
	k.mu.Lock()
	fresh := maps.Clone(k.used)
	maps.DeleteFunc(fresh, func(_ access.TokenID, noted bool) bool { return noted })
	k.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(fresh))
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := k.store.NoteTokensUsed(ctx, ids); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		k.used[id] = true
	}
	return nil
}
