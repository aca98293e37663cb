package enroll_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestSendErrorQuotesNothingOfTheMail(t *testing.T) {
	t.Parallel()
	err := &enroll.SendError{Code: enroll.MailRefused, Status: 550, Reply: "5.1.1 <ada@example.org>: no such user", Err: errors.New("answering RCPT")}
	if text := err.Error(); strings.Contains(text, "ada") || !strings.Contains(text, "550") || !strings.Contains(text, "answering RCPT") {
		t.Errorf("it says %q", text)
	}
	if !errors.Is(err, err.Err) {
		t.Error("its cause cannot be found")
	}
}
