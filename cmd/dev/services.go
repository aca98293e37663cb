package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// services are the Postgres and the Redis a stack works with.
type services struct {
	PostgresURL string `json:"postgres_url"`
	RedisURL    string `json:"redis_url"`
}

// startServices takes the services the environment gives, and starts its own in place of what it does not give. The
// own ones become members of family.
func (t *tool) startServices(ctx context.Context, family *family, f *folder, o postgresOptions) (services, error) {
	s := services{PostgresURL: t.getenv("LASTSEAT_POSTGRES_URL"), RedisURL: t.getenv("LASTSEAT_REDIS_URL")}
	own, err := t.binaries(ctx, need{postgres: s.PostgresURL == "", redis: s.RedisURL == ""})
	if err != nil {
		return s, err
	}

	if s.PostgresURL != "" {
		t.log.printf("using the Postgres of LASTSEAT_POSTGRES_URL")
		err = within(ctx, 10*time.Second, func(ctx context.Context) error { return pingPostgres(ctx, s.PostgresURL) })
		err = wrap("LASTSEAT_POSTGRES_URL", err)
	} else {
		t.log.printf("starting Postgres from %s", own.postgresDir)
		_, s.PostgresURL, err = startPostgres(ctx, family, f, own.postgresDir, o)
	}
	if err != nil {
		return s, err
	}

	if s.RedisURL != "" {
		t.log.printf("using the Redis of LASTSEAT_REDIS_URL")
		err = within(ctx, 10*time.Second, func(ctx context.Context) error { return pingRedis(ctx, s.RedisURL, 0) })
		err = wrap("LASTSEAT_REDIS_URL", err)
	} else {
		t.log.printf("starting Redis: %s", own.redisServer)
		_, s.RedisURL, err = startRedis(ctx, family, f, own.redisServer)
	}
	return s, err
}

func within(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// withFolder claims .dev/<name>, calls body with it and a family, and afterwards stops the family and gives the folder
// back. The context of body is done when the caller's is, or when a member of the family has died; then that death is
// what is returned. A scratch folder is empty at the start, and gone at the end if all went well.
func (t *tool) withFolder(ctx context.Context, name string, scratch bool, body func(context.Context, *family, *folder) error) error {
	f, err := claimFolder(t.root, name)
	if err != nil {
		return err
	}
	if scratch {
		if err := f.wipe(ctx, t.log); err != nil {
			f.release()
			return err
		}
	}

	family, living := newFamily(ctx, t.log)
	err = body(living, family, f)
	if death := (*deathError)(nil); errors.As(context.Cause(living), &death) {
		err = death
	}
	family.halt()

	if scratch && err == nil {
		return f.remove(context.WithoutCancel(ctx), t.log)
	}
	f.release()
	return err
}
