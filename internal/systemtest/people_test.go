package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/testwait"
)

// told is the body of an answer.
type told struct {
	ID     uuid.UUID `json:"id"`
	Ticket int64     `json:"ticket"`
	Status string    `json:"status"`
	Final  bool      `json:"final"`
}

// rush has people ask for seats of a run over HTTP, at each of the APIs in
// turn, and calls halfway once half of them have an answer. A client without an
// answer asks again with the same Idempotency-Key. It returns every person's
// 202.
func (s *site) rush(run string, people int, apis []*process, halfway func()) []told {
	s.t.Helper()
	var answered atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	answers := make([]told, people)
	next := make(chan int)
	for range 32 {
		wg.Go(func() {
			for n := range next {
				for try, began := 0, time.Now(); ; try++ {
					api := apis[(n+try)%len(apis)]
					err := s.ask(api, run, n, &answers[n])
					if err == nil {
						break
					}
					if time.Since(began) > testwait.Limit {
						s.t.Errorf("person %d gave up: %v", n, err)
						break
					}
					time.Sleep(50 * time.Millisecond) //nolint:forbidigo // a client pauses before it asks again
				}
				if answered.Add(1) >= int64(people/2) {
					once.Do(halfway)
				}
			}
		})
	}
	for n := range people {
		next <- n
	}
	close(next)
	wg.Wait()
	return answers
}

func (s *site) ask(api *process, run string, n int, answer *told) error {
	return s.askContext(context.Background(), api, run, n, answer)
}

func (s *site) askContext(ctx context.Context, api *process, run string, n int, answer *told) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api.API+"/v1/runs/"+run+"/registrations",
		strings.NewReader(fmt.Sprintf(`{"name": "Person %d", "email": "p%d@example.org"}`, n, n)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprintf("person-%d", n))
	return do(r, http.StatusAccepted, answer)
}

var client = &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func do(r *http.Request, want int, v any) error {
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != want {
		return errors.New(answer.Status + " " + string(body))
	}
	return json.Unmarshal(body, v)
}
