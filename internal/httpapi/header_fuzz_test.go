package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// asked returns the context of a request with a header line.
func asked(header, value string) *gin.Context {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = &http.Request{Method: http.MethodGet, Header: http.Header{header: {value}}, Body: http.NoBody}
	return c
}

// FuzzIdempotencyKey: a key is printable and short, and its quoted form is the
// same key.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{
		"", " ", "k-1", `"k-1"`, `"`, `""`, `"""`, `" "`, `\`, `"\\"`, `"\""`, `a"b`, `"a\`, "k\x00", "k\xff", "·cancel 1", "é",
		strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat(`\\`, 255) + `"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := idempotencyKey(http.Header{"Idempotency-Key": {value}})
		if err != nil {
			e, _ := errors.AsType[*enroll.Error](err)
			if e == nil || e.Code != enroll.Invalid || len(e.Faults) != 1 || e.Faults[0].Field != "Idempotency-Key" || key != "" {
				t.Errorf("%q is refused as %q, %v", value, key, err)
			}
			return
		}
		if key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q is the key %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotencyKey(http.Header{"Idempotency-Key": {quoted}}); err != nil || again != key {
			t.Errorf("%q is the key %q, and %s is %q, %v", value, key, quoted, again, err)
		}
		if twice, err := idempotencyKey(http.Header{"Idempotency-Key": {value, value}}); err == nil {
			t.Errorf("%q is there twice, and is %q", value, twice)
		}
	})
}

// FuzzMatches: a header names the tag if the tag stands in it, alone or in a
// list, weak or strong, or if it is an asterisk.
func FuzzMatches(f *testing.F) {
	const tag = `W/"0123456789abcdef"`
	for _, seed := range []string{
		"", "*", " * ", tag, tag[2:], ` "a" , ` + tag, `W/"0123456789abcdee"`, "*," + tag, `w/"0123456789abcdef"`, "W/*", tag + "x", "W/" + tag, ",,", `"0123456789abcdef`, "0123456789abcdef",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := matches(header, tag)
		if got && strings.TrimSpace(header) != "*" && !strings.Contains(header, tag[2:]) {
			t.Errorf("%q matches", header)
		}
		if got && matches(header, `W/"fedcba9876543210"`) && strings.TrimSpace(header) != "*" && !strings.Contains(header, "fedcba9876543210") {
			t.Errorf("%q matches anything", header)
		}
		for _, list := range []string{header + "," + tag, tag + " ," + header, header + "," + tag[2:]} {
			if !matches(list, tag) {
				t.Errorf("%q does not match", list)
			}
		}
		if got != matches(" "+header+"\t", tag) {
			t.Errorf("blanks around %q matter", header)
		}
	})
}

// FuzzRequestID: an id that is kept can stand in a log and in a header as it is.
func FuzzRequestID(f *testing.F) {
	for _, seed := range []string{"", "checkout-7f3a", "A.b_c-9", "a b", "a\n", "é", `"`, "\x00", strings.Repeat("x", 64), strings.Repeat("x", 65)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
		if want := id != "" && len(id) <= 64 && strings.Trim(id, allowed) == ""; safeID(id) != want {
			t.Errorf("safeID(%q) is %t", id, !want)
		}
	})
}

// keyOf lets in who sends the token.
type keyOf string

func (k keyOf) Authenticate(_ context.Context, token string) (access.Caller, error) {
	if token != string(k) {
		return access.Caller{}, access.ErrBadToken
	}
	return access.Caller{Account: 1}, nil
}

// FuzzAuthorization: only the whole token lets a caller in, and nothing else is
// taken for no token.
func FuzzAuthorization(f *testing.F) {
	const token = "ls_1_0123456789abcdef"
	for _, seed := range []string{"", "Bearer", "Bearer ", "Bearer " + token, "bearer " + token, "Bearer  " + token, "Bearer " + token + " ", "Basic " + token, token, "Bearer " + token[1:], "BEARER\t" + token, "Bearer " + token + "\x00"} {
		f.Add(seed)
	}
	a := &api{keyring: keyOf(token)}
	f.Fuzz(func(t *testing.T, header string) {
		scheme, rest, _ := strings.Cut(header, " ")
		c := asked("Authorization", header)
		err := a.authenticate(c)
		if good := strings.EqualFold(scheme, "Bearer") && rest == token; good != (err == nil) || good == callerOf(c).Anonymous() {
			t.Errorf("%q: %v", header, err)
		}
		if err != nil && enroll.CodeOf(err) != enroll.Unauthorized {
			t.Errorf("%q: %v", header, err)
		}
	})
}

// FuzzContentType: a body is read if it claims to be JSON, whatever parameters
// follow.
func FuzzContentType(f *testing.F) {
	for _, seed := range []string{"", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON ;charset=\"UTF-8\"", "application/json;", "application/jsonp", "text/json", "application/json, text/plain", "application/json; a=b; a=c", ";", "application/json; charset", "application / json"} {
		f.Add(seed)
	}
	a := &api{options: Options{MaxBodyBytes: 1 << 10}}
	f.Fuzz(func(t *testing.T, media string) {
		c := asked("Content-Type", media)
		var v struct{}
		err := a.decode(c, &v) // there is no body
		name, _, _ := strings.Cut(media, ";")
		isJSON := strings.EqualFold(strings.TrimSpace(name), "application/json")
		switch code := enroll.CodeOf(err); {
		case code == malformed && isJSON, code == unsupported:
		default:
			t.Errorf("%q: %v", media, err)
		}
		if isJSON && !strings.Contains(media, ";") && enroll.CodeOf(err) != malformed {
			t.Errorf("%q: %v", media, err)
		}
	})
}
