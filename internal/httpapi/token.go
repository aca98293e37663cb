package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

type tokenJSON struct {
	ID         access.TokenID `json:"id"`
	Name       string         `json:"name"`
	ReadOnly   bool           `json:"read_only"`
	Courses    []string       `json:"courses"` // null = all courses of the account
	CreatedAt  *time.Time     `json:"created_at"`
	ExpiresAt  *time.Time     `json:"expires_at"`
	LastUsedAt *time.Time     `json:"last_used_at"`
	RevokedAt  *time.Time     `json:"revoked_at"`
}

// newTokenJSON is a token that was just made, with the only sight of its secret.
type newTokenJSON struct {
	tokenJSON
	Token string `json:"token"`
}

func showToken(t access.Token) tokenJSON {
	return tokenJSON{t.ID, t.Name, t.ReadOnly, t.Courses, instant(t.CreatedAt), instant(t.ExpiresAt), instant(t.LastUsed), instant(t.RevokedAt)}
}

// owning lets only callers through who belong to the account that the path names,
// or manage accounts. To all others there is no such account.
func (a *api) owning(h func(*gin.Context, access.AccountID) error) func(*gin.Context) error {
	return a.signedIn(func(c *gin.Context) error {
		id, err := accountParameter(c)
		if err != nil {
			return err
		}
		if caller := callerOf(c); caller.Account != id && !caller.ManagesAccounts() {
			return enroll.Errorf(enroll.NotFound, "there is no such account")
		}
		return h(c, id)
	})
}

// listTokens answers GET /v1/accounts/{account}/tokens.
func (a *api) listTokens(c *gin.Context, account access.AccountID) error {
	ctx, cancel := reading(c)
	defer cancel()
	tokens, err := a.accounts.Tokens(ctx, account)
	if err != nil {
		return err
	}
	shown := make([]tokenJSON, len(tokens))
	for i, t := range tokens {
		shown[i] = showToken(t)
	}
	c.JSON(http.StatusOK, gin.H{"tokens": shown})
	return nil
}

// addToken answers POST /v1/accounts/{account}/tokens.
func (a *api) addToken(c *gin.Context, account access.AccountID) error {
	var body struct {
		Name      string              `json:"name"`
		ExpiresAt optional[time.Time] `json:"expires_at"`
		ReadOnly  bool                `json:"read_only"`
		Courses   optional[[]string]  `json:"courses"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	in := access.TokenInput{Name: body.Name, Limits: access.Limits{ReadOnly: body.ReadOnly}}
	if body.ExpiresAt.value != nil {
		in.ExpiresAt = *body.ExpiresAt.value
	}
	if body.Courses.value != nil {
		in.Limits.Courses = *body.Courses.value
	}
	caller := callerOf(c)
	token, err := access.NewToken(in, account, &caller.Token, time.Now())
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	secret := access.NewSecret()
	if token, err = a.accounts.AddToken(ctx, caller, token, secret); err != nil {
		return err
	}
	c.JSON(http.StatusCreated, newTokenJSON{showToken(token), access.FormatToken(token.ID, secret)})
	return nil
}

// revokeToken answers DELETE /v1/accounts/{account}/tokens/{token}.
func (a *api) revokeToken(c *gin.Context, account access.AccountID) error {
	id, err := numberParameter(c, "token")
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	token, err := a.accounts.RevokeToken(ctx, callerOf(c), account, access.TokenID(id))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, showToken(token))
	return nil
}
