package postgres

import (
	"reflect"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzParseChange: the change that is read is written in one way, by which it is
// read again as it was.
func FuzzParseChange(f *testing.F) {
	for _, seed := range []string{
		`{"capacity": 15}`, `{"capacity": null, "waitlist_capacity": 0}`, `{}`, `null`, `[]`, `15`, ``, `{"capacity": -1}`, `{"capacity": 1e3}`,
		`{"capacity": "15"}`, `{"Capacity": 15}`, `{"capacity": 1, "capacity": 2}`, `{"capacity": 9223372036854775808}`, `{"other": 1}`, "{\"\xff\": 1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseChange(text)
		if err != nil {
			if c != (enroll.Change{}) {
				t.Errorf("%q is refused, and %+v", text, c)
			}
			return
		}
		written := changeJSON(enroll.Submission{Kind: enroll.Resize, Change: c})
		again, err := parseChange(written)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%q became %+v, was written as %s and read as %+v, %v", text, c, written, again, err)
		}
	})
}
