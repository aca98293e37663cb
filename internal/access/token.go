package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TokenID is the number of a token inside one installation. It is no secret.
type TokenID int32

// Token is an API token as it is shown: without its secret, of which only a hash
// is stored.
type Token struct {
	ID        TokenID
	Account   AccountID
	Name      string
	CreatedAt time.Time
	ExpiresAt time.Time
	LastUsed  time.Time // the hour of the last use; zero = never used
	RevokedAt time.Time // zero = not revoked
	Limits
}

// Limits are the rights of its account that a token does not have. The zero
// Limits take nothing away.
type Limits struct {
	ReadOnly bool
	Courses  []string // the slugs of the only courses it is for; nil = of all the account's
}

// Within tells whether Limits leave no right that the others take away.
func (l Limits) Within(others Limits) bool {
	if others.ReadOnly && !l.ReadOnly {
		return false
	}
	if others.Courses == nil {
		return true
	}
	return l.Courses != nil && !slices.ContainsFunc(l.Courses, func(c string) bool { return !slices.Contains(others.Courses, c) })
}

// How long a token is good for: TokenLife if nothing else is asked for, at most
// MaxTokenLife.
const (
	TokenLife    = 365 * 24 * time.Hour
	MaxTokenLife = 3 * 365 * 24 * time.Hour
)

// maxTokenName is the longest name of a token, in runes; maxTokenCourses is the
// largest number of courses that it can be limited to.
const (
	maxTokenName    = 100
	maxTokenCourses = 100
)

// TokenInput is what was sent to make a token, before it is validated.
type TokenInput struct {
	Name      string
	ExpiresAt time.Time // zero = TokenLife from now, or as early as the token that asks expires
	Limits    Limits
}

// NewToken returns a token for the account, without an id, or an error of code
// Invalid with every fault of name, expires_at, read_only and courses. Asking is
// the token that asks for it: the new one has no more rights and no later expiry.
// It is nil if an operator asks.
func NewToken(in TokenInput, account AccountID, asking *Token, now time.Time) (Token, error) {
	t := Token{Account: account, Name: strings.TrimSpace(in.Name), ExpiresAt: in.ExpiresAt, Limits: in.Limits}
	latest := now.Add(MaxTokenLife)
	if t.ExpiresAt.IsZero() {
		t.ExpiresAt = now.Add(TokenLife)
		if asking != nil && asking.ExpiresAt.Before(t.ExpiresAt) {
			t.ExpiresAt = asking.ExpiresAt
		}
	}
	fault := func(field, code, detail string) error { return enroll.FaultIn(field, enroll.Invalid, code, detail) }
	var errs []error
	switch {
	case t.Name == "":
		errs = append(errs, fault("name", "required", "is required"))
	case len([]rune(t.Name)) > maxTokenName:
		errs = append(errs, fault("name", "too_long", fmt.Sprintf("must not exceed %d characters", maxTokenName)))
	default:
		errs = append(errs, enroll.CheckLine("name", t.Name))
	}
	switch {
	case !t.ExpiresAt.After(now):
		errs = append(errs, fault("expires_at", "range", "must be in the future"))
	case t.ExpiresAt.After(latest):
		errs = append(errs, fault("expires_at", "range", "must be within three years"))
	case asking != nil && t.ExpiresAt.After(asking.ExpiresAt):
		errs = append(errs, fault("expires_at", "range", "must not be later than that of the token that asks"))
	}
	if in.Limits.Courses != nil && len(in.Limits.Courses) == 0 || len(in.Limits.Courses) > maxTokenCourses {
		errs = append(errs, fault("courses", "range", fmt.Sprintf("must name 1 to %d courses, or be left out", maxTokenCourses)))
	}
	if slices.ContainsFunc(in.Limits.Courses, func(c string) bool { _, err := enroll.ParseSlug(c); return err != nil }) {
		errs = append(errs, fault("courses", "form", "must be slugs of courses"))
	}
	if asking != nil && !in.Limits.Within(asking.Limits) {
		errs = append(errs, fault("courses", "range", "must be courses of the token that asks"))
	}
	return t, enroll.JoinFaults(errs...)
}

// Secret is the part of a token that nobody can guess: 256 random bits.
type Secret [32]byte

// NewSecret returns a new secret.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// Hash is what is stored of a secret. It needs no salt: nobody can try 2^256
// secrets.
func (s Secret) Hash() [sha256.Size]byte { return sha256.Sum256(s[:]) }

const tokenPrefix = "ls_"

// FormatToken returns the token as programs send it: ls_<id>_<secret>.
func FormatToken(id TokenID, s Secret) string {
	return tokenPrefix + strconv.Itoa(int(id)) + "_" + hex.EncodeToString(s[:])
}

// ParseToken reads what FormatToken writes, and nothing else.
func ParseToken(text string) (id TokenID, s Secret, ok bool) {
	rest, found := strings.CutPrefix(text, tokenPrefix)
	number, secret, both := strings.Cut(rest, "_")
	n, err := strconv.ParseInt(number, 10, 32)
	if !found || !both || err != nil || n < 1 || len(secret) != hex.EncodedLen(len(s)) {
		return 0, s, false
	}
	if _, err := hex.Decode(s[:], []byte(secret)); err != nil {
		return 0, s, false
	}
	return TokenID(n), s, FormatToken(TokenID(n), s) == text // neither +1 nor upper case
}
