package stack

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/internal/postgres"
)

// OpenStore opens the ledger at the URL for a tool: courses and runs are created
// through the store, because the API cannot.
func OpenStore(ctx context.Context, url string) (*postgres.Store, error) {
	return postgres.Open(ctx, url, postgres.Options{
		Name: "dev", MaxConns: 2, ConnectTimeout: 5 * time.Second,
		StatementTimeout: 30 * time.Second, LockTimeout: 5 * time.Second, IdleInTransactionTimeout: 10 * time.Second,
	})
}
