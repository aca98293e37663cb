package calendar_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

func ExampleEntry() {
	registration := enroll.Enrolment{
		Registration: enroll.Registration{ID: uuid.MustParse("7f1f0f9e-3c57-4b7e-9a55-0d6a3f1f9b11")},
		For: enroll.Run{
			Title:    "Go for people who ship",
			Location: "Room 5",
			StartsAt: time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC),
			EndsAt:   time.Date(2027, 3, 1, 16, 0, 0, 0, time.UTC),
		},
	}
	organiser := calendar.Organiser{Name: "Go School", Address: "hello@school.example"}
	written := time.Date(2027, 2, 1, 12, 0, 0, 0, time.UTC)

	entry := calendar.Entry(calendar.Publish, registration, organiser, written)
	fmt.Print(strings.ReplaceAll(string(entry), "\r\n", "\n"))
	// Output:
	// BEGIN:VCALENDAR
	// VERSION:2.0
	// PRODID:-//Lastseat//Lastseat//EN
	// METHOD:PUBLISH
	// BEGIN:VEVENT
	// UID:81b8951d-72de-52f9-88b8-0f3274723cdc
	// DTSTAMP:20270201T120000Z
	// SEQUENCE:0
	// DTSTART:20270301T080000Z
	// DTEND:20270301T160000Z
	// SUMMARY:Go for people who ship
	// LOCATION:Room 5
	// ORGANIZER;CN="Go School":mailto:hello@school.example
	// STATUS:CONFIRMED
	// CLASS:PRIVATE
	// TRANSP:OPAQUE
	// END:VEVENT
	// END:VCALENDAR
}
