package enroll_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzNewRegister compares the submission with its parts: it is accepted if all
// parts are, and a refusal names every part that is not.
func FuzzNewRegister(f *testing.F) {
	f.Add("Ada Lovelace", "ada@example.org", "de", true, int64(3))
	f.Add("", "", "", true, int64(-1))
	f.Add("\u202e", "Ada <ada@example.org>", "EN", true, int64(enroll.MaxCapacity+1))
	f.Add("Ada", "ada@BÜCHER.example", "xx", false, int64(1)<<40)
	f.Fuzz(func(t *testing.T, name, email, language string, given bool, limit int64) {
		input := enroll.RegisterInput{Run: "go-1", Name: name, Email: email, IdempotencyKey: "k"}
		var want []string
		if _, err := enroll.ParseName(name); err != nil {
			want = append(want, "name")
		}
		if _, err := enroll.ParseAddress(email); err != nil {
			want = append(want, "email")
		}
		if given {
			most := int(limit)
			input.Language, input.WaitlistLimit = &language, &most
			if !slices.Contains(enroll.Languages, enroll.Language(language)) {
				want = append(want, "language")
			}
			if limit < 0 || limit > enroll.MaxCapacity {
				want = append(want, "max_waitlist_position")
			}
		}
		sub, err := enroll.NewRegister(input)
		if err != nil {
			var got []string
			e, is := errors.AsType[*enroll.Error](err)
			if !is || e.Code != enroll.Invalid || sub.ID != uuid.Nil {
				t.Fatalf("got %+v, %v", sub, err)
			}
			for _, each := range e.Faults {
				got = append(got, each.Field)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v has faults in %q, want %q", input, got, want)
			}
			return
		}
		if len(want) > 0 {
			t.Fatalf("%+v was accepted, but %q are wrong", input, want)
		}
		if sub.ID == uuid.Nil || sub.Kind != enroll.Register || sub.Run != input.Run || sub.IdempotencyKey != "k" || sub.ByOrganiser {
			t.Errorf("got %+v", sub)
		}
		// Blanks around a value do not matter when a repeated IdempotencyKey is
		// compared.
		input.Name, input.Email = " "+string(sub.Name)+"\t", "\r\n"+sub.Address.Typed
		again, err := enroll.NewRegister(input)
		if err != nil || !enroll.ReceiptFor(sub, enroll.Registration{}).Matches(again) || again.ID == sub.ID {
			t.Errorf("%+v became %+v, %v", sub, again, err)
		}
	})
}

// FuzzParseWords looks for words that are mistaken for one of the known ones.
func FuzzParseWords(f *testing.F) {
	for _, seed := range []string{"", "en", "de", "EN", " en", "en\x00", "pending", "sent", "failed", "skipped", "Sent", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		language, err := enroll.ParseLanguage(word)
		if known := word == "en" || word == "de"; (err == nil) != known || err == nil && string(language) != word {
			t.Errorf("ParseLanguage(%q) = %q, %v", word, language, err)
		}
		if err != nil {
			if f := fault(t, err); f.Field != "language" || language != "" {
				t.Errorf("ParseLanguage(%q) = %q, %+v", word, language, f)
			}
		}
		state, err := enroll.ParseMailState(word)
		if known := slices.Contains(strings.Fields("pending sent failed skipped"), word); (err == nil) != known || err == nil && string(state) != word {
			t.Errorf("ParseMailState(%q) = %q, %v", word, state, err)
		}
		if err != nil {
			if f := fault(t, err); f.Field != "state" || state != "" {
				t.Errorf("ParseMailState(%q) = %q, %+v", word, state, f)
			}
		}
	})
}

// FuzzNewResize compares the accepted numbers with their bounds.
func FuzzNewResize(f *testing.F) {
	f.Add(true, int64(0), true, int64(enroll.MaxCapacity))
	f.Add(true, int64(-1), false, int64(0))
	f.Add(false, int64(0), true, int64(enroll.MaxCapacity+1))
	f.Fuzz(func(t *testing.T, limited bool, seats int64, listed bool, places int64) {
		limit := func(is bool, n int64) *enroll.Limit {
			if !is {
				return &enroll.Limit{}
			}
			most := int(n)
			return &enroll.Limit{Most: &most}
		}
		within := func(is bool, n int64) bool { return !is || n >= 0 && n <= enroll.MaxCapacity }
		c := enroll.Change{Capacity: limit(limited, seats), WaitlistCapacity: limit(listed, places)}
		sub, err := enroll.NewResize("go-1", c)
		if want := within(limited, seats) && within(listed, places); (err == nil) != want || err != nil && enroll.CodeOf(err) != enroll.Invalid {
			t.Fatalf("%+v: %v", c, err)
		}
		if err == nil && (sub.Change != c || sub.Kind != enroll.Resize || !sub.ByOrganiser) {
			t.Errorf("got %+v", sub)
		}
	})
}
