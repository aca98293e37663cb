package mail_test

import (
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mail"
)

func ExampleComposer_Compose() {
	composer, err := mail.New(mail.Options{
		From:      netmail.Address{Name: "Go School", Address: "seats@school.example"},
		PublicURL: "https://seats.school.example",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := enroll.Run{
		Slug: "go-1", Title: "Go for people who ship", Location: "Room 5", TimeZone: "Europe/Berlin",
		StartsAt: time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 3, 1, 16, 0, 0, 0, time.UTC),
		OpensAt: time.Date(2027, 2, 1, 9, 0, 0, 0, time.UTC), ClosesAt: time.Date(2027, 2, 28, 0, 0, 0, 0, time.UTC),
	}
	ada, err := enroll.ParseAddress("ada@example.org")
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := composer.Compose(enroll.Mail{
		Kind: enroll.MailConfirmed, To: ada, Language: enroll.English, Now: time.Date(2027, 2, 1, 9, 0, 1, 0, time.UTC),
		About: []enroll.Enrolment{{
			Registration: enroll.Registration{
				ID: uuid.MustParse("7f1f0f9e-3c57-4b7e-9a55-0d6a3f1f9b11"), Run: "go-1", Ticket: 7, Status: enroll.Confirmed,
			},
			Name: "Ada", For: run, Seated: true,
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := message.GetParts()[0].GetContent()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.GetGenHeader("Subject")[0])
	fmt.Println(strings.TrimSpace(string(text)))
	// Output:
	// You have a seat: Go for people who ship
	// Hello Ada,
	//
	// You have a seat. We look forward to seeing you.
	//
	// A calendar entry is attached. The link below always shows the current status of your registration. Anyone with the link can open and cancel your registration, so please keep it to yourself.
	//
	// If you cannot come, please cancel using the link below, so that another person can have your seat. Deleting the calendar entry does not cancel your registration.
	//
	// Course: Go for people who ship
	// When: Monday, 1 March 2027, 09:00–17:00 (Europe/Berlin, CET)
	// Where: Room 5
	// View your registration: https://seats.school.example/v1/registrations/7f1f0f9e-3c57-4b7e-9a55-0d6a3f1f9b11
	//
	// Kind regards
	// Go School
}
