package enroll_test

import (
	"errors"
	"fmt"

	"github.com/lastseat/lastseat/internal/enroll"
)

// A run has one seat and a waiting list of one place. Three people ask for the
// seat; then the first cancels.
func ExampleSettle() {
	run := enroll.RunCounts{Capacity: new(1), WaitlistCapacity: new(1)}
	line := []enroll.Request{
		{Ticket: 1, Kind: enroll.Register, Key: "ada@example.org"},
		{Ticket: 2, Kind: enroll.Register, Key: "bob@example.org"},
		{Ticket: 3, Kind: enroll.Register, Key: "cy@example.org"},
	}
	settled := enroll.Settle(run, nil, nil, line)
	for _, o := range settled.Outcomes {
		fmt.Printf("%d %s %q\n", o.Ticket, o.Status, o.Reason)
	}

	cancel := enroll.Request{
		Ticket: 4, Kind: enroll.Cancel,
		Target: enroll.Holding{Ticket: 1, Key: "ada@example.org"}, TargetStatus: enroll.Confirmed,
	}
	waiting := []enroll.Holding{{Ticket: 2, Key: "bob@example.org"}}
	settled = enroll.Settle(settled.Counts, waiting, nil, []enroll.Request{cancel})
	for _, o := range settled.Changed {
		fmt.Println(o.Ticket, o.Before, "to", o.Status)
	}
	// Output:
	// 1 confirmed ""
	// 2 waitlisted ""
	// 3 rejected "full"
	// 1 confirmed to cancelled
	// 2 waitlisted to confirmed
}

func ExampleParseAddress() {
	address, err := enroll.ParseAddress(" Ada@Bücher.example ")
	fmt.Println(address.Typed, err)
	fmt.Println(address.Key)
	// Output:
	// Ada@Bücher.example <nil>
	// ada@xn--bcher-kva.example
}

// NewRegister reports every fault of a request at once.
func ExampleNewRegister() {
	_, err := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Email: "ada@localhost"})
	if invalid, ok := errors.AsType[*enroll.Error](err); ok {
		for _, fault := range invalid.Faults {
			fmt.Println(fault.Field, fault.Detail)
		}
	}
	// Output:
	// name is required
	// email must have a full domain, such as example.org, after the @
}
