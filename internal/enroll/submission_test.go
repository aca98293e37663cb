package enroll_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// faults returns field and code of each fault of a refusal.
func faults(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*enroll.Error](err)
	if !ok || e.Code != enroll.Invalid {
		t.Fatalf("got %v, want an error of code invalid", err)
	}
	var all []string
	for _, f := range e.Faults {
		if f.Detail == "" {
			t.Errorf("%+v has no detail for people", f)
		}
		all = append(all, f.Field+" "+f.Code)
	}
	return all
}

func TestNewRegister(t *testing.T) {
	t.Parallel()
	t.Run("keeps what was typed", func(t *testing.T) {
		t.Parallel()
		limit := 3
		got, err := enroll.NewRegister(enroll.RegisterInput{
			Run: "go-1", Name: " Ada Lovelace ", Email: " Ada@Example.org ", Language: new("de"), Notify: true, WaitlistLimit: &limit,
			OutsideWindow: true, IdempotencyKey: "key 1",
		})
		if err != nil {
			t.Fatal(err)
		}
		want := enroll.Submission{
			ID: got.ID, Run: "go-1", Kind: enroll.Register, Name: "Ada Lovelace", Language: enroll.German, Notify: true, WaitlistLimit: &limit,
			OutsideWindow: true, ByOrganiser: true, IdempotencyKey: "·organiser key 1", Address: enroll.Address{Typed: "Ada@Example.org", Key: "ada@example.org"},
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	t.Run("asks for nothing that was not sent", func(t *testing.T) {
		t.Parallel()
		got, err := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Name: "Ada", Email: "ada@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		want := enroll.Submission{
			ID: got.ID, Run: "go-1", Kind: enroll.Register, Name: "Ada", Address: enroll.Address{Typed: "ada@example.org", Key: "ada@example.org"},
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	for _, limit := range []int{0, 1, enroll.MaxCapacity} {
		got, err := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Name: "Ada", Email: "ada@example.org", WaitlistLimit: &limit})
		if err != nil || got.WaitlistLimit == nil || *got.WaitlistLimit != limit {
			t.Errorf("with the limit %d: got %+v and %v", limit, got, err)
		}
	}
	for _, test := range []struct {
		name, person, email string
		language            *string
		limit               *int
		want                []string // field and code
	}{
		{"a bad name", "", "ada@example.org", nil, nil, []string{"name required"}},
		{"a bad address", "Ada", "ada", new("en"), nil, []string{"email form"}},
		{"a language without texts", "Ada", "ada@example.org", new("fr"), nil, []string{"language unknown"}},
		{"an empty language", "Ada", "ada@example.org", new(""), nil, []string{"language unknown"}},
		{"a place before the first", "Ada", "ada@example.org", nil, new(-1), []string{"max_waitlist_position range"}},
		{"a place beyond the last", "Ada", "ada@example.org", nil, new(enroll.MaxCapacity + 1), []string{"max_waitlist_position range"}},
		{
			"all, and says so at once", "A\x00", "ada@localhost", new("EN"), new(-1),
			[]string{"name forbidden_character", "email domain", "language unknown", "max_waitlist_position range"},
		},
		{"nothing at all", "", "", nil, nil, []string{"name required", "email required"}},
	} {
		t.Run("refuses "+test.name, func(t *testing.T) {
			t.Parallel()
			got, err := enroll.NewRegister(enroll.RegisterInput{
				Run: "go-1", Name: test.person, Email: test.email, Language: test.language, WaitlistLimit: test.limit, IdempotencyKey: "key",
			})
			if f := faults(t, err); !slices.Equal(f, test.want) {
				t.Errorf("the faults are %q, want %q", f, test.want)
			}
			if got != (enroll.Submission{}) {
				t.Errorf("got %+v beside the error", got)
			}
		})
	}
}

func TestEverySubmissionHasARandomID(t *testing.T) {
	t.Parallel()
	seen := make(map[uuid.UUID]bool)
	for range 2 {
		register, err1 := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Name: "Ada", Email: "ada@example.org"})
		resize, err2 := enroll.NewResize("go-1", enroll.Change{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, sub := range []enroll.Submission{
			register, resize, enroll.NewCancel("go-1", 1, false), enroll.NewCloseWaitlist("go-1"), enroll.NewScheduledCloseWaitlist("go-1"), enroll.NewCallOff("go-1"),
		} {
			if seen[sub.ID] || sub.ID.Version() != 4 || sub.ID.Variant() != uuid.RFC4122 {
				t.Errorf("a %s has the id %s", sub.Kind, sub.ID)
			}
			seen[sub.ID] = true
		}
	}
}

func TestSubmissionsOfOtherKinds(t *testing.T) {
	t.Parallel()
	resize, err := enroll.NewResize("go-1", enroll.Change{Capacity: most(5)})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ got, want enroll.Submission }{
		{enroll.NewCancel("go-1", 7, false), enroll.Submission{Kind: enroll.Cancel, Target: 7}},
		{enroll.NewCancel("go-1", 7, true), enroll.Submission{Kind: enroll.Cancel, Target: 7, ByOrganiser: true}},
		{resize, enroll.Submission{Kind: enroll.Resize, Change: enroll.Change{Capacity: most(5)}, ByOrganiser: true}},
		{enroll.NewCloseWaitlist("go-1"), enroll.Submission{Kind: enroll.CloseWaitlist, ByOrganiser: true}},
		{enroll.NewScheduledCloseWaitlist("go-1"), enroll.Submission{Kind: enroll.CloseWaitlist}},
		{enroll.NewCallOff("go-1"), enroll.Submission{Kind: enroll.CallOff, ByOrganiser: true}},
	} {
		got := test.got
		got.ID, got.IdempotencyKey, test.want.Run = uuid.Nil, "", "go-1"
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %+v, want %+v", got, test.want)
		}
	}
}

func TestCancellingTwiceIsOneRequest(t *testing.T) {
	t.Parallel()
	key := func(target int64, byOrganiser bool) string {
		return enroll.NewCancel("go-1", target, byOrganiser).IdempotencyKey
	}
	if key(7, false) != key(7, true) || key(7, false) == "" {
		t.Errorf("the keys are %q and %q", key(7, false), key(7, true))
	}
	seen := map[string]bool{enroll.NewScheduledCloseWaitlist("go-1").IdempotencyKey: true}
	for _, target := range []int64{1, 7, 17, 71, 77, 1 << 62} {
		if seen[key(target, false)] {
			t.Errorf("the key %q has two meanings", key(target, false))
		}
		seen[key(target, false)] = true
	}
}

func TestScheduledEndsOfAListAreOneRequest(t *testing.T) {
	t.Parallel()
	first, second := enroll.NewScheduledCloseWaitlist("go-1"), enroll.NewScheduledCloseWaitlist("go-1")
	if first.IdempotencyKey == "" || first.IdempotencyKey != second.IdempotencyKey {
		t.Errorf("the keys are %q and %q", first.IdempotencyKey, second.IdempotencyKey)
	}
	resize, err := enroll.NewResize("go-1", enroll.Change{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []enroll.Submission{enroll.NewCloseWaitlist("go-1"), enroll.NewCallOff("go-1"), resize} {
		if sub.IdempotencyKey != "" {
			t.Errorf("a %s by an organiser has the key %q", sub.Kind, sub.IdempotencyKey)
		}
	}
}

// Clients' keys are printable ASCII: the API refuses others.
func TestNoClientCanSendAnInternalKey(t *testing.T) {
	t.Parallel()
	printable := func(r rune) bool { return r >= ' ' && r <= '~' }
	rapid.Check(t, func(t *rapid.T) {
		for _, sub := range []enroll.Submission{enroll.NewCancel("go-1", rapid.Int64Min(1).Draw(t, "target"), true), enroll.NewScheduledCloseWaitlist("go-1")} {
			if !strings.ContainsFunc(sub.IdempotencyKey, func(r rune) bool { return !printable(r) }) {
				t.Errorf("a client can send %q", sub.IdempotencyKey)
			}
			if len(sub.IdempotencyKey) > 255 {
				t.Errorf("%q is longer than a key may be", sub.IdempotencyKey)
			}
		}
	})
}

func TestNewResize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		enroll.Change
	}{
		{"nothing", enroll.Change{}},
		{"no seats and no places", enroll.Change{Capacity: most(0), WaitlistCapacity: most(0)}},
		{"as many as there can be", enroll.Change{Capacity: most(enroll.MaxCapacity), WaitlistCapacity: most(enroll.MaxCapacity)}},
		{"no limit", enroll.Change{Capacity: unlimited(), WaitlistCapacity: unlimited()}},
		{"the seats only", enroll.Change{Capacity: most(1)}},
		{"the list only", enroll.Change{WaitlistCapacity: most(1)}},
	} {
		t.Run("takes "+test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := enroll.NewResize("go-1", test.Change); err != nil || !reflect.DeepEqual(got.Change, test.Change) {
				t.Errorf("got %+v and %v", got, err)
			}
		})
	}
	for _, test := range []struct {
		name string
		enroll.Change
		want []string
	}{
		{"less than no seats", enroll.Change{Capacity: most(-1)}, []string{"capacity range"}},
		{"more seats than there can be", enroll.Change{Capacity: most(enroll.MaxCapacity + 1)}, []string{"capacity range"}},
		{"less than no places", enroll.Change{WaitlistCapacity: most(-1)}, []string{"waitlist_capacity range"}},
		{"more places than there can be", enroll.Change{Capacity: most(1), WaitlistCapacity: most(enroll.MaxCapacity + 1)}, []string{"waitlist_capacity range"}},
		{"both, and says so at once", enroll.Change{Capacity: most(-1), WaitlistCapacity: most(-1)}, []string{"capacity range", "waitlist_capacity range"}},
	} {
		t.Run("refuses "+test.name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // in the same order each time
				got, err := enroll.NewResize("go-1", test.Change)
				if f := faults(t, err); !slices.Equal(f, test.want) {
					t.Fatalf("the faults are %q, want %q", f, test.want)
				}
				if got != (enroll.Submission{}) {
					t.Errorf("got %+v beside the error", got)
				}
			}
		})
	}
}

func TestReceiptMatches(t *testing.T) {
	t.Parallel()
	register := func(change func(*enroll.RegisterInput)) enroll.Submission {
		in := enroll.RegisterInput{Run: "go-1", Name: "Ada", Email: "ada@example.org", Language: new("de"), WaitlistLimit: new(3), IdempotencyKey: "key"}
		change(&in)
		sub, err := enroll.NewRegister(in)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	first := register(func(*enroll.RegisterInput) {})
	receipt := enroll.ReceiptFor(first, enroll.Registration{ID: first.ID, Ticket: 4})
	if receipt.Ticket != 4 || receipt.ID != first.ID || receipt.Again || receipt.Kind != enroll.Register || !receipt.Matches(first) {
		t.Errorf("the receipt is %+v", receipt)
	}
	for name, test := range map[string]struct {
		change func(*enroll.RegisterInput)
		want   bool
	}{
		"the same again":                  {func(*enroll.RegisterInput) {}, true},
		"blanks around":                   {func(in *enroll.RegisterInput) { in.Name, in.Email = " Ada ", " ada@example.org " }, true},
		"another name":                    {func(in *enroll.RegisterInput) { in.Name = "Bob" }, false},
		"another address":                 {func(in *enroll.RegisterInput) { in.Email = "bob@example.org" }, false},
		"the address in other letters":    {func(in *enroll.RegisterInput) { in.Email = "Ada@example.org" }, false},
		"another language":                {func(in *enroll.RegisterInput) { in.Language = new("en") }, false},
		"no language":                     {func(in *enroll.RegisterInput) { in.Language = nil }, false},
		"a refusal told by mail":          {func(in *enroll.RegisterInput) { in.Notify = true }, false},
		"the same limit at another place": {func(in *enroll.RegisterInput) { in.WaitlistLimit = new(3) }, true},
		"another limit":                   {func(in *enroll.RegisterInput) { in.WaitlistLimit = new(4) }, false},
		"no limit":                        {func(in *enroll.RegisterInput) { in.WaitlistLimit = nil }, false},
	} {
		if got := receipt.Matches(register(test.change)); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}

	anyPlace := register(func(in *enroll.RegisterInput) { in.WaitlistLimit = nil })
	if r := enroll.ReceiptFor(anyPlace, enroll.Registration{}); !r.Matches(anyPlace) || r.Matches(first) || r.Matches(register(func(in *enroll.RegisterInput) { in.WaitlistLimit = new(0) })) {
		t.Error("no limit matches a limit")
	}

	cancel := enroll.NewCancel("go-1", 4, false)
	r := enroll.ReceiptFor(cancel, enroll.Registration{})
	if r.Kind != enroll.Cancel || r.Target != 4 || !r.Matches(cancel) || !r.Matches(enroll.NewCancel("go-1", 4, true)) {
		t.Errorf("the receipt of a cancel is %+v", r)
	}
	if r.Matches(enroll.NewCancel("go-1", 5, false)) || r.Matches(first) || r.Matches(enroll.NewCloseWaitlist("go-1")) || receipt.Matches(cancel) {
		t.Error("a cancel matches another request")
	}
	if promote := enroll.NewScheduledCloseWaitlist("go-1"); !enroll.ReceiptFor(promote, enroll.Registration{}).Matches(enroll.NewScheduledCloseWaitlist("go-1")) {
		t.Error("the end of the list is not the same twice")
	}
}
