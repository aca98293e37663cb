package enroll_test

import (
	"math"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSettleRegister(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"an empty line changes nothing",
			scene{capacity: new(3), places: new(1), seated: []string{"ada", "bob"}},
			told{after: "2/3 seats, 0/1 places"},
		},
		{
			"a run without seats rejects everybody",
			scene{capacity: new(0), places: new(0), line: everybody("ada", "bob")},
			told{outcomes: "ada rejected full, bob rejected full", after: "0/0 seats, 0/0 places"},
		},
		{
			"the only seat goes to the first",
			scene{capacity: new(1), places: new(0), line: everybody("ada", "bob")},
			told{"ada confirmed, bob rejected full", "", "ada confirmed", "1/1 seats, 0/0 places"},
		},
		{
			"the last seat goes to the smallest ticket",
			scene{capacity: new(3), places: new(0), seated: []string{"ada", "bob"}, line: everybody("cy", "dee", "eve")},
			told{"cy confirmed, dee rejected full, eve rejected full", "", "cy confirmed", "3/3 seats, 0/0 places"},
		},
		{
			"exactly as many seats as people",
			scene{capacity: new(2), places: new(0), line: everybody("ada", "bob")},
			told{"ada confirmed, bob confirmed", "", "ada confirmed, bob confirmed", "2/2 seats, 0/0 places"},
		},
		{
			"an unlimited run never fills",
			scene{places: new(5), seated: []string{"ada"}, line: everybody("bob", "cy")},
			told{"bob confirmed, cy confirmed", "", "bob confirmed, cy confirmed", "3/∞ seats, 0/5 places"},
		},
		{
			"a run over capacity confirms nobody",
			scene{capacity: new(1), places: new(0), seated: []string{"ada", "bob"}, line: everybody("cy")},
			told{outcomes: "cy rejected full", after: "2/1 seats, 0/0 places"},
		},
		{
			"a run over capacity lists people",
			scene{capacity: new(1), places: new(1), seated: []string{"ada", "bob"}, line: everybody("cy")},
			told{"cy waitlisted", "", "cy waitlisted", "2/1 seats, 1/1 places"},
		},

		{
			"people who find no seat get places on the list while it has room",
			scene{capacity: new(1), places: new(2), line: everybody("ada", "bob", "cy", "dee")},
			told{"ada confirmed, bob waitlisted, cy waitlisted, dee rejected full", "", "ada confirmed, bob waitlisted, cy waitlisted", "1/1 seats, 2/2 places"},
		},
		{
			"an unlimited list takes everybody",
			scene{capacity: new(0), line: everybody("ada", "bob", "cy")},
			told{"ada waitlisted, bob waitlisted, cy waitlisted", "", "ada waitlisted, bob waitlisted, cy waitlisted", "0/0 seats, 3/∞ places"},
		},
		{
			"a newcomer does not overtake the list, even if a seat is free",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: everybody("cy")},
			told{"cy waitlisted", "", "cy waitlisted", "1/2 seats, 2/∞ places"},
		},
		{
			"a newcomer does not overtake a list that is not given",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, given: new(0), line: everybody("cy")},
			told{"cy waitlisted", "", "cy waitlisted", "1/2 seats, 2/∞ places"},
		},
		{
			"a newcomer does not overtake a full list, even if a seat is free",
			scene{capacity: new(2), places: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: everybody("cy")},
			told{outcomes: "cy rejected full", after: "1/2 seats, 1/1 places"},
		},
		{
			"a list whose capacity was lowered below its length takes nobody",
			scene{capacity: new(0), places: new(1), listed: []string{"ada", "bob"}, line: everybody("cy")},
			told{outcomes: "cy rejected full", after: "0/0 seats, 2/1 places"},
		},
		{
			"a list that has ended takes nobody, unlimited or not",
			scene{capacity: new(1), seated: []string{"ada"}, ended: true, line: everybody("bob")},
			told{outcomes: "bob rejected full", after: "1/1 seats, 0/∞ places, ended"},
		},
		{
			"a free seat is given after the list has ended",
			scene{capacity: new(1), ended: true, line: everybody("ada", "bob")},
			told{"ada confirmed, bob rejected full", "", "ada confirmed", "1/1 seats, 0/∞ places, ended"},
		},

		{
			"a limit does not matter while there is a seat",
			scene{capacity: new(2), line: []ask{registers("ada").upTo(0), registers("bob").upTo(1)}},
			told{"ada confirmed, bob confirmed", "", "ada confirmed, bob confirmed", "2/2 seats, 0/∞ places"},
		},
		{
			"a request for a seat or nothing gets nothing in a full run",
			scene{capacity: new(0), line: []ask{registers("ada").upTo(0).notify(), registers("bob")}},
			told{"ada rejected full, bob waitlisted", "", "ada full, bob waitlisted", "0/0 seats, 1/∞ places"},
		},
		{
			"the last place within the limit is taken, and the next one is not",
			scene{
				capacity: new(0), listed: []string{"ada"},
				line: []ask{registers("bob").upTo(1), registers("cy").upTo(2), registers("dee").upTo(2), registers("eve").upTo(3)},
			},
			told{
				"bob rejected waitlist_too_long, cy waitlisted, dee rejected waitlist_too_long, eve waitlisted", "",
				"cy waitlisted, eve waitlisted", "0/0 seats, 3/∞ places",
			},
		},
		{
			"a refusal for a long list is told by mail if the request says so",
			scene{capacity: new(0), listed: []string{"ada"}, line: []ask{registers("bob").upTo(1).notify()}},
			told{"bob rejected waitlist_too_long", "", "bob full", "0/0 seats, 1/∞ places"},
		},
		{
			"a full list refuses with full, whatever the limit",
			scene{capacity: new(0), places: new(2), listed: []string{"ada", "bob"}, line: []ask{registers("cy").upTo(1), registers("dee").upTo(9)}},
			told{outcomes: "cy rejected full, dee rejected full", after: "0/0 seats, 2/2 places"},
		},
		{
			"a list that has ended refuses with full, whatever the limit",
			scene{capacity: new(0), ended: true, line: []ask{registers("ada").upTo(3), registers("bob").upTo(0)}},
			told{outcomes: "ada rejected full, bob rejected full", after: "0/0 seats, 0/∞ places, ended"},
		},
		{
			"a list of no places refuses with full, whatever the limit",
			scene{capacity: new(0), places: new(0), line: []ask{registers("ada").upTo(3)}},
			told{outcomes: "ada rejected full", after: "0/0 seats, 0/0 places"},
		},
		{
			"a place given up counts for the limit of the next request",
			scene{capacity: new(0), listed: []string{"ada", "bob"}, line: []ask{cancels("ada"), registers("cy").upTo(2)}},
			told{"cancel ada done, cy waitlisted", "ada waitlisted→cancelled", "ada cancelled, cy waitlisted", "0/0 seats, 2/∞ places"},
		},

		{
			"an address that asks twice gets one seat, and the mail goes to the registration that has it",
			scene{capacity: new(3), line: everybody("ada", "ada again", "bob")},
			told{"ada confirmed, ada again rejected already_registered, bob confirmed", "", "ada confirmed, ada already_registered, bob confirmed", "2/3 seats, 0/∞ places"},
		},
		{
			"asking often is refused each time",
			scene{line: everybody("ada", "ada 2", "ada 3")},
			told{"ada confirmed, ada 2 rejected already_registered, ada 3 rejected already_registered", "", "ada confirmed, ada already_registered, ada already_registered", "1/∞ seats, 0/∞ places"},
		},
		{
			"an address with a seat gets neither another nor a place",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, line: everybody("ada again", "cy", "bob again")},
			told{
				"ada again rejected already_registered, cy waitlisted, bob again rejected already_registered", "",
				"ada already_registered, cy waitlisted, bob already_registered", "2/2 seats, 1/∞ places",
			},
		},
		{
			"an address on the list gets neither another place nor a seat",
			scene{capacity: new(1), listed: []string{"ada"}, line: everybody("ada again")},
			told{"ada again rejected already_registered", "", "ada already_registered", "0/1 seats, 1/∞ places"},
		},
		{
			"an address that was listed in the same call is on the list",
			scene{capacity: new(0), line: everybody("ada", "ada again")},
			told{"ada waitlisted, ada again rejected already_registered", "", "ada waitlisted, ada already_registered", "0/0 seats, 1/∞ places"},
		},
		{
			"already registered comes before full and before a limit",
			scene{capacity: new(1), places: new(0), ended: true, seated: []string{"ada"}, line: []ask{registers("ada again").upTo(0).notify()}},
			told{"ada again rejected already_registered", "", "ada already_registered", "1/1 seats, 0/0 places, ended"},
		},
		{
			"a refused address may ask again, and is refused again",
			scene{capacity: new(0), places: new(0), line: everybody("ada", "ada again")},
			told{outcomes: "ada rejected full, ada again rejected full", after: "0/0 seats, 0/0 places"},
		},
		{
			"an address that was refused for want of a seat may ask again for a place",
			scene{capacity: new(0), line: []ask{registers("ada").upTo(0), registers("ada again")}},
			told{"ada rejected full, ada again waitlisted", "", "ada again waitlisted", "0/0 seats, 1/∞ places"},
		},
		{
			"addresses are compared as they are",
			scene{line: everybody("ada", "Ada")},
			told{"ada confirmed, Ada confirmed", "", "ada confirmed, Ada confirmed", "2/∞ seats, 0/∞ places"},
		},
		{
			"a refusal is told by mail if the request says so",
			scene{capacity: new(0), places: new(0), line: []ask{registers("ada").notify(), registers("bob"), registers("cy").notify()}},
			told{"ada rejected full, bob rejected full, cy rejected full", "", "ada full, cy full", "0/0 seats, 0/0 places"},
		},
		{
			"a run that is called off rejects every request, and tells everybody",
			scene{calledOff: true, ended: true, line: []ask{registers("ada"), registers("ada again"), registers("bob").upTo(0).notify()}},
			told{
				"ada rejected called_off, ada again rejected called_off, bob rejected called_off", "",
				"ada called_off, ada again called_off, bob called_off", "0/∞ seats, 0/∞ places, ended, called off",
			},
		},
	})

	t.Run("tickets and numbers may be as large as they can", func(t *testing.T) {
		t.Parallel()
		got := enroll.Settle(enroll.RunCounts{Taken: math.MaxInt32}, nil, nil, []enroll.Request{{Ticket: math.MaxInt64, Kind: enroll.Register, Key: "ada"}})
		if len(got.Outcomes) != 1 || got.Outcomes[0].Ticket != math.MaxInt64 || got.Counts.Taken != math.MaxInt32+1 {
			t.Errorf("got %+v", got)
		}
	})
}
