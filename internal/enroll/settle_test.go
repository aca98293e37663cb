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
			"nobody asks and nothing changes",
			scene{capacity: new(3), places: new(1), seated: []string{"ada", "bob"}},
			told{after: "2/3 seats, 0/1 places"},
		},
		{
			"nobody gets a seat of none",
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
			"who finds no seat gets a place on the list while there is room",
			scene{capacity: new(1), places: new(2), line: everybody("ada", "bob", "cy", "dee")},
			told{"ada confirmed, bob waitlisted, cy waitlisted, dee rejected full", "", "ada confirmed, bob waitlisted, cy waitlisted", "1/1 seats, 2/2 places"},
		},
		{
			"an unlimited list takes everybody",
			scene{capacity: new(0), line: everybody("ada", "bob", "cy")},
			told{"ada waitlisted, bob waitlisted, cy waitlisted", "", "ada waitlisted, bob waitlisted, cy waitlisted", "0/0 seats, 3/∞ places"},
		},
		{
			"nobody overtakes who waits, though a seat is free",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: everybody("cy")},
			told{"cy waitlisted", "", "cy waitlisted", "1/2 seats, 2/∞ places"},
		},
		{
			"nobody overtakes who waits though who waits is not given",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, given: new(0), line: everybody("cy")},
			told{"cy waitlisted", "", "cy waitlisted", "1/2 seats, 2/∞ places"},
		},
		{
			"nobody overtakes who waits, though a seat is free and the list is full",
			scene{capacity: new(2), places: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: everybody("cy")},
			told{outcomes: "cy rejected full", after: "1/2 seats, 1/1 places"},
		},
		{
			"a list that was lowered below who waits takes nobody",
			scene{capacity: new(0), places: new(1), listed: []string{"ada", "bob"}, line: everybody("cy")},
			told{outcomes: "cy rejected full", after: "0/0 seats, 2/1 places"},
		},
		{
			"a list that has ended takes nobody, unlimited or not",
			scene{capacity: new(1), seated: []string{"ada"}, ended: true, line: everybody("bob")},
			told{outcomes: "bob rejected full", after: "1/1 seats, 0/∞ places, ended"},
		},
		{
			"a free seat is given though the list has ended",
			scene{capacity: new(1), ended: true, line: everybody("ada", "bob")},
			told{"ada confirmed, bob rejected full", "", "ada confirmed", "1/1 seats, 0/∞ places, ended"},
		},

		{
			"a limit does not matter while there is a seat",
			scene{capacity: new(2), line: []ask{registers("ada").upTo(0), registers("bob").upTo(1)}},
			told{"ada confirmed, bob confirmed", "", "ada confirmed, bob confirmed", "2/2 seats, 0/∞ places"},
		},
		{
			"a seat or nothing is nothing when the run is full",
			scene{capacity: new(0), line: []ask{registers("ada").upTo(0).notify(), registers("bob")}},
			told{"ada rejected full, bob waitlisted", "", "ada full, bob waitlisted", "0/0 seats, 1/∞ places"},
		},
		{
			"the last place that is wanted is taken and the one after it is not",
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
			"a refusal for a long list is told by mail to who wants that",
			scene{capacity: new(0), listed: []string{"ada"}, line: []ask{registers("bob").upTo(1).notify()}},
			told{"bob rejected waitlist_too_long", "", "bob full", "0/0 seats, 1/∞ places"},
		},
		{
			"a list without room is full for who wanted no such place either",
			scene{capacity: new(0), places: new(2), listed: []string{"ada", "bob"}, line: []ask{registers("cy").upTo(1), registers("dee").upTo(9)}},
			told{outcomes: "cy rejected full, dee rejected full", after: "0/0 seats, 2/2 places"},
		},
		{
			"a list that has ended is full whatever was wanted",
			scene{capacity: new(0), ended: true, line: []ask{registers("ada").upTo(3), registers("bob").upTo(0)}},
			told{outcomes: "ada rejected full, bob rejected full", after: "0/0 seats, 0/∞ places, ended"},
		},
		{
			"a list of no places is full whatever was wanted",
			scene{capacity: new(0), places: new(0), line: []ask{registers("ada").upTo(3)}},
			told{outcomes: "ada rejected full", after: "0/0 seats, 0/0 places"},
		},
		{
			"the list is shorter for who asks after somebody left it",
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
			"asking twice comes before being full, too late and too far back",
			scene{capacity: new(1), places: new(0), ended: true, seated: []string{"ada"}, line: []ask{registers("ada again").upTo(0).notify()}},
			told{"ada again rejected already_registered", "", "ada already_registered", "1/1 seats, 0/0 places, ended"},
		},
		{
			"a refused address may ask again and finds it full",
			scene{capacity: new(0), places: new(0), line: everybody("ada", "ada again")},
			told{outcomes: "ada rejected full, ada again rejected full", after: "0/0 seats, 0/0 places"},
		},
		{
			"an address that wanted no place may ask again for one",
			scene{capacity: new(0), line: []ask{registers("ada").upTo(0), registers("ada again")}},
			told{"ada rejected full, ada again waitlisted", "", "ada again waitlisted", "0/0 seats, 1/∞ places"},
		},
		{
			"addresses are compared as they are",
			scene{line: everybody("ada", "Ada")},
			told{"ada confirmed, Ada confirmed", "", "ada confirmed, Ada confirmed", "2/∞ seats, 0/∞ places"},
		},
		{
			"a refusal is told by mail to who wants that",
			scene{capacity: new(0), places: new(0), line: []ask{registers("ada").notify(), registers("bob"), registers("cy").notify()}},
			told{"ada rejected full, bob rejected full, cy rejected full", "", "ada full, cy full", "0/0 seats, 0/0 places"},
		},
		{
			"a run that is called off rejects everybody, whatever they have or want, and says so",
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

func TestSettleCancel(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"a seat is given up, and nobody waits",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "1/2 seats, 0/∞ places"},
		},
		{
			"who is removed by an organiser is told a reason, and the request has none",
			scene{seated: []string{"ada"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada confirmed→cancelled removed", "ada cancelled", "0/∞ seats, 0/∞ places"},
		},
		{
			"who is removed from the list by an organiser is told a reason",
			scene{capacity: new(0), listed: []string{"ada"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada waitlisted→cancelled removed", "ada cancelled", "0/0 seats, 0/∞ places"},
		},
		{
			"the first on the list gets the seat, and the list moves up",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 1/∞ places"},
		},
		{
			"an organiser's removal promotes, too, and the reason is not that of who is promoted",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada confirmed→cancelled removed, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
		{
			"leaving the list frees no seat and promotes nobody, though a seat is free",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("bob")}},
			told{"cancel bob done", "bob waitlisted→cancelled", "bob cancelled", "1/2 seats, 1/∞ places"},
		},
		{
			"who left the list is not promoted later in the same call",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("bob"), cancels("ada")}},
			told{
				"cancel bob done, cancel ada done", "bob waitlisted→cancelled, ada confirmed→cancelled, cy waitlisted→confirmed",
				"bob cancelled, ada cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"who left from the middle of the list is left out when it moves up",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee", "eve"}, line: []ask{cancels("dee"), cancels("ada"), cancels("bob")}},
			told{
				"cancel dee done, cancel ada done, cancel bob done",
				"dee waitlisted→cancelled, ada confirmed→cancelled, cy waitlisted→confirmed, bob confirmed→cancelled, eve waitlisted→confirmed",
				"dee cancelled, ada cancelled, cy promoted, bob cancelled, eve promoted", "2/2 seats, 0/∞ places",
			},
		},
		{
			"the last who waits leaves, and a seat that is given up stays free",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("bob"), cancels("ada")}},
			told{"cancel bob done, cancel ada done", "bob waitlisted→cancelled, ada confirmed→cancelled", "bob cancelled, ada cancelled", "0/1 seats, 0/∞ places"},
		},
		{
			"a newcomer gets the seat that was given up if nobody waits",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, line: []ask{registers("bob"), cancels("ada"), registers("cy")}},
			told{
				"bob rejected full, cancel ada done, cy confirmed", "ada confirmed→cancelled",
				"ada cancelled, cy confirmed", "1/1 seats, 0/0 places",
			},
		},
		{
			"a newcomer does not get the seat that was given up if somebody waits",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada"), registers("cy")}},
			told{
				"cancel ada done, cy waitlisted", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"ada cancelled, bob promoted, cy waitlisted", "1/1 seats, 1/∞ places",
			},
		},

		{
			"a registration of the same call gives up its seat, and comes to cancelled at once",
			scene{capacity: new(1), line: []ask{registers("ada"), cancels("ada")}},
			told{"ada cancelled, cancel ada done", "", "ada confirmed, ada cancelled", "0/1 seats, 0/∞ places"},
		},
		{
			"a registration of the same call leaves the list",
			scene{capacity: new(0), line: []ask{registers("ada"), registers("bob"), cancels("ada").byOrganiser()}},
			told{"ada cancelled removed, bob waitlisted, cancel ada done", "", "ada waitlisted, bob waitlisted, ada cancelled", "0/0 seats, 1/∞ places"},
		},
		{
			"a registration of the same call is promoted, and comes to confirmed at once",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob"), cancels("ada")}},
			told{"bob confirmed, cancel ada done", "ada confirmed→cancelled", "bob waitlisted, ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
		{
			"one registration of a call gives its seat to another of it, which gives it to a third",
			scene{capacity: new(1), line: []ask{registers("ada"), registers("bob"), registers("cy"), cancels("ada"), cancels("bob")}},
			told{
				"ada cancelled, bob cancelled, cy confirmed, cancel ada done, cancel bob done", "",
				"ada confirmed, bob waitlisted, cy waitlisted, ada cancelled, bob promoted, bob cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"who is promoted and cancels in the same call passes the seat on",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), cancels("bob")}},
			told{
				"cancel ada done, cancel bob done", "ada confirmed→cancelled, bob waitlisted→cancelled, cy waitlisted→confirmed",
				"ada cancelled, bob promoted, bob cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"who is listed behind a list that is not given is not promoted before it",
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
			"who is listed behind a list that is not given is never promoted before it",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, given: new(0), line: []ask{registers("eve"), cancels("ada")}},
			told{"eve waitlisted, cancel ada done", "ada confirmed→cancelled", "eve waitlisted, ada cancelled", "0/1 seats, 2/∞ places"},
		},
		{
			"as many cancels as people are given promote them all",
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
			"cancelling twice gives up one seat and promotes one",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), cancels("ada")}},
			told{"cancel ada done, cancel ada done no_effect", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 1/∞ places"},
		},
		{
			"cancelling twice gives up one place",
			scene{capacity: new(0), listed: []string{"ada", "bob"}, line: []ask{cancels("ada"), cancels("ada").byOrganiser()}},
			told{"cancel ada done, cancel ada done no_effect", "ada waitlisted→cancelled", "ada cancelled", "0/0 seats, 1/∞ places"},
		},
		{
			"cancelling a registration of the same call twice gives up one seat",
			scene{capacity: new(2), seated: []string{"bob"}, line: []ask{registers("ada"), cancels("ada"), cancels("ada")}},
			told{"ada cancelled, cancel ada done, cancel ada done no_effect", "", "ada confirmed, ada cancelled", "1/2 seats, 0/∞ places"},
		},
		{
			"what has neither a seat nor a place stays as it is, and nobody is promoted",
			scene{
				capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"},
				line: []ask{cancels("x").was(enroll.Cancelled), cancels("y").was(enroll.Rejected), cancels("z").was(enroll.NotPromoted).byOrganiser()},
			},
			told{outcomes: "cancel x done no_effect, cancel y done no_effect, cancel z done no_effect", after: "1/2 seats, 1/∞ places"},
		},
		{
			"a registration that is refused in the same call has nothing to give up",
			scene{capacity: new(0), places: new(0), line: []ask{registers("ada"), cancels("ada")}},
			told{outcomes: "ada rejected full, cancel ada done no_effect", after: "0/0 seats, 0/0 places"},
		},
		{
			"cancelling the second registration of an address leaves its seat alone",
			scene{capacity: new(2), line: []ask{registers("ada"), registers("ada again"), cancels("ada again"), registers("ada 3")}},
			told{
				"ada confirmed, ada again rejected already_registered, cancel ada again done no_effect, ada 3 rejected already_registered", "",
				"ada confirmed, ada already_registered, ada already_registered", "1/2 seats, 0/∞ places",
			},
		},

		{
			"who cancels and registers again in one call gets a seat if one is free",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{cancels("ada"), registers("ada again")}},
			told{"cancel ada done, ada again confirmed", "ada confirmed→cancelled", "ada cancelled, ada again confirmed", "1/1 seats, 0/∞ places"},
		},
		{
			"who cancels and registers again in one call stands at the end of the list",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), registers("ada again"), cancels("bob"), cancels("cy")}},
			told{
				"cancel ada done, ada again confirmed, cancel bob done, cancel cy done",
				"ada confirmed→cancelled, bob waitlisted→cancelled, cy waitlisted→cancelled",
				"ada cancelled, bob promoted, ada again waitlisted, bob cancelled, cy promoted, cy cancelled, ada again promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"who leaves the list and registers again in one call stands at its end",
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
			"who asks again before cancelling is refused, and told of the registration that is cancelled then",
			scene{seated: []string{"ada"}, line: []ask{registers("ada again"), cancels("ada"), registers("ada 3")}},
			told{
				"ada again rejected already_registered, cancel ada done, ada 3 confirmed", "ada confirmed→cancelled",
				"ada already_registered, ada cancelled, ada 3 confirmed", "1/∞ seats, 0/∞ places",
			},
		},
		{
			"who was promoted in the same call and asks again has the seat",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada"), registers("bob again")}},
			told{
				"cancel ada done, bob again rejected already_registered", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"ada cancelled, bob promoted, bob already_registered", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a seat that is given up and given again within a call is held by the last",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, line: []ask{cancels("ada"), registers("bob"), cancels("bob"), registers("cy")}},
			told{
				"cancel ada done, bob cancelled, cancel bob done, cy confirmed", "ada confirmed→cancelled",
				"ada cancelled, bob confirmed, bob cancelled, cy confirmed", "1/1 seats, 0/0 places",
			},
		},

		{
			"a late cancel gives up the seat and promotes nobody",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").late()}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/1 seats, 1/∞ places"},
		},
		{
			"a newcomer after a late cancel waits behind who waits",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").late(), registers("cy")}},
			told{"cancel ada done, cy waitlisted", "ada confirmed→cancelled", "ada cancelled, cy waitlisted", "0/1 seats, 2/∞ places"},
		},
		{
			"a newcomer after a late cancel gets the seat if nobody waits",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{cancels("ada").late(), registers("bob")}},
			told{"cancel ada done, bob confirmed", "ada confirmed→cancelled", "ada cancelled, bob confirmed", "1/1 seats, 0/∞ places"},
		},
		{
			"a newcomer gets the seat of a late cancel once the list is empty",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").late(), cancels("bob").late(), registers("cy")}},
			told{
				"cancel ada done, cancel bob done, cy confirmed", "ada confirmed→cancelled, bob waitlisted→cancelled",
				"ada cancelled, bob cancelled, cy confirmed", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a late newcomer gets a free seat, whoever waits on the list whose time has come",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{registers("cy").late(), registers("dee").late().notify()}},
			told{"cy confirmed, dee rejected full", "", "cy confirmed, dee full", "2/2 seats, 1/∞ places"},
		},
		{
			"a late newcomer is not put on the list, and told that the run is full",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob").late(), registers("cy").late().upTo(3)}},
			told{outcomes: "bob rejected full, cy rejected full", after: "1/1 seats, 0/∞ places"},
		},
		{
			"a late newcomer who waits has not got the seat",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{registers("bob again").late()}},
			told{"bob again rejected already_registered", "", "bob already_registered", "1/2 seats, 1/∞ places"},
		},
		{
			"a cancel promotes one, though more seats are free",
			scene{capacity: new(3), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, cy waitlisted→confirmed", "ada cancelled, cy promoted", "2/3 seats, 1/∞ places"},
		},
		{
			"nobody is promoted from a list that has ended",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, ended: true, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/1 seats, 1/∞ places, ended"},
		},
		{
			"over capacity no seat is free until enough are given up",
			scene{
				capacity: new(1), seated: []string{"ada", "bob", "cy"}, listed: []string{"dee", "eve"},
				line: []ask{cancels("ada"), registers("fay"), cancels("bob"), cancels("cy")},
			},
			told{
				"cancel ada done, fay waitlisted, cancel bob done, cancel cy done",
				"ada confirmed→cancelled, bob confirmed→cancelled, cy confirmed→cancelled, dee waitlisted→confirmed",
				"ada cancelled, fay waitlisted, bob cancelled, cy cancelled, dee promoted", "1/1 seats, 2/∞ places",
			},
		},
		{
			"lowered to no seats nobody is promoted when the last is given up",
			scene{capacity: new(0), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/0 seats, 1/∞ places"},
		},
		{
			"an unlimited run promotes who still waits there",
			scene{seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/∞ seats, 0/∞ places"},
		},
		{
			"a list that was lowered promotes as before",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada"), registers("dee")}},
			told{
				"cancel ada done, dee rejected full", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"ada cancelled, bob promoted", "1/1 seats, 1/0 places",
			},
		},
		{
			"a run that is called off has nothing to give up",
			scene{calledOff: true, ended: true, line: []ask{registers("ada"), cancels("ada"), cancels("x").was(enroll.Cancelled)}},
			told{
				"ada rejected called_off, cancel ada done no_effect, cancel x done no_effect", "",
				"ada called_off", "0/∞ seats, 0/∞ places, ended, called off",
			},
		},
		{
			"who waits is promoted whatever place they wanted at most",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob").upTo(1), cancels("ada")}},
			told{"bob confirmed, cancel ada done", "ada confirmed→cancelled", "bob waitlisted, ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
	})
}
