package mailsink

import (
	"strings"
	"testing"
)

func TestThe2001stMessageDropsTheFirst(t *testing.T) {
	t.Parallel()
	s := New()
	for range 2001 {
		s.keep("courses@example.com", []string{"ada@example.org"}, []byte("Subject: x\r\n\r\n"))
	}
	kept := s.Messages()
	if len(kept) != 2000 || kept[0].Number != 2 || kept[1999].Number != 2001 {
		t.Errorf("%d messages from %d to %d", len(kept), kept[0].Number, kept[len(kept)-1].Number)
	}
}

func TestOldMessagesGoWhenThereAreTooManyBytes(t *testing.T) {
	t.Parallel()
	s := New()
	// Each has 9 MiB of bytes and 9 MiB of text, so three of them fit into 64 MiB.
	large := []byte("\r\n" + strings.Repeat("x", 9<<20))
	for range 5 {
		s.keep("", nil, large)
	}
	kept := s.Messages()
	if len(kept) != 3 || kept[0].Number != 3 || kept[2].Number != 5 {
		t.Errorf("%d messages from %d on", len(kept), kept[0].Number)
	}
	s.keep("", nil, []byte("\r\nsmall"))
	if len(s.Messages()) != 4 {
		t.Errorf("a small message dropped a large one: %d are left", len(s.Messages()))
	}
	s.Clear()
	for range 3 {
		s.keep("", nil, large)
	}
	if len(s.Messages()) != 3 {
		t.Errorf("cleared messages still count: %d are kept", len(s.Messages()))
	}
}
