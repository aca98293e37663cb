package mailsink_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestScriptsGetTheSameAsJSON(t *testing.T) {
	t.Parallel()
	s := start(t)
	if got := strings.TrimSpace(s.get("/api/messages")); got != `{"received":0,"messages":[]}` {
		t.Errorf("empty: %s", got)
	}
	m := s.receive(letter)
	var list struct {
		Received int
		Messages []map[string]any
	}
	if err := json.Unmarshal([]byte(s.get("/api/messages")), &list); err != nil {
		t.Fatal(err)
	}
	if list.Received != 1 || len(list.Messages) != 1 || list.Messages[0]["subject"] != "You have a seat" || list.Messages[0]["number"] != 1.0 ||
		list.Messages[0]["received_at"] != m.ReceivedAt.Format(time.RFC3339Nano) {
		t.Errorf("the list: %v", list)
	}
	one := s.get("/api/messages/1")
	for _, want := range []string{`"to":["ada@example.org"]`, `"text":"Grüße`, `{"name":"course.ics","type":"text/calendar","size":32}`, `{"name":"Subject","value":"You have a seat"}`, `"troubles":[]`} {
		if !strings.Contains(one, want) {
			t.Errorf("one message lacks %s: %s", want, one)
		}
	}
	if answer, _ := s.do(http.MethodDelete, "/api/messages"); answer.StatusCode != http.StatusNoContent {
		t.Errorf("clearing: %s", answer.Status)
	}
	if got := strings.TrimSpace(s.get("/api/messages")); got != `{"received":1,"messages":[]}` {
		t.Errorf("cleared: %s", got)
	}
}
