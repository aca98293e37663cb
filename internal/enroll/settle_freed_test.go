package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestSettleFreedSeat: which registration gets a seat that is given up, if any.
func TestSettleFreedSeat(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"a late cancel gives up the seat and promotes nobody",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada").late()}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/1 seats, 1/∞ places"},
		},
		{
			"a newcomer after a late cancel joins the list behind the people on it",
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
			"a late newcomer gets a free seat, even while people stand on the list",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{registers("cy").late(), registers("dee").late().notify()}},
			told{"cy confirmed, dee rejected full", "", "cy confirmed, dee full", "2/2 seats, 1/∞ places"},
		},
		{
			"a late newcomer joins no list and is told that the run is full",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob").late(), registers("cy").late().upTo(3)}},
			told{outcomes: "bob rejected full, cy rejected full", after: "1/1 seats, 0/∞ places"},
		},
		{
			"a late newcomer with a place keeps it and gets no seat",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{registers("bob again").late()}},
			told{"bob again rejected already_registered", "", "bob already_registered", "1/2 seats, 1/∞ places"},
		},
		{
			"a cancel promotes one person, even if more seats are free",
			scene{capacity: new(3), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, cy waitlisted→confirmed", "ada cancelled, cy promoted", "2/3 seats, 1/∞ places"},
		},
		{
			"nobody is promoted from a list that has ended",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, ended: true, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/1 seats, 1/∞ places, ended"},
		},
		{
			"over capacity, no seat is free until enough are given up",
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
			"with a capacity of none, nobody is promoted when the last seat is given up",
			scene{capacity: new(0), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled", "ada cancelled", "0/0 seats, 1/∞ places"},
		},
		{
			"an unlimited run promotes the people who still wait",
			scene{seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada")}},
			told{"cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/∞ seats, 0/∞ places"},
		},
		{
			"a list whose capacity was lowered promotes as before",
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
			"a limit on the place does not matter for a promotion",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{registers("bob").upTo(1), cancels("ada")}},
			told{"bob confirmed, cancel ada done", "ada confirmed→cancelled", "bob waitlisted, ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
	})
}
