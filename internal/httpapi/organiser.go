package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

var errNoToken = enroll.Errorf(notAllowed, "the organisers' token is missing or wrong: it must be sent as Authorization: Bearer")

// organiser lets only those through who show the organisers' token.
func (a *api) organiser(h func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if !a.showsToken(c) {
			return errNoToken
		}
		c.Header("Cache-Control", "no-store")
		return h(c)
	}
}

// showsToken tells whether the request carries the organisers' token.
func (a *api) showsToken(c *gin.Context) bool {
	header := c.GetHeader("Authorization")
	if header == "" || a.options.OrganiserToken == "" {
		return false
	}
	scheme, token, _ := strings.Cut(header, " ")
	// Hashes have one length, so that comparing takes one time.
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(a.options.OrganiserToken))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
