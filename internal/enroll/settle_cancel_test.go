package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSettleCancel(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"a seat is given up, and nobody waits",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "1/2 seats, 0/∞ places"},
		},
		{
			"an organiser's removal has a reason, and its request has none",
			scene{seated: []string{"ada"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada confirmed→cancelled removed", "ada cancelled", "0/∞ seats, 0/∞ places"},
		},
		{
			"an organiser's removal from the list has a reason",
			scene{capacity: new(0), listed: []string{"ada"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada waitlisted→cancelled removed", "ada cancelled", "0/0 seats, 0/∞ places"},
		},
		{
			"the first on the list gets the seat, and the list moves up",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 1/∞ places"},
		},
		{
			"an organiser's removal promotes, too, and the promoted person gets no reason",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").byOrganiser()}},
			told{"cancel ada done", "ada confirmed→cancelled removed, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
		{
			"leaving the list promotes nobody, even if a seat is free",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("bob")}},
			told{"cancel bob done", "bob waitlisted→cancelled", "bob cancelled", "1/2 seats, 1/∞ places"},
		},
		{
			"a person who left the list is not promoted later in the same call",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{cancels("bob"), cancels("ada")}},
			told{
				"cancel bob done, cancel ada done", "bob waitlisted→cancelled, ada confirmed→cancelled, cy waitlisted→confirmed",
				"bob cancelled, ada cancelled, cy promoted", "1/1 seats, 0/∞ places",
			},
		},
		{
			"a person who left the middle of the list is skipped",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee", "eve"}, line: []ask{cancels("dee"), cancels("ada"), cancels("bob")}},
			told{
				"cancel dee done, cancel ada done, cancel bob done",
				"dee waitlisted→cancelled, ada confirmed→cancelled, cy waitlisted→confirmed, bob confirmed→cancelled, eve waitlisted→confirmed",
				"dee cancelled, ada cancelled, cy promoted, bob cancelled, eve promoted", "2/2 seats, 0/∞ places",
			},
		},
		{
			"a seat stays free once the last person has left the list",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("bob"), cancels("ada")}},
			told{"cancel bob done, cancel ada done", "bob waitlisted→cancelled, ada confirmed→cancelled", "bob cancelled, ada cancelled", "0/1 seats, 0/∞ places"},
		},
		{
			"a newcomer gets a seat that was given up if nobody waits",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, line: []ask{registers("bob"), cancels("ada"), registers("cy")}},
			told{
				"bob rejected full, cancel ada done, cy confirmed", "ada confirmed→cancelled",
				"ada cancelled, cy confirmed", "1/1 seats, 0/0 places",
			},
		},
		{
			"a newcomer does not get a seat that was given up while people wait",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada"), registers("cy")}},
			told{
				"cancel ada done, cy waitlisted", "ada confirmed→cancelled, bob waitlisted→confirmed",
				"ada cancelled, bob promoted, cy waitlisted", "1/1 seats, 1/∞ places",
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
			"a registration with neither a seat nor a place stays as it is, and nobody is promoted",
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
	})
}
