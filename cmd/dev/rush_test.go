package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestARushTellsHowManyConfirmationsWereSent(t *testing.T) {
	t.Parallel()
	r := result{rushJSON: rushJSON{Confirmed: 20}}
	r.judgeMail(confirmations{Written: 20, Seats: 20, Sent: 19})
	if len(r.wrong) != 0 {
		t.Errorf("a mail that has not left yet is said to be wrong: %q", r.wrong)
	}
	var table strings.Builder
	r.writeTable(&table)
	if !strings.Contains(table.String(), "20 written, 19 sent") {
		t.Errorf("the table says\n%s", table.String())
	}
	text, err := json.Marshal(r.rushJSON)
	if err != nil || !strings.Contains(string(text), `"confirmations":20,"confirmations_sent":19`) {
		t.Errorf("the JSON is %s (%v)", text, err)
	}
}

func TestTheGreetingNamesRunsThatAreThere(t *testing.T) {
	t.Parallel()
	text := greeting(&stack{APIURL: "http://x"})
	for _, want := range []string{"http://x/v1/links", `"language": "de", "notify": true`, "/v1/runs/" + exampleFull + "/registrations"} {
		if !strings.Contains(text, want) {
			t.Errorf("the greeting lacks %s:\n%s", want, text)
		}
	}
}
