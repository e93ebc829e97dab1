package bounds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestBounds: the bounds are taken, what is beyond them is not, and the error has all three.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{bounds.Check("n", 1, 1, 3), "<nil>"},
		{bounds.Check("n", 3, 1, 3), "<nil>"},
		{bounds.Check("n", 0, 1, 3), "n is 0: it must be from 1 to 3"},
		{bounds.Check("n", 61*time.Second, 0, time.Minute), "n is 1m1s: it must be from 0s to 1m0s"},
		{bounds.Text("t", "", 0, 2), "<nil>"},
		{bounds.Text("t", "ab", 1, 2), "<nil>"},
		{bounds.Text("t", "", 1, 2), "t must not be empty"},
		{bounds.Text("t", "abc", 0, 2), "t has 3 bytes: at most 2 are taken"},
		{bounds.Text("t", "\xff", 0, 2), "t is not valid UTF-8"},
	} {
		check.Is(t, fmt.Sprint(c.err), c.want)
	}
}
