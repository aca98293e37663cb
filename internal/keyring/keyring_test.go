package keyring_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/keyring"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// counted counts what is read of the store, and fails on demand.
type counted struct {
	*postgres.Store
	keys, looks, notes atomic.Int64
	broken             atomic.Bool
}

var errAway = errors.New("the database is away")

func (c *counted) AccessVersion(ctx context.Context) (int64, error) {
	c.looks.Add(1)
	if c.broken.Load() {
		return 0, errAway
	}
	return c.Store.AccessVersion(ctx)
}

func (c *counted) Key(ctx context.Context, id access.TokenID) (access.Key, error) {
	c.keys.Add(1)
	return c.Store.Key(ctx, id)
}

func (c *counted) NoteTokensUsed(ctx context.Context, ids []access.TokenID) error {
	c.notes.Add(int64(len(ids)))
	return c.Store.NoteTokensUsed(ctx, ids)
}

// scene is a keyring on a database with an admin.
type scene struct {
	*keyring.Keyring
	t     testing.TB
	url   string
	store *counted
	now   atomic.Pointer[time.Time]
}

func newScene(t testing.TB) *scene {
	url := pgtest.URL(t)
	pgtest.AddAdmin(t, url)
	s := &scene{t: t, url: url, store: &counted{Store: pgtest.Open(t, url)}}
	s.Keyring = keyring.New(s.store, slog.New(slog.DiscardHandler))
	s.wait(0)
	s.At(func() time.Time { return *s.now.Load() })
	return s
}

// wait moves the keyring's clock.
func (s *scene) wait(d time.Duration) {
	now := time.Now()
	if past := s.now.Load(); past != nil {
		now = *past
	}
	now = now.Add(d)
	s.now.Store(&now)
}

func (s *scene) requireCode(token string, want enroll.Code) {
	s.t.Helper()
	if _, err := s.Authenticate(s.t.Context(), token); enroll.CodeOf(err) != want {
		s.t.Errorf("got %v, want code %q", err, want)
	}
}

func (s *scene) look() {
	s.t.Helper()
	if err := s.Look(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func TestKeyring_remembers_a_token_until_something_changes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range 10 {
		caller, err := s.Authenticate(t.Context(), pgtest.AdminToken)
		if err != nil || !caller.ManagesAccounts() || caller.Account != 1_000_000 {
			t.Fatalf("got %+v, %v", caller, err)
		}
		s.requireCode(access.FormatToken(7, access.NewSecret()), enroll.Unauthorized) // there is none
	}
	if n := s.store.keys.Load(); n != 2 {
		t.Errorf("%d reads of two tokens", n)
	}
	s.look()
	s.requireCode(pgtest.AdminToken, "")
	if n := s.store.keys.Load(); n != 2 {
		t.Errorf("%d reads after a look that found nothing new", n)
	}
	pgtest.Exec(t, s.url, `UPDATE api_tokens SET revoked_at = now()`)
	s.requireCode(pgtest.AdminToken, "") // for a second at most
	s.look()
	s.requireCode(pgtest.AdminToken, enroll.Unauthorized)
}

func TestKeyring_sees_every_change(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]enroll.Code{
		`UPDATE api_tokens SET revoked_at = now()`:                                   enroll.Unauthorized,
		`UPDATE api_tokens SET hash = sha256('')`:                                    enroll.Unauthorized,
		`UPDATE api_tokens SET created_at = '2020-01-01', expires_at = '2021-01-01'`: enroll.Unauthorized,
		`UPDATE api_tokens SET last_used_at = now()`:                                 "",
		`UPDATE accounts SET name = 'Other'`:                                         "",
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.requireCode(pgtest.AdminToken, "")
			pgtest.Exec(t, s.url, sql)
			s.look()
			s.requireCode(pgtest.AdminToken, want)
		})
	}
}

func TestKeyring_refuses_what_is_no_token(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	good := pgtest.AdminToken
	for _, token := range []string{
		"", "ls_", "ls__", "ls_1", "ls_1_", good[1:], good[:len(good)-1], good + "0", good[:len(good)-1] + "F", "LS" + good[2:],
		"ls_0" + good[3:], "ls_+" + good[3:], "ls_-1_" + good[11:], "ls_99999999999" + good[10:], " " + good, good + " ",
	} {
		s.requireCode(token, enroll.Unauthorized)
	}
	if n := s.store.keys.Load(); n != 0 {
		t.Errorf("%d of them were looked for", n)
	}
	s.requireCode(good[:len(good)-1]+"1", enroll.Unauthorized)
	s.requireCode(good, "")
}

func TestKeyring_a_token_expires(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.requireCode(pgtest.AdminToken, "")
	s.wait(364 * 24 * time.Hour)
	s.requireCode(pgtest.AdminToken, "")
	s.wait(2 * 24 * time.Hour)
	s.requireCode(pgtest.AdminToken, enroll.Unauthorized)
}

func TestKeyring_trusts_what_it_remembers_for_five_seconds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.requireCode(pgtest.AdminToken, "")
	s.store.broken.Store(true)
	s.wait(5*time.Second - time.Nanosecond)
	s.requireCode(pgtest.AdminToken, "")
	s.wait(time.Nanosecond)
	s.requireCode(pgtest.AdminToken, enroll.Unavailable)
	s.requireCode("ls_x", enroll.Unauthorized) // whatever the database says
	s.store.broken.Store(false)
	s.requireCode(pgtest.AdminToken, "") // at once
}

// TestKeyring_a_read_that_began_before_a_change: the answer is not remembered.
func TestKeyring_a_read_that_began_before_a_change(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.look()
	old, err := s.store.Store.Key(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	slow := keyring.New(&slowKey{counted: s.store, key: old}, slog.New(slog.DiscardHandler))
	pgtest.Exec(t, s.url, `UPDATE api_tokens SET revoked_at = now()`)
	if err := slow.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Authenticate(t.Context(), pgtest.AdminToken); err != nil {
		t.Fatalf("the old answer is not good for the request that waited for it: %v", err)
	}
	if _, err := slow.Authenticate(t.Context(), pgtest.AdminToken); enroll.CodeOf(err) != enroll.Unauthorized {
		t.Errorf("the old answer is remembered: %v", err)
	}
}

// slowKey answers the first read with what was so before.
type slowKey struct {
	*counted
	once sync.Once
	key  access.Key
}

func (s *slowKey) Key(ctx context.Context, id access.TokenID) (key access.Key, err error) {
	key, err = s.counted.Key(ctx, id)
	s.once.Do(func() { key = s.key })
	return key, err
}

func TestKeyring_notes_the_last_use_once_an_hour(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	note := func() {
		t.Helper()
		if err := s.NoteUsed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.store.Store.AccessVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	note()
	for range 3 {
		s.requireCode(pgtest.AdminToken, "")
		note()
	}
	if n := s.store.notes.Load(); n != 1 {
		t.Errorf("%d notes in an hour", n)
	}
	if got := pgtest.Query[bool](t, s.url, `SELECT last_used_at = date_trunc('hour', last_used_at) AND last_used_at > now() - interval '61 min' FROM api_tokens`); !got[0] {
		t.Error("it is not the hour")
	}
	s.wait(time.Hour)
	s.look()
	s.requireCode(pgtest.AdminToken, "")
	note()
	if n := s.store.notes.Load(); n != 2 {
		t.Errorf("%d notes in two hours", n)
	}
	if after, err := s.store.Store.AccessVersion(t.Context()); err != nil || after != before {
		t.Errorf("the use of a token changes the version to %d, %v", after, err)
	}
}

// TestKeyring_run: a revoked token is refused by a running keyring, without any
// message.
func TestKeyring_run(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.At(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.requireCode(pgtest.AdminToken, "")
	pgtest.Exec(t, s.url, `UPDATE api_tokens SET revoked_at = now()`)
	testwait.Until(t, "the token is refused", func() bool {
		_, err := s.Authenticate(ctx, pgtest.AdminToken)
		return enroll.CodeOf(err) == enroll.Unauthorized
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// BenchmarkAuthenticate is what a token costs in the usual case: less than 20 µs.
func BenchmarkAuthenticate(b *testing.B) {
	s := newScene(b)
	if err := s.Look(b.Context()); err != nil { // the clock stands still
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), pgtest.AdminToken); err != nil {
			b.Fatal(err)
		}
	}
}
