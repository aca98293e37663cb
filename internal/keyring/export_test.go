package keyring

import (
	"context"
	"time"
)

// At sets the keyring's clock.
func (k *Keyring) At(now func() time.Time) { k.now = now }

// Look looks at the version, as Run does once a second.
func (k *Keyring) Look(ctx context.Context) error { return k.look(ctx) }

// NoteUsed stores which tokens were used, as Run does once a second.
func (k *Keyring) NoteUsed(ctx context.Context) error { return k.noteUsed(ctx) }
