package stack

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// OpenStore opens the ledger at the URL for a tool, which creates courses and runs
// without the API's steps from draft to published.
func OpenStore(ctx context.Context, url string) (*postgres.Store, error) {
	return postgres.Open(ctx, url, postgres.Options{
		Name: "dev", MaxConns: 2, ConnectTimeout: 5 * time.Second,
		StatementTimeout: 30 * time.Second, LockTimeout: 5 * time.Second, IdleInTransactionTimeout: 10 * time.Second,
	})
}

// AddAdmin adds the account of admin@example.org, which may do everything, unless
// it is there, and returns a new API token of it, which is good for a day.
func AddAdmin(ctx context.Context, url string) (string, error) {
	store, err := OpenStore(ctx, url)
	if err != nil {
		return "", err
	}
	defer store.Close()
	admin, err := access.NewAccount(access.AccountInput{Name: "Admin", Email: "admin@example.org"})
	if err != nil {
		return "", err
	}
	admin.Grants = access.Grants{access.AllCourses: access.Admin}
	added, err := store.AddAccount(ctx, access.Operator, admin)
	if enroll.CodeOf(err) == enroll.Conflict {
		added, err = store.AccountByAddress(ctx, admin.Address.Key)
	}
	if err != nil {
		return "", err
	}
	now, secret := time.Now(), access.NewSecret()
	token, err := access.NewToken(access.TokenInput{Name: "development", ExpiresAt: now.Add(24 * time.Hour)}, added.ID, nil, now)
	if err != nil {
		return "", err
	}
	if token, err = store.AddToken(ctx, access.Operator, token, secret); err != nil {
		return "", err
	}
	return access.FormatToken(token.ID, secret), nil
}
