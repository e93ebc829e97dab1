package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// refusals are the seqs that each request refuses.
type refusals = map[int][]int64

// service takes requests and refuses entries.
type service struct {
	refuse   refusals
	final    bool
	requests [][]int64
	taken    []int64
}

func (s *service) put(_ context.Context, seqs []int64) ([]Refusal, error) {
	var refusals []Refusal
	for i, seq := range seqs {
		if slices.Contains(s.refuse[len(s.requests)], seq) {
			refusals = append(refusals,
				Refusal{Index: i, Code: "InternalError", Message: "try later", Final: s.final})
		} else {
			s.taken = append(s.taken, seq)
		}
	}
	s.requests = append(s.requests, seqs)
	return refusals, nil
}

func itemsOf(sizes ...int) []Item[int64] {
	var items []Item[int64]
	for i, size := range sizes {
		items = append(items, Item[int64]{int64(i + 1), size, int64(i + 1)})
	}
	return items
}

func times(n, size int) []int { return slices.Repeat([]int{size}, n) }

func TestSplitting(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int
		want  [][]int64
	}{
		"nothing":              {nil, nil},
		"fits":                 {times(10, 1), [][]int64{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		"one too many":         {times(11, 1), [][]int64{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {11}}},
		"just fits":            {[]int{60, 40, 1}, [][]int64{{1, 2}, {3}}},
		"one byte over":        {[]int{60, 41, 59}, [][]int64{{1}, {2, 3}}},
		"each a whole request": {times(3, 100), [][]int64{{1}, {2}, {3}}},
	} {
		var s service
		check.OK(t, SendAll(t.Context(), "q", itemsOf(c.sizes...), Limits{"sqs", 100, 10}, true, s.put))
		check.Is(t, cmp.Diff(c.want, s.requests), "", name)
	}
}

// TestTooLarge: nothing leaves where a message cannot.
func TestTooLarge(t *testing.T) {
	var s service
	err := SendAll(t.Context(), "q", itemsOf(1, 100, 101, 500), Limits{"sns", 100, 10}, true, s.put)
	var tooLarge *TooLargeError
	check.That(t, errors.As(err, &tooLarge) && *tooLarge == (TooLargeError{"sns", 3, 101, 100}),
		"error %v, want message 3's", err)
	check.Is(t, len(s.requests), 0)
}

// TestRefusals: what is refused goes again before anything later, and where an order is kept,
// nothing overtakes a second time.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		refuse          refusals
		ordered         bool
		requests, taken string
	}{
		"the end":   {refusals{0: {3, 4}}, true, "[[1 2 3 4] [3 4 5 6]]", "[1 2 3 4 5 6]"},
		"all":       {refusals{0: {1, 2, 3, 4}}, true, "[[1 2 3 4] [1 2 3 4] [5 6]]", "[1 2 3 4 5 6]"},
		"overtaken": {refusals{0: {2}}, true, "[[1 2 3 4] [2] [5] [6]]", "[1 3 4 2 5 6]"},
		"overtaken, and refused again": {
			refusals{0: {2, 4}, 1: {2}}, true, "[[1 2 3 4] [2] [2] [4] [5] [6]]", "[1 3 2 4 5 6]",
		},
		"no order": {refusals{0: {2, 4}, 1: {4}}, false, "[[1 2 3 4] [2 4 5 6] [4]]", "[1 3 2 5 6 4]"},
		"four times": {
			refusals{0: {1}, 1: {1}, 2: {1}, 3: {1}}, false, "[[1 2 3 4] [1 5 6] [1] [1] [1]]", "[2 3 4 5 6 1]",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := service{refuse: c.refuse}
			check.OK(t,
				SendAll(t.Context(), "q", itemsOf(times(6, 1)...), Limits{"sqs", 4, 10}, c.ordered, s.put))
			check.Is(t, fmt.Sprint(s.requests), c.requests, name)
			check.Is(t, fmt.Sprint(s.taken), c.taken, name)
		})
	}
}

func TestRefusedTooOften(t *testing.T) {
	always := map[int][]int64{}
	for n := range 20 {
		always[n] = []int64{2}
	}
	for name, c := range map[string]struct {
		final    bool
		requests int
	}{"for good": {true, 1}, "again and again": {false, tries}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := service{refuse: always, final: c.final}
				err := SendAll(t.Context(), "q", itemsOf(1, 1, 1), Limits{"sqs", 100, 10}, true, s.put)
				check.Has(t, fmt.Sprint(err), "sqs refused message 2: InternalError: try later")
				check.Is(t, len(s.requests), c.requests)
			})
		})
	}
}

func TestRefusedUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		s := service{refuse: map[int][]int64{0: {1}}}
		err := SendAll(ctx, "q", itemsOf(1), Limits{"sqs", 100, 10}, true, s.put)
		check.Fails(t, err, context.DeadlineExceeded)
		check.That(t, !IsAway(err), "an entry without a verdict is a sink that is away")
		check.Has(t, fmt.Sprint(err), "try later")
	})
}

func TestRequestFails(t *testing.T) {
	for _, broken := range []error{&awscall.Error{Status: 400, Code: "KmsThrottled"},
		&smithyhttp.RequestSendError{}} {
		err := SendAll(t.Context(), "q", itemsOf(1), Limits{"sqs", 100, 10}, true,
			func(context.Context, []int64) ([]Refusal, error) { return nil, broken })
		check.That(t, errors.Is(err, broken) && IsAway(err), "error %v, want the request's", err)
	}
}
