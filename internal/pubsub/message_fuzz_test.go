package pubsub

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func FuzzParseWake(f *testing.F) {
	for _, seed := range []string{"7 go-1 0", "2147483647 a 1", "", "1", "1 a", "1 UPPER 0", "0 a 0", "-1 a 0", "1 a 2", "1 a 0 0", "1 a 0\n", "+1 a 0", "01 a 0", "1\ta 0", "1 a\x00 0", "99999999999 a 0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		w, err := parseWake(message)
		if err != nil {
			if w != (Wake{}) {
				t.Errorf("%q is refused, and %+v", message, w)
			}
			return
		}
		if w.message() != message {
			t.Errorf("%q is read as %q", message, w.message())
		}
		// The slug becomes a queue's name, and the number becomes a lock.
		if slug, err := enroll.ParseSlug(w.Run); err != nil || slug != w.Run || w.RunID < 1 {
			t.Errorf("%q is %+v", message, w)
		}
	})
}

func FuzzParseSettled(f *testing.F) {
	for _, seed := range []string{"7 3 9", "1 1 1", "2147483647 1 9223372036854775807", "", "1 2", "1 2 1", "0 1 1", "1 0 1", "1 1 1 1", "1 1 1\n", "1 1 0x1", "1 1 1_0", "99999999999 1 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		s, err := parseSettled(message)
		if err != nil {
			if s != (Settled{}) {
				t.Errorf("%q is refused, and %+v", message, s)
			}
			return
		}
		if s.message() != message || s.RunID < 1 || s.First < 1 || s.Last < s.First {
			t.Errorf("%q is read as %+v", message, s)
		}
	})
}
