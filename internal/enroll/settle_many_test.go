package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSettleResize(t *testing.T) {
	t.Parallel()
	full := func(line ...ask) scene {
		return scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy", "dee", "eve"}, line: line}
	}
	const three = "bob waitlisted→confirmed, cy waitlisted→confirmed, dee waitlisted→confirmed"
	given := func(n int, s scene) scene {
		s.given = &n
		return s
	}
	check(t, []row{
		{
			"raised by three with four waiting promotes three in order",
			full(resizes(most(4), nil)),
			told{"resize done", three, "bob promoted, cy promoted, dee promoted", "4/4 seats, 1/∞ places"},
		},
		{
			"raised by three with exactly three given is done at once",
			given(3, full(resizes(most(4), nil))),
			told{"resize done", three, "bob promoted, cy promoted, dee promoted", "4/4 seats, 1/∞ places"},
		},
		{
			"raised by three with two given promotes two and is not done",
			given(2, full(resizes(most(4), nil), registers("fay"))),
			told{"", "bob waitlisted→confirmed, cy waitlisted→confirmed", "bob promoted, cy promoted", "3/4 seats, 2/∞ places"},
		},
		{
			"raised to unlimited promotes everybody",
			full(resizes(unlimited(), nil)),
			told{"resize done", three + ", eve waitlisted→confirmed", "bob promoted, cy promoted, dee promoted, eve promoted", "5/∞ seats, 0/∞ places"},
		},
		{
			"raised beyond the number waiting leaves seats free",
			full(resizes(most(9), nil)),
			told{"resize done", three + ", eve waitlisted→confirmed", "bob promoted, cy promoted, dee promoted, eve promoted", "5/9 seats, 0/∞ places"},
		},
		{
			"raised after the list has ended promotes nobody",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, ended: true, line: []ask{resizes(most(2), nil)}},
			told{outcomes: "resize done", after: "1/2 seats, 1/∞ places, ended"},
		},
		{
			"raised but still over capacity promotes nobody",
			scene{capacity: new(1), seated: []string{"ada", "bob", "cy"}, listed: []string{"dee"}, line: []ask{resizes(most(3), nil)}},
			told{outcomes: "resize done", after: "3/3 seats, 1/∞ places"},
		},
		{
			"raised above the seats held promotes only into the free seats",
			scene{capacity: new(1), seated: []string{"ada", "bob", "cy"}, listed: []string{"dee", "eve"}, line: []ask{resizes(most(4), nil)}},
			told{"resize done", "dee waitlisted→confirmed", "dee promoted", "4/4 seats, 1/∞ places"},
		},
		{
			"raised with nobody waiting moves nobody",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{resizes(most(2), nil)}},
			told{outcomes: "resize done", after: "1/2 seats, 0/∞ places"},
		},
		{
			"lowered takes nobody's seat and nobody's place",
			scene{capacity: new(3), places: new(2), seated: []string{"ada", "bob", "cy"}, listed: []string{"dee", "eve"}, line: []ask{resizes(most(1), most(0))}},
			told{outcomes: "resize done", after: "3/1 seats, 2/0 places"},
		},
		{
			"lowered to no seats takes nobody's seat",
			full(resizes(most(0), nil)),
			told{outcomes: "resize done", after: "1/0 seats, 4/∞ places"},
		},
		{
			"limiting an unlimited run takes nobody's seat",
			scene{seated: []string{"ada", "bob"}, line: []ask{resizes(most(1), most(3))}},
			told{outcomes: "resize done", after: "2/1 seats, 0/3 places"},
		},
		{
			"a longer list promotes nobody and keeps the seats",
			scene{capacity: new(1), places: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{resizes(nil, most(7))}},
			told{outcomes: "resize done", after: "1/1 seats, 1/7 places"},
		},
		{
			"an unlimited list keeps the seats",
			scene{capacity: new(1), places: new(0), seated: []string{"ada"}, line: []ask{resizes(nil, unlimited())}},
			told{outcomes: "resize done", after: "1/1 seats, 0/∞ places"},
		},
		{
			"another capacity keeps the list",
			scene{capacity: new(1), places: new(3), line: []ask{resizes(unlimited(), nil)}},
			told{outcomes: "resize done", after: "0/∞ seats, 0/3 places"},
		},
		{
			"a resize of nothing changes nothing",
			scene{capacity: new(1), places: new(3), line: []ask{resizes(nil, nil)}},
			told{outcomes: "resize done", after: "0/1 seats, 0/3 places"},
		},
		{
			"a run that is called off may be resized, and nobody comes back",
			scene{capacity: new(1), calledOff: true, ended: true, line: []ask{resizes(most(5), nil)}},
			told{outcomes: "resize done", after: "0/5 seats, 0/∞ places, ended, called off"},
		},
		{
			"a seat that a late cancel left free is given",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob", "cy", "dee"}, line: []ask{resizes(most(3), nil)}},
			told{"resize done", "bob waitlisted→confirmed, cy waitlisted→confirmed", "bob promoted, cy promoted", "3/3 seats, 1/∞ places"},
		},
		{
			"a late resize promotes nobody and leaves the seats to newcomers",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{resizes(most(3), nil).late()}},
			told{outcomes: "resize done", after: "1/3 seats, 1/∞ places"},
		},
		{
			"nothing is settled after it in the same call",
			full(resizes(most(2), nil), registers("fay"), cancels("ada")),
			told{"resize done", "bob waitlisted→confirmed", "bob promoted", "2/2 seats, 3/∞ places"},
		},
		{
			"it is not settled together with the requests before it",
			scene{capacity: new(1), line: []ask{registers("ada"), registers("bob"), resizes(most(2), nil), registers("cy")}},
			told{"ada confirmed, bob waitlisted", "", "ada confirmed, bob waitlisted", "1/1 seats, 1/∞ places"},
		},
	})
}

func TestSettleCloseWaitlist(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"everybody on the list ends not promoted, in order",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob", "cy"}, line: []ask{asks(enroll.CloseWaitlist)}},
			told{
				"close_waitlist done", "bob waitlisted→not_promoted, cy waitlisted→not_promoted",
				"bob not_promoted, cy not_promoted", "1/1 seats, 0/∞ places, ended",
			},
		},
		{
			"an empty list ends, too",
			scene{capacity: new(1), line: []ask{asks(enroll.CloseWaitlist)}},
			told{outcomes: "close_waitlist done", after: "0/1 seats, 0/∞ places, ended"},
		},
		{
			"a free seat is not given to the people on the list",
			scene{capacity: new(2), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{asks(enroll.CloseWaitlist)}},
			told{"close_waitlist done", "bob waitlisted→not_promoted", "bob not_promoted", "1/2 seats, 0/∞ places, ended"},
		},
		{
			"it is not done if more people wait than are given",
			scene{capacity: new(0), listed: []string{"ada", "bob", "cy"}, given: new(2), line: []ask{asks(enroll.CloseWaitlist), registers("dee")}},
			told{"", "ada waitlisted→not_promoted, bob waitlisted→not_promoted", "ada not_promoted, bob not_promoted", "0/0 seats, 1/∞ places, ended"},
		},
		{
			"the rest of a list that is being closed ends with it",
			scene{capacity: new(0), listed: []string{"ada"}, ended: true, line: []ask{asks(enroll.CloseWaitlist)}},
			told{"close_waitlist done", "ada waitlisted→not_promoted", "ada not_promoted", "0/0 seats, 0/∞ places, ended"},
		},
		{
			"a list that has ended cannot end again",
			scene{capacity: new(0), ended: true, line: []ask{asks(enroll.CloseWaitlist)}},
			told{outcomes: "close_waitlist done no_effect", after: "0/0 seats, 0/∞ places, ended"},
		},
		{
			"the list of a run that is called off has ended",
			scene{ended: true, calledOff: true, line: []ask{asks(enroll.CloseWaitlist)}},
			told{outcomes: "close_waitlist done no_effect", after: "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"a run without a list can close it",
			scene{capacity: new(1), places: new(0), line: []ask{asks(enroll.CloseWaitlist)}},
			told{outcomes: "close_waitlist done", after: "0/1 seats, 0/0 places, ended"},
		},
		{
			"nothing is settled after it in the same call",
			scene{capacity: new(1), seated: []string{"ada"}, line: []ask{asks(enroll.CloseWaitlist), asks(enroll.CloseWaitlist), cancels("ada")}},
			told{outcomes: "close_waitlist done", after: "1/1 seats, 0/∞ places, ended"},
		},
		{
			"it is not settled together with the requests before it",
			scene{capacity: new(1), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{cancels("ada"), asks(enroll.CloseWaitlist)}},
			told{"cancel ada done", "ada confirmed→cancelled, bob waitlisted→confirmed", "ada cancelled, bob promoted", "1/1 seats, 0/∞ places"},
		},
	})
}

func TestSettleCallOff(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{
			"everybody with a seat or a place is cancelled and told",
			scene{capacity: new(2), seated: []string{"ada", "bob"}, listed: []string{"cy", "dee"}, line: []ask{asks(enroll.CallOff)}},
			told{
				"call_off done",
				"cy waitlisted→cancelled called_off, dee waitlisted→cancelled called_off, ada confirmed→cancelled called_off, bob confirmed→cancelled called_off",
				"cy called_off, dee called_off, ada called_off, bob called_off", "0/2 seats, 0/∞ places, ended, called off",
			},
		},
		{
			"a run without seats held is called off, too",
			scene{capacity: new(2), line: []ask{asks(enroll.CallOff)}},
			told{outcomes: "call_off done", after: "0/2 seats, 0/∞ places, ended, called off"},
		},
		{
			"a run over capacity is called off as a whole",
			scene{capacity: new(0), places: new(0), seated: []string{"ada"}, listed: []string{"bob"}, line: []ask{asks(enroll.CallOff)}},
			told{
				"call_off done", "bob waitlisted→cancelled called_off, ada confirmed→cancelled called_off",
				"bob called_off, ada called_off", "0/0 seats, 0/0 places, ended, called off",
			},
		},
		{
			"a list that has ended does not matter",
			scene{seated: []string{"ada"}, ended: true, line: []ask{asks(enroll.CallOff)}},
			told{"call_off done", "ada confirmed→cancelled called_off", "ada called_off", "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"it is not done if more seats and places are held than are given",
			scene{
				capacity: new(3), seated: []string{"ada", "bob", "cy"}, listed: []string{"dee", "eve"}, given: new(1),
				line: []ask{asks(enroll.CallOff), registers("fay")},
			},
			told{
				"", "dee waitlisted→cancelled called_off",
				"dee called_off", "3/3 seats, 1/∞ places, ended, called off",
			},
		},
		{
			"it is not done if all places but not all seats are given",
			scene{capacity: new(3), seated: []string{"ada", "bob"}, listed: []string{"cy"}, given: new(1), line: []ask{asks(enroll.CallOff)}},
			told{
				"", "cy waitlisted→cancelled called_off, ada confirmed→cancelled called_off",
				"cy called_off, ada called_off", "1/3 seats, 0/∞ places, ended, called off",
			},
		},
		{
			"it is not done if all seats but not all places are given",
			scene{capacity: new(3), seated: []string{"ada"}, listed: []string{"bob", "cy"}, given: new(1), line: []ask{asks(enroll.CallOff)}},
			told{
				"", "bob waitlisted→cancelled called_off",
				"bob called_off", "1/3 seats, 1/∞ places, ended, called off",
			},
		},
		{
			"the rest of a run that is being called off goes with it",
			scene{seated: []string{"ada"}, ended: true, calledOff: true, line: []ask{asks(enroll.CallOff)}},
			told{"call_off done", "ada confirmed→cancelled called_off", "ada called_off", "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"the rest of a list that is being called off goes with it",
			scene{listed: []string{"ada"}, ended: true, calledOff: true, line: []ask{asks(enroll.CallOff)}},
			told{"call_off done", "ada waitlisted→cancelled called_off", "ada called_off", "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"a run that is called off cannot be called off again",
			scene{ended: true, calledOff: true, line: []ask{asks(enroll.CallOff)}},
			told{outcomes: "call_off done no_effect", after: "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"nothing is settled after it in the same call",
			scene{seated: []string{"ada"}, line: []ask{asks(enroll.CallOff), registers("bob"), cancels("ada")}},
			told{"call_off done", "ada confirmed→cancelled called_off", "ada called_off", "0/∞ seats, 0/∞ places, ended, called off"},
		},
		{
			"it is not settled together with the requests before it",
			scene{capacity: new(1), line: []ask{registers("ada"), asks(enroll.CallOff), registers("bob")}},
			told{"ada confirmed", "", "ada confirmed", "1/1 seats, 0/∞ places"},
		},
	})
}
