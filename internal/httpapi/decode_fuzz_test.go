package httpapi

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzDecode holds what is decoded against the standard library, which is more
// lenient: whatever passes here must pass there with the same result.
func FuzzDecode(f *testing.F) {
	const good = `{"name":"Ada Lovelace","email":"ada@example.org"}`
	for _, seed := range []string{
		"", " ", "null", "[]", "1", `""`, "{}", good, good + " ", good + good, good[1:], "\ufeff" + good,
		`{"NAME":"x"}`, `{"name":"x","name":"y"}`, `{"name":"x","n\u0061me":"y"}`, `{"name":null,"email":null}`, `{"name":1}`,
		`{"name":"\ud800"}`, `{"name":"\ud83d\ude00"}`, `{"name":"\u0000"}`, "{\"name\":\"\xff\"}", "{\"\xff\":1}", `{"":1}`, `{"a/~b":{"c":[1,`,
		`{"email":{"name":[]}}`, strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100), `{"name":1e999}`, `{"name":"` + strings.Repeat("x", 1000) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	type form struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got form
		given := bytes.Clone(body)
		err := decodeJSON(body, &got)
		if !bytes.Equal(body, given) {
			t.Fatal("it changed the body")
		}
		if err == nil {
			var want form
			d := stdjson.NewDecoder(bytes.NewReader(body))
			d.DisallowUnknownFields()
			if err := d.Decode(&want); err != nil || got != want || d.More() {
				t.Fatalf("got %+v, the standard library %+v, %v", got, want, err)
			}
			if !utf8.ValidString(got.Name) || !utf8.ValidString(got.Email) {
				t.Fatalf("%+v is not valid UTF-8", got)
			}
			if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
				t.Fatal("it is not an object")
			}
			return
		}
		code := enroll.CodeOf(err)
		if status := statuses[code].status; status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
			t.Fatalf("%v has code %s and status %d", err, code, status)
		}
		e, is := errors.AsType[*enroll.Error](err)
		if !is {
			t.Fatalf("%T is not one of ours", err)
		}
		if code == enroll.Invalid && len(e.Faults) != 1 {
			t.Fatalf("%v names %d fields", err, len(e.Faults))
		}
		for _, each := range e.Faults {
			if each.Code == "" || each.Detail == "" || utf8.RuneCountInString(each.Field) > 65 {
				t.Fatalf("a fault is %+v", each)
			}
		}
		if code == malformed && len(e.Faults) == 0 && e.Message == "" {
			t.Fatal("it does not say what is wrong")
		}
	})
}
