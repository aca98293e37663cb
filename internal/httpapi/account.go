package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Accounts keeps the accounts of organisers and their tokens. Changes are made
// for a caller, whose right is looked at again.
type Accounts interface {
	Accounts(ctx context.Context, after access.AccountID, most int) ([]access.Account, error)
	Account(ctx context.Context, id access.AccountID) (access.Account, error)
	AddAccount(ctx context.Context, by access.Caller, a access.Account) (access.Account, error)
	Grant(ctx context.Context, by access.Caller, id access.AccountID, g access.Grant) (access.Account, error)
	Revoke(ctx context.Context, by access.Caller, id access.AccountID, course string) (access.Account, error)
	SetDisabled(ctx context.Context, by access.Caller, id access.AccountID, disabled bool) (access.Account, error)

	Tokens(ctx context.Context, account access.AccountID) ([]access.Token, error)
	AddToken(ctx context.Context, by access.Caller, t access.Token, secret access.Secret) (access.Token, error)
	RevokeToken(ctx context.Context, by access.Caller, account access.AccountID, id access.TokenID) (access.Token, error)
}

type accountJSON struct {
	ID        access.AccountID `json:"id"`
	Name      enroll.Name      `json:"name"`
	Email     string           `json:"email"`
	Language  enroll.Language  `json:"language"`
	Disabled  bool             `json:"disabled"`
	CreatedAt *time.Time       `json:"created_at"`
	Grants    []grantJSON      `json:"grants"`
}

type grantJSON struct {
	Role   access.Role `json:"role"`
	Course *string     `json:"course"` // null = all courses
}

func showAccount(a access.Account) accountJSON {
	return accountJSON{a.ID, a.Name, a.Address.Typed, a.Language, a.Disabled, instant(a.CreatedAt), showGrants(a.Grants)}
}

// showGrants shows the grant for all courses first, and then those for one by its
// slug.
func showGrants(g access.Grants) []grantJSON {
	shown := []grantJSON{}
	for course, role := range g {
		shown = append(shown, grantJSON{role, unlessZero(course)})
	}
	slices.SortFunc(shown, func(a, b grantJSON) int { return strings.Compare(orEmpty(a.Course), orEmpty(b.Course)) })
	return shown
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// listAccounts answers GET /v1/accounts?limit=&after=.
func (a *api) listAccounts(c *gin.Context) error {
	most, err := limitParameter(c)
	if err != nil {
		return err
	}
	after, err := accountAfter(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	accounts, err := a.accounts.Accounts(ctx, after, most+1) // is there another page?
	if err != nil {
		return err
	}
	showPage(a, c, "accounts", accounts, most, showAccount, func(a access.Account) string { return joinCursor("account", strconv.Itoa(int(a.ID))) })
	return nil
}

// accountAfter returns the account that the request's after parameter names.
func accountAfter(c *gin.Context) (access.AccountID, error) {
	kind, text, err := cursorParameter(c)
	if err != nil || kind == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || kind != "account" || n < 1 {
		return 0, errCursor
	}
	return access.AccountID(n), nil
}

// accountParameter returns the account that the path names. What cannot be its
// number cannot be an account's.
func accountParameter(c *gin.Context) (access.AccountID, error) {
	n, err := numberParameter(c, "account")
	return access.AccountID(n), err
}

func numberParameter(c *gin.Context, noun string) (int32, error) {
	text := c.Param(noun)
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, enroll.Errorf(enroll.NotFound, "there is no such %s", noun)
	}
	return int32(n), nil
}

// getAccount answers GET /v1/accounts/{account}, also to the account's own
// tokens.
func (a *api) getAccount(c *gin.Context, id access.AccountID) error {
	return a.answerAccount(c, http.StatusOK, func(ctx context.Context) (access.Account, error) { return a.accounts.Account(ctx, id) })
}

// getMe answers GET /v1/me with the account and the token of the caller.
func (a *api) getMe(c *gin.Context) error {
	caller := callerOf(c)
	ctx, cancel := reading(c)
	defer cancel()
	account, err := a.accounts.Account(ctx, caller.Account)
	if err != nil {
		return err
	}
	tokens, err := a.accounts.Tokens(ctx, caller.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tokens, func(t access.Token) bool { return t.ID == caller.Token.ID })
	if i < 0 {
		return access.ErrBadToken
	}
	c.JSON(http.StatusOK, gin.H{"account": showAccount(account), "token": showToken(tokens[i])})
	return nil
}

// addAccount answers POST /v1/accounts.
func (a *api) addAccount(c *gin.Context) error {
	var body struct {
		Name     string           `json:"name"`
		Email    string           `json:"email"`
		Language optional[string] `json:"language"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	account, err := access.NewAccount(access.AccountInput{Name: body.Name, Email: body.Email, Language: body.Language.value})
	if err != nil {
		return err
	}
	return a.answerAccount(c, http.StatusCreated, func(ctx context.Context) (access.Account, error) {
		return a.accounts.AddAccount(ctx, callerOf(c), account)
	})
}

// grantRole answers POST /v1/accounts/{account}/grant.
func (a *api) grantRole(c *gin.Context) error {
	id, err := accountParameter(c)
	if err != nil {
		return err
	}
	var body struct {
		Role   string          `json:"role"`
		Course courseOrAllJSON `json:"course"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	if body.Role == "" {
		return enroll.FaultIn("role", enroll.Invalid, "required", "is required")
	}
	course, err := body.Course.slug()
	if err != nil {
		return err
	}
	grant, err := access.NewGrant(body.Role, course)
	if err != nil {
		return err
	}
	return a.answerAccount(c, http.StatusOK, func(ctx context.Context) (access.Account, error) {
		return a.accounts.Grant(ctx, callerOf(c), id, grant)
	})
}

// revokeRole answers POST /v1/accounts/{account}/revoke.
func (a *api) revokeRole(c *gin.Context) error {
	id, err := accountParameter(c)
	if err != nil {
		return err
	}
	var body struct {
		Course courseOrAllJSON `json:"course"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	course, err := body.Course.slug()
	if err != nil {
		return err
	}
	return a.answerAccount(c, http.StatusOK, func(ctx context.Context) (access.Account, error) {
		return a.accounts.Revoke(ctx, callerOf(c), id, course)
	})
}

// setDisabled answers POST /v1/accounts/{account}/disable and …/enable.
func (a *api) setDisabled(disabled bool) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := accountParameter(c)
		if err != nil {
			return err
		}
		return a.answerAccount(c, http.StatusOK, func(ctx context.Context) (access.Account, error) {
			return a.accounts.SetDisabled(ctx, callerOf(c), id, disabled)
		})
	}
}

// answerAccount answers with the account that is read or changed.
func (a *api) answerAccount(c *gin.Context, status int, do func(context.Context) (access.Account, error)) error {
	ctx, cancel := reading(c)
	defer cancel()
	account, err := do(ctx)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		c.Header("Location", a.options.PublicURL+"/v1/accounts/"+strconv.Itoa(int(account.ID)))
	}
	c.JSON(status, showAccount(account))
	return nil
}

// courseOrAllJSON is the slug of a course, or null for all courses. It is not
// optional: a member that was forgotten must not mean all.
type courseOrAllJSON struct {
	given bool
	value string
}

func (o *courseOrAllJSON) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	o.given = true
	var slug *string
	if err := json.UnmarshalDecode(d, &slug); err != nil {
		return err
	}
	if slug != nil && *slug == "" {
		return errors.New("must not be empty")
	}
	o.value = orEmpty(slug)
	return nil
}

func (o courseOrAllJSON) slug() (string, error) {
	if !o.given {
		return "", enroll.FaultIn("course", enroll.Invalid, "required", "is required: the slug of a course, or null for all courses")
	}
	return o.value, nil
}
