package calendar_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	parser "github.com/emersion/go-ical"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

var (
	house = calendar.Organiser{Name: "Lastseat", Address: "hello@lastseat.example"}
	at    = time.Date(2027, 2, 1, 12, 30, 15, 987654321, time.FixedZone("", 3600))
)

func enrolment() enroll.Enrolment {
	return enroll.Enrolment{
		Registration: enroll.Registration{
			ID:  uuid.MustParse("7f1f0f9e-3c57-4b7e-9a55-0d6a3f1f9b11"),
			Run: "go-1", Ticket: 7, Status: enroll.Confirmed,
		},
		Name: "Ada Lovelace",
		For: enroll.Run{
			Slug: "go-1", Title: "Go for people who ship", Location: "Room 5, Main Street 1", TimeZone: "Europe/Berlin", Revision: 3,
			StartsAt: time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 3, 1, 16, 0, 0, 0, time.UTC),
		},
	}
}

// parse parses an entry that must hold one event, and checks the form of its
// bytes.
func parse(t rapid.TB, entry []byte) (*parser.Calendar, parser.Event) {
	t.Helper()
	lines := strings.Split(string(entry), "\r\n")
	if lines[len(lines)-1] != "" {
		t.Errorf("the last line has no end: %q", entry)
	}
	for _, line := range lines {
		if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line of %d octets: %q", len(line), line)
		}
	}
	c, err := parser.NewDecoder(bytes.NewReader(entry)).Decode()
	if err != nil {
		t.Fatalf("%v in\n%s", err, entry)
	}
	if len(c.Children) != 1 || len(c.Events()) != 1 || len(c.Events()[0].Children) != 0 {
		t.Fatalf("want one event, got\n%s", entry)
	}
	return c, c.Events()[0]
}

func value(t rapid.TB, event parser.Event, name string) string {
	t.Helper()
	text, err := event.Props.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEntry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		method calendar.Method
		want   string
	}{
		{"publishes a confirmed registration", calendar.Publish, `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Lastseat//Lastseat//EN
METHOD:PUBLISH
BEGIN:VEVENT
UID:81b8951d-72de-52f9-88b8-0f3274723cdc
DTSTAMP:20270201T113015Z
SEQUENCE:6
DTSTART:20270301T080000Z
DTEND:20270301T160000Z
SUMMARY:Go for people who ship
LOCATION:Room 5\, Main Street 1
ORGANIZER;CN="Lastseat":mailto:hello@lastseat.example
STATUS:CONFIRMED
CLASS:PRIVATE
TRANSP:OPAQUE
END:VEVENT
END:VCALENDAR
`},
		{"removes a cancelled registration", calendar.Cancel, `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Lastseat//Lastseat//EN
METHOD:CANCEL
BEGIN:VEVENT
UID:81b8951d-72de-52f9-88b8-0f3274723cdc
DTSTAMP:20270201T113015Z
SEQUENCE:7
DTSTART:20270301T080000Z
DTEND:20270301T160000Z
SUMMARY:Go for people who ship
LOCATION:Room 5\, Main Street 1
ORGANIZER;CN="Lastseat":mailto:hello@lastseat.example
STATUS:CANCELLED
CLASS:PRIVATE
TRANSP:OPAQUE
END:VEVENT
END:VCALENDAR
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := calendar.Entry(test.method, enrolment(), house, at)
			if want := strings.ReplaceAll(test.want, "\n", "\r\n"); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			parse(t, got)
		})
	}
}

func TestEntry_leaves_out_an_empty_location(t *testing.T) {
	t.Parallel()
	e := enrolment()
	e.For.Location = ""
	_, event := parse(t, calendar.Entry(calendar.Publish, e, house, at))
	if event.Props.Get("LOCATION") != nil {
		t.Error("there is a location")
	}
}

func TestEntry_is_right_where_clocks_change(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, start, end, wantStart, wantEnd string }{
		{"Europe/Berlin", "2027-03-27 09:00", "2027-03-27 17:00", "20270327T080000Z", "20270327T160000Z"},
		{"Europe/Berlin", "2027-03-28 00:30", "2027-03-28 03:30", "20270327T233000Z", "20270328T013000Z"},
		{"Europe/Berlin", "2027-03-29 09:00", "2027-03-29 17:00", "20270329T070000Z", "20270329T150000Z"},
		{"America/New_York", "2027-03-13 09:00", "2027-03-15 09:00", "20270313T140000Z", "20270315T130000Z"},
		{"Asia/Kolkata", "2027-03-28 09:00", "2027-03-28 17:00", "20270328T033000Z", "20270328T113000Z"},
		{"Pacific/Auckland", "2027-04-03 09:00", "2027-04-04 09:00", "20270402T200000Z", "20270403T210000Z"},
	} {
		t.Run(test.zone+" "+test.start, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			e := enrolment()
			e.For.TimeZone = test.zone
			e.For.StartsAt, _ = time.ParseInLocation("2006-01-02 15:04", test.start, zone)
			e.For.EndsAt, _ = time.ParseInLocation("2006-01-02 15:04", test.end, zone)
			_, event := parse(t, calendar.Entry(calendar.Publish, e, house, at))
			if s, e := event.Props.Get("DTSTART").Value, event.Props.Get("DTEND").Value; s != test.wantStart || e != test.wantEnd {
				t.Errorf("got %s to %s, want %s to %s", s, e, test.wantStart, test.wantEnd)
			}
			start, err := event.DateTimeStart(time.UTC)
			if err != nil || !start.Equal(e.For.StartsAt) {
				t.Errorf("got %v and %v, want %v", start, err, e.For.StartsAt)
			}
		})
	}
}

func TestEntry_replaces_the_entry_before_it(t *testing.T) {
	t.Parallel()
	e := enrolment()
	uid, last := "", -1
	for revision := range 3 {
		// No change of the course may change the UID.
		e.For.Revision, e.For.ReplyTo = revision, strings.Repeat("x", revision)+"@school.example"
		for _, method := range []calendar.Method{calendar.Publish, calendar.Cancel} {
			c, event := parse(t, calendar.Entry(method, e, house, at))
			if got, _ := c.Props.Text("METHOD"); got != string(method) {
				t.Errorf("got the method %s, want %s", got, method)
			}
			sequence, err := event.Props.Get("SEQUENCE").Int()
			if err != nil || sequence <= last {
				t.Errorf("got the sequence %d and %v after %d", sequence, err, last)
			}
			last = sequence
			if got := value(t, event, "UID"); uid != "" && got != uid {
				t.Errorf("got the UID %s after %s", got, uid)
			} else {
				uid = got
			}
		}
	}
	e.ID = uuid.New()
	if _, event := parse(t, calendar.Entry(calendar.Publish, e, house, at)); value(t, event, "UID") == uid {
		t.Error("two registrations have the same UID")
	}
}

func TestEntry_keeps_the_id_and_the_person_to_itself(t *testing.T) {
	t.Parallel()
	e := enrolment()
	entry := strings.ToLower(string(calendar.Entry(calendar.Publish, e, house, at)))
	for _, secret := range []string{e.ID.String(), strings.ReplaceAll(e.ID.String(), "-", ""), e.ID.String()[:8], "ada", "registrations"} {
		if strings.Contains(entry, secret) {
			t.Errorf("the entry holds %q:\n%s", secret, entry)
		}
	}
}
