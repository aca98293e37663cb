package lane

import (
	"testing"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzParseTask: what is read of a task is a bundle, and the task of that bundle
// says the same.
func FuzzParseTask(f *testing.F) {
	for _, seed := range []string{
		`{"run_id":7,"first_ticket":1,"last_ticket":500}`, `{"run_id":7,"first_ticket":2,"last_ticket":1}`, `{"run_id":0,"first_ticket":1,"last_ticket":1}`,
		`{"run_id":2147483648,"first_ticket":1,"last_ticket":1}`, `{"run_id":1,"first_ticket":1,"last_ticket":9223372036854775808}`,
		`{"run_id":1.0,"first_ticket":1,"last_ticket":1}`, `{"RUN_ID":1,"first_ticket":-1}`, `{}`, `null`, `[]`, "", "\xff", `{"run_id":1`,
	} {
		f.Add(settleTask, []byte(seed))
		f.Add("mail:send", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		p, err := parseTask(asynq.NewTask(kind, body))
		if err != nil {
			return
		}
		if kind != settleTask || p.RunID < 1 || p.First < 1 || p.Last < p.First {
			t.Errorf("a task of type %q with %q is taken for %+v", kind, body, p)
		}
		task, _ := newTask(enroll.Bundle{RunID: p.RunID, Run: "go-1", First: p.First, Last: p.Last})
		if again, err := parseTask(task); err != nil || again != p {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}
