package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

var (
	errNoToken   = enroll.Errorf(enroll.Unauthorized, "this needs an API token of an organiser: send it as Authorization: Bearer")
	errReadOnly  = enroll.Errorf(enroll.Forbidden, "the API token is read-only")
	errNotCourse = enroll.Errorf(enroll.Forbidden, "the API token does not have this right for the course of the run")
)

// authenticate finds out who sends the request, in front of every route. Without
// an Authorization header it is an anonymous caller. A header that is no good
// token is refused even where anonymous callers are welcome: a client that means
// to act for an account must not act for nobody by accident. Cookies are never
// looked at.
func (a *api) authenticate(c *gin.Context) error {
	sent := c.Request.Header["Authorization"]
	if sent == nil {
		return nil
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if len(sent) > 1 || !strings.EqualFold(scheme, "Bearer") {
		token = "" // which is none
	}
	ctx, cancel := reading(c)
	defer cancel()
	caller, err := a.keyring.Authenticate(ctx, token)
	if err != nil {
		c.Writer.Header().Del("Allow") // the router sets it for methods that it does not take
		return err
	}
	caller.Client = access.NetworkOf(c.ClientIP())
	c.Set(callerKey, caller)
	reads := c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
	if caller.Token.ReadOnly && !reads && c.FullPath() != "" {
		return errReadOnly
	}
	return nil
}

// callerOf returns the caller that sent the request.
func callerOf(c *gin.Context) access.Caller {
	caller, _ := c.Value(callerKey).(access.Caller)
	return caller
}

// actor returns the caller as the line keeps it.
func actor(c *gin.Context) enroll.Actor {
	caller := callerOf(c)
	return enroll.Actor{Account: int32(caller.Account), Token: int32(caller.Token.ID)}
}

// signedIn lets only callers with a token through.
func (a *api) signedIn(h func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if callerOf(c).Anonymous() {
			return errNoToken
		}
		c.Header("Cache-Control", "no-store")
		return h(c)
	}
}

// managing lets only callers through who manage accounts.
func (a *api) managing(h func(*gin.Context) error) func(*gin.Context) error {
	return a.signedIn(func(c *gin.Context) error {
		if !callerOf(c).ManagesAccounts() {
			return access.ErrManagersOnly
		}
		return h(c)
	})
}

// organising lets only organisers of the course of the run through that the path
// names.
func (a *api) organising(h func(*gin.Context) error) func(*gin.Context) error {
	return a.signedIn(func(c *gin.Context) error {
		run, err := runSlug(c)
		if err != nil {
			return err
		}
		organises, err := a.organises(c, run)
		if err != nil {
			return err
		}
		if !organises {
			return errNotCourse
		}
		return h(c)
	})
}

// organises tells whether the caller is an organiser of the run's course. The
// database is asked only about callers with rights for some courses.
func (a *api) organises(c *gin.Context, run string) (bool, error) {
	caller := callerOf(c)
	switch {
	case caller.Anonymous():
		return false, nil
	case caller.RoleForAll().AtLeast(access.Organiser):
		return true, nil
	}
	ctx, cancel := reading(c)
	defer cancel()
	r, err := a.catalogue.Run(ctx, run)
	if found(c, run, err) != nil {
		return false, err
	}
	if err := seen(c, r); err != nil {
		return false, err
	}
	return caller.RoleFor(r.Course).AtLeast(access.Organiser), nil
}

// seen returns an error of code NotFound if the caller may not see the run: a draft
// is there for callers with a role in its course only.
func seen(c *gin.Context, r enroll.RunState) error {
	if r.State == enroll.Draft && callerOf(c).RoleFor(r.Course) == "" {
		return enroll.Errorf(enroll.NotFound, "there is no such run")
	}
	return nil
}
