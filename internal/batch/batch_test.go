package batch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/batch"
)

func TestTake(t *testing.T) {
	t.Parallel()
	fill := func(n int) chan int {
		ch := make(chan int, n)
		for i := range n {
			ch <- i
		}
		return ch
	}
	t.Run("takes all that waits in order", func(t *testing.T) {
		t.Parallel()
		if got := batch.Take(t.Context(), fill(3), 10); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("leaves what is beyond the most", func(t *testing.T) {
		t.Parallel()
		ch := fill(5)
		first, second := batch.Take(t.Context(), ch, 3), batch.Take(t.Context(), ch, 3)
		if !slices.Equal(first, []int{0, 1, 2}) || !slices.Equal(second, []int{3, 4}) {
			t.Errorf("got %v and %v", first, second)
		}
	})
	t.Run("fills up behind an item that was taken already", func(t *testing.T) {
		t.Parallel()
		ch := fill(4)
		if got := batch.Fill(<-ch, ch, 3); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("got %v", got)
		}
		if got := batch.Fill(<-ch, ch, 3); !slices.Equal(got, []int{3}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("waits for the first", func(t *testing.T) {
		t.Parallel()
		ch := make(chan int)
		time.AfterFunc(10*time.Millisecond, func() { ch <- 7 })
		if got := batch.Take(t.Context(), ch, 3); !slices.Equal(got, []int{7}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("hands out what is left after the end, then nothing", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ch := fill(4)
		var all []int
		for got := range batch.Each(ctx, ch, 3) {
			all = append(all, got...)
		}
		if !slices.Equal(all, []int{0, 1, 2, 3}) {
			t.Errorf("got %v", all)
		}
	})
}
