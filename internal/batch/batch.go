// Package batch holds the one idea that makes Lastseat fast: a worker that is
// ready takes everything that waits at that instant and does it in one go. There
// is no timer to wait for: while one batch is on its way to the database, the next
// one forms.
package batch

import (
	"context"
	"iter"
)

// Take waits for an item on ch and returns it with all others that wait behind
// it, most at the most, in order. Once ctx has ended it no longer waits, and
// returns nil when nothing is left.
func Take[T any](ctx context.Context, ch <-chan T, most int) []T {
	select {
	case item := <-ch:
		return Fill(item, ch, most)
	case <-ctx.Done():
	}
	select {
	case item := <-ch:
		return Fill(item, ch, most)
	default:
		return nil
	}
}

// Fill returns an item that was taken from ch with all others that wait behind
// it, most at the most, in order. It is for callers that also wait for something
// else.
func Fill[T any](item T, ch <-chan T, most int) []T {
	taken := []T{item}
	for len(taken) < most {
		select {
		case item := <-ch:
			taken = append(taken, item)
		default:
			return taken
		}
	}
	return taken
}

// Each yields one batch after the other until ctx has ended and nothing is
// left: what waits at the end is still done.
func Each[T any](ctx context.Context, ch <-chan T, most int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for taken := Take(ctx, ch, most); taken != nil && yield(taken); {
			taken = Take(ctx, ch, most)
		}
	}
}
