package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lastseat/lastseat/internal/enroll"
)

// decode reads the body into v, strictly: names are compared exactly, unknown
// and repeated ones are refused, and so are invalid UTF-8 and lone surrogates,
// all of which the standard library's first JSON package lets pass silently.
func (a *api) decode(c *gin.Context, v any) error {
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "application/json" {
		return enroll.Errorf(unsupported, "the body must be sent as Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, a.options.MaxBodyBytes))
	if err != nil {
		if _, is := errors.AsType[*http.MaxBytesError](err); is {
			return enroll.Errorf(tooLarge, "the body must not exceed %d bytes", a.options.MaxBodyBytes)
		}
		return enroll.Errorf(malformed, "the body is incomplete: it must be sent in full")
	}
	return decodeJSON(body, v)
}

func decodeJSON(body []byte, v any) error {
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	if err == nil && jsontext.Value(body).Kind() == 'n' {
		return errNoObject // the library takes null for an empty object
	}
	if err == nil {
		return nil
	}
	if e, is := errors.AsType[*jsontext.SyntacticError](err); is {
		if errors.Is(e, jsontext.ErrDuplicateName) {
			return enroll.FaultIn(fieldName(e.JSONPointer), malformed, "duplicate", "is duplicated: it must be sent once")
		}
		detail := fmt.Sprintf("the body is not valid JSON at byte %d", e.ByteOffset)
		if field := fieldName(e.JSONPointer); field != "" {
			return &enroll.Error{Code: malformed, Message: detail, Faults: []enroll.Fault{{Field: field, Code: "malformed", Detail: "must be valid JSON in UTF-8"}}}
		}
		return enroll.Errorf(malformed, "%s", detail)
	}
	if e, is := errors.AsType[*json.SemanticError](err); is {
		field := fieldName(e.JSONPointer)
		switch {
		case errors.Is(e, json.ErrUnknownName):
			return enroll.FaultIn(field, enroll.Invalid, "unknown", "is not a field of this request")
		case field == "":
			return errNoObject
		default:
			return enroll.FaultIn(field, enroll.Invalid, "type", typeDetail(e))
		}
	}
	return &enroll.Error{Code: malformed, Message: "the body cannot be read", Err: err}
}

// typeDetail names the type that a field must have. The error of an optional
// field names the type of its value.
func typeDetail(e *json.SemanticError) string {
	switch {
	case e.JSONKind == 'n':
		return "must not be null"
	case e.GoType == reflect.TypeFor[string]():
		return "must be a string"
	case e.GoType == reflect.TypeFor[bool]():
		return "must be true or false"
	case e.GoType == reflect.TypeFor[int]():
		return "must be a whole number in the allowed range"
	}
	return "must have the documented type"
}

// fieldName returns the top-level name that a pointer leads to, bounded: it is
// the client's text.
func fieldName(p jsontext.Pointer) string {
	const most = 64
	var name string
	for token := range p.Tokens() {
		name = token
		break
	}
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return name
}

// withFaults returns the error with further faults.
func withFaults(err error, more ...enroll.Fault) error {
	if e, is := errors.AsType[*enroll.Error](err); is {
		more = append(e.Faults[:len(e.Faults):len(e.Faults)], more...)
	}
	return &enroll.Error{Code: enroll.Invalid, Faults: more}
}

// maxIdempotencyKey is the longest key, in characters.
const maxIdempotencyKey = 255

// idempotencyKey returns the request's Idempotency-Key, or "" if it has none. It
// may be bare or a quoted string, as in the IETF draft
// (draft-ietf-httpapi-idempotency-key-header); both name the same key.
func idempotencyKey(h http.Header) (string, error) {
	const field = "Idempotency-Key"
	values := h.Values(field)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", enroll.FaultIn(field, enroll.Invalid, "duplicate", "is duplicated: it must be sent once")
	}
	key := strings.TrimSpace(values[0])
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(key[1 : len(key)-1])
	}
	switch {
	case key == "":
		return "", enroll.FaultIn(field, enroll.Invalid, "required", "must not be empty")
	case len(key) > maxIdempotencyKey:
		return "", enroll.FaultIn(field, enroll.Invalid, "too_long", "must not exceed 255 characters")
	}
	for _, b := range []byte(key) {
		if b < ' ' || b > '~' {
			return "", enroll.FaultIn(field, enroll.Invalid, "forbidden_character", "must contain only printable ASCII characters")
		}
	}
	return key, nil
}
