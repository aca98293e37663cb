package enroll_test

import "testing"

// TestSettleTogether cancels registrations that were made or promoted in the same
// call, and registers their addresses again.
func TestSettleTogether(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"a registration of the same call gives up its seat and ends cancelled",
			scene{capacity: new(1), line: []ask{registers("ada"), cancels("ada")}},
			told{"ada cancelled, cancel ada done", "", "ada confirmed, ada cancelled", "0/1 seats, 0/∞ places"},
		},
		{
			"a registration of the same call leaves the list",
			scene{capacity: new(0), line: []ask{registers("ada"), registers("bob"), cancels("ada").byOrganiser()}},
			told{"ada cancelled removed, bob waitlisted, cancel ada done", "", "ada waitlisted, bob waitlisted, ada cancelled", "0/0 seats, 1/∞ places"},
		},
		{
			"a registration of the same call is promoted and ends confirmed",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob"), cancels("ada")}},
			told{"bob confirmed, cancel ada done", "ada confirmed→cancelled", "bob waitlisted, ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
		{
			"a seat passes through three registrations of one call",
			scene{capacity: new(1), line: []ask{registers("ada"), registers("bob"), registers("cy"), cancels("ada"), cancels("bob")}},
			told{
				"ada cancelled, bob cancelled, cy confirmed, cancel ada done, cancel bob done", "",
				"ada confirmed, bob waitlisted, cy waitlisted, ada cancelled, bob promoted, bob cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a person who is promoted and cancels in the same call passes the seat on",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), cancels("bob")}},
			told{
				"cancel ada done, cancel bob done", "ada confirmed→cancelled, bob waitlisted→cancelled, cy waitlisted→confirmed",
				"ada cancelled, bob promoted, bob cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a newcomer on the list is not promoted before people who are not given",
			scene{
				capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy", "dee"}, given: new(2),
				line: []ask{registers("eve"), cancels("ada")},
			},
			told{
				"eve waitlisted, cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"eve waitlisted, ada cancelled, bob promoted", "1/1 seats, 3/∞ places",
			},
		},
		{ // less is given than Settle asks for
			"a newcomer on the list is never promoted before people who are not given",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, given: new(0), line: []ask{registers("eve"), cancels("ada")}},
			told{"eve waitlisted, cancel ada done", "ada confirmed→cancelled", "eve waitlisted, ada cancelled", "0/1 seats, 2/∞ places"},
		},
		{
			"as many cancels as people given promote them all",
			scene{
				capacity: new(2), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee", "eve", "fay"}, given: new(3),
				line: []ask{cancels("ada"), cancels("bob"), cancels("cy")},
			},
			told{
				"cancel ada done, cancel bob done, cancel cy done",
				"ada confirmed→cancelled, cy waitlisted→cancelled, bob confirmed→cancelled, dee waitlisted→confirmed, eve waitlisted→confirmed",
				"ada cancelled, cy promoted, bob cancelled, dee promoted, cy cancelled, eve promoted", "2/2 seats, 1/∞ places",
			},
		},

		{
			"cancelling and registering again in one call gets a seat if one is free",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{cancels("ada"), registers("ada again")}},
			told{"cancel ada done, ada again confirmed", "ada confirmed→cancelled", "ada cancelled, ada again confirmed", "1/1 seats, 0/∞ places"},
		},
		{
			"cancelling and registering again in one call gets the last place",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), registers("ada again"), cancels("bob"), cancels("cy")}},
			told{
				"cancel ada done, ada again confirmed, cancel bob done, cancel cy done",
				"ada confirmed→cancelled, bob waitlisted→cancelled, cy waitlisted→cancelled",
				"ada cancelled, bob promoted, ada again waitlisted, bob cancelled, cy promoted, cy cancelled, ada again promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"leaving the list and registering again in one call gets the last place",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("bob"), registers("bob again"), cancels("ada")}},
			told{
				"cancel bob done, bob again waitlisted, cancel ada done", "bob waitlisted→cancelled, ada confirmed→cancelled, cy waitlisted→confirmed",
				"bob cancelled, bob again waitlisted, ada cancelled, cy promoted", "1/1 seats, 1/∞ places",
			},
		},
		{
			"registering, cancelling and registering again in one call is one seat",
			scene{capacity: new(1), places: new(0), line: []ask{registers("ada"), cancels("ada"), registers("ada again"), registers("ada 3"), registers("bob")}},
			told{
				"ada cancelled, cancel ada done, ada again confirmed, ada 3 rejected already_registered, bob rejected full", "",
				"ada confirmed, ada cancelled, ada again confirmed, ada again already_registered", "1/1 seats, 0/0 places",
			},
		},
		{
			"cancelling the first registration once more leaves the second alone",
			scene{seated: []string{"ada"}, line: []ask{cancels("ada"), registers("ada again"), cancels("ada"), registers("ada 3")}},
			told{
				"cancel ada done, ada again confirmed, cancel ada done no_effect, ada 3 rejected already_registered", "ada confirmed→cancelled",
				"ada cancelled, ada again confirmed, ada again already_registered", "1/∞ seats, 0/∞ places",
			},
		},
		{
			"asking again before cancelling is refused, and told of the registration that is cancelled next",
			scene{seated: []string{"ada"}, line: []ask{registers("ada again"), cancels("ada"), registers("ada 3")}},
			told{
				"ada again rejected already_registered, cancel ada done, ada 3 confirmed", "ada confirmed→cancelled",
				"ada already_registered, ada cancelled, ada 3 confirmed", "1/∞ seats, 0/∞ places",
			},
		},
		{
			"a person promoted in the same call is already registered",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada"), registers("bob again")}},
			told{
				"cancel ada done, bob again rejected already_registered", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"ada cancelled, bob promoted, bob already_registered", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a seat that changes hands within a call belongs to the last",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, line: []ask{cancels("ada"), registers("bob"), cancels("bob"), registers("cy")}},
			told{
				"cancel ada done, bob cancelled, cancel bob done, cy confirmed", "ada confirmed→cancelled",
				"ada cancelled, bob confirmed, bob cancelled, cy confirmed", "1/1 seats, 0/0 places",
			},
		},
	})
}
