package httpapi

import (
	stdjson "encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// refused asserts that an error blames the body, and names each field once.
func refused(t *testing.T, err error) {
	t.Helper()
	code := enroll.CodeOf(err)
	if status := statuses[code].status; status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		t.Fatalf("%v has code %s and status %d", err, code, status)
	}
	e, _ := errors.AsType[*enroll.Error](err)
	if code == enroll.Invalid && len(e.Faults) == 0 {
		t.Errorf("%v names no field", err)
	}
	var seen []string
	for _, each := range e.Faults {
		if slices.Contains(seen, each.Field) {
			t.Errorf("%v names %s twice", err, each.Field)
		}
		seen = append(seen, each.Field)
	}
}

// object returns what the standard library takes the body for, which is more
// lenient.
func object(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var members map[string]any
	if err := stdjson.Unmarshal(body, &members); err != nil {
		t.Fatalf("%q is accepted, and is no object: %v", body, err)
	}
	return members
}

// FuzzWish: whatever is accepted can be settled, and says what the body says.
func FuzzWish(f *testing.F) {
	for _, seed := range []string{
		`{"name":"Ada Lovelace","email":"ada@example.org"}`,
		`{"name":" Ada ","email":"ada@B\u00dcCHER.example","language":"de","notify":true,"waitlist":true,"max_waitlist_position":3}`,
		`{"name":"Ada","email":"ada@example.org","waitlist":false}`,
		`{"name":"Ada","email":"ada@example.org","waitlist":false,"max_waitlist_position":3}`,
		`{"name":"Ada","email":"ada@example.org","max_waitlist_position":0}`,
		`{"name":"Ada","email":"ada@example.org","max_waitlist_position":1000001,"language":"xx"}`,
		`{"name":"Ada","email":"ada@example.org","max_waitlist_position":9223372036854775808}`,
		`{"name":"Ada","email":"ada@example.org","language":null}`, `{"name":"Ada","email":"ada@example.org","waitlist":"no"}`,
		`{"name":"Ada","email":"ada@example.org","outside_window":true}`, `{"name":"","email":"","language":"","max_waitlist_position":-1}`,
		`{"name":"Ada","email":"ada@example.org","waitlist":true,"waitlist":false}`, `{"notify":1}`, `{}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var input registerInputJSON
		err := decodeJSON(body, &input)
		var sub enroll.Submission
		if err == nil {
			sub, err = input.submission("go-1", "k", false)
		}
		if err != nil {
			refused(t, err)
			return
		}
		said := object(t, body)
		if name, err := enroll.ParseName(said["name"].(string)); err != nil || name != sub.Name {
			t.Errorf("%q has the name %q", body, sub.Name)
		}
		if address, err := enroll.ParseAddress(said["email"].(string)); err != nil || address != sub.Address {
			t.Errorf("%q has the address %+v", body, sub.Address)
		}
		if language, is := said["language"]; is != (sub.Language != "") || is && language != string(sub.Language) {
			t.Errorf("%q has the language %q", body, sub.Language)
		}
		if notify, _ := said["notify"].(bool); notify != sub.Notify {
			t.Errorf("%q has notify %t", body, sub.Notify)
		}
		if outside, _ := said["outside_window"].(bool); outside != sub.OutsideWindow {
			t.Errorf("%q is accepted outside of the window: %t", body, sub.OutsideWindow)
		}
		waitlist, is := said["waitlist"].(bool)
		most, limited := said["max_waitlist_position"].(float64)
		switch limit := sub.WaitlistLimit; {
		case limited && (limit == nil || *limit != int(most) || *limit < 1 || *limit > enroll.MaxCapacity || is && !waitlist):
			t.Errorf("%q has the limit %v", body, limit)
		case !limited && is && !waitlist && (limit == nil || *limit != 0):
			t.Errorf("%q has the limit %v, and wants no place", body, limit)
		case !limited && (waitlist || !is) && limit != nil:
			t.Errorf("%q has the limit %d", body, *limit)
		}
	})
}

// FuzzResize: what is accepted is what the body says, within its bounds.
func FuzzResize(f *testing.F) {
	for _, seed := range []string{
		`{"capacity":15}`, `{"capacity":null,"waitlist_capacity":0}`, `{"waitlist_capacity":1000000}`, `{"capacity":1000001}`, `{"capacity":-1}`,
		`{"capacity":-0}`, `{"capacity":1.0}`, `{"capacity":1e2}`, `{"capacity":"1"}`, `{"capacity":[null]}`, `{"capacity":9223372036854775808}`,
		`{"capacity":1,"capacity":2}`, `{"Capacity":1}`, `{}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var resize resizeJSON
		err := decodeJSON(body, &resize)
		var sub enroll.Submission
		if err == nil {
			sub, err = resize.submission("go-1")
		}
		if err != nil {
			refused(t, err)
			return
		}
		said := object(t, body)
		for name, limit := range map[string]*enroll.Limit{"capacity": sub.Change.Capacity, "waitlist_capacity": sub.Change.WaitlistCapacity} {
			value, is := said[name]
			if is != (limit != nil) || is && (value == nil) != (limit.Most == nil) {
				t.Errorf("%q has the %s %+v", body, name, limit)
			} else if n, number := value.(float64); number && (float64(*limit.Most) != n || n < 0 || n > enroll.MaxCapacity) {
				t.Errorf("%q has the %s %d", body, name, *limit.Most)
			}
		}
		if len(said) == 0 || sub.Kind != enroll.Resize || !sub.ByOrganiser {
			t.Errorf("%q became %+v", body, sub)
		}
	})
}

// FuzzCorrection compares the person read from a body with the person registered
// by it.
func FuzzCorrection(f *testing.F) {
	for _, seed := range []string{
		`{"name":"Ada Lovelace","email":"ada@example.org"}`, `{"name":"","email":""}`, `{"name":"\u202e","email":"ada@example.org"}`,
		`{"name":"Ada","email":"ada"}`, `{"email":"ada@example.org"}`, `{"name":"Ada","email":"ada@example.org","notify":true}`, `{}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var correction correctionJSON
		err := decodeJSON(body, &correction)
		var name enroll.Name
		var address enroll.Address
		if err == nil {
			name, address, err = correction.person()
			sub, refusal := enroll.NewRegister(enroll.RegisterInput{Name: correction.Name, Email: correction.Email})
			if (err == nil) != (refusal == nil) || err == nil && (sub.Name != name || sub.Address != address) || err != nil && err.Error() != refusal.Error() {
				t.Errorf("%q corrects to %q, %+v, %v, and would register %q, %+v, %v", body, name, address, err, sub.Name, sub.Address, refusal)
			}
		}
		if err != nil {
			refused(t, err)
			return
		}
		if said := object(t, body); len(said) != 2 {
			t.Errorf("%q is accepted", body)
		}
	})
}
