package mailsink

import (
	"encoding/json"
	"net/http"
	"time"
)

// apiSummary is a message in the list of /api/messages.
type apiSummary struct {
	Number     int       `json:"number"`
	From       string    `json:"from"` // of the envelope
	To         []string  `json:"to"`   // of the envelope
	Subject    string    `json:"subject"`
	ReceivedAt time.Time `json:"received_at"`
}

type apiMessages struct {
	Received int          `json:"received"` // since the start, kept or not
	Messages []apiSummary `json:"messages"` // oldest first
}

// apiMessage is a message without its bytes.
type apiMessage struct {
	apiSummary
	Headers     []apiHeader     `json:"headers"`
	Text        string          `json:"text"`
	HTML        string          `json:"html"`
	Attachments []apiAttachment `json:"attachments"`
	Troubles    []string        `json:"troubles"`
}

type apiHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type apiAttachment struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"` // bytes
}

func (s *Sink) apiList(w http.ResponseWriter, _ *http.Request) {
	now := s.look()
	answer := apiMessages{Received: now.received, Messages: []apiSummary{}}
	for _, m := range now.messages {
		answer.Messages = append(answer.Messages, summary(m))
	}
	writeJSON(w, answer)
}

func (s *Sink) apiMessage(w http.ResponseWriter, r *http.Request) {
	m, ok := s.asked(w, r)
	if !ok {
		return
	}
	answer := apiMessage{
		apiSummary:  summary(m),
		Headers:     []apiHeader{},
		Text:        m.Text,
		HTML:        m.HTML,
		Attachments: []apiAttachment{},
		Troubles:    append([]string{}, m.Troubles...),
	}
	for _, h := range m.Header {
		answer.Headers = append(answer.Headers, apiHeader(h))
	}
	for _, a := range m.Attachments {
		answer.Attachments = append(answer.Attachments, apiAttachment{a.Name, a.Type, len(a.Body)})
	}
	writeJSON(w, answer)
}

func (s *Sink) apiClear(w http.ResponseWriter, _ *http.Request) {
	s.Clear()
	w.WriteHeader(http.StatusNoContent)
}

func summary(m Message) apiSummary {
	return apiSummary{m.Number, m.From, m.To, m.Subject, m.ReceivedAt}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
