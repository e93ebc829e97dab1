package progress_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
)

// after has so many come one a while, from the first look on.
func after(while time.Duration, most int, left string) progress.Look {
	var began time.Time
	return func(context.Context) (int, string, error) {
		if began.IsZero() {
			began = time.Now()
		}
		return min(int(time.Since(began)/while), most), left, nil
	}
}

// TestUntil: a line a second where something has moved, and none where nothing has.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := progress.Wait{Total: 3, What: "are here", Patience: time.Minute, Out: &out}
		check.OK(t, w.Until(t.Context(), after(10*time.Second, 3, "")))
		check.Is(t, cmp.Diff("    1 of 3 are here\n    2 of 3 are here\n", out.String()), "")
		began := time.Now()
		out.Reset()
		if err := w.Until(t.Context(), after(time.Millisecond, 3, "")); err != nil || out.Len() > 0 || time.Since(began) > time.Second {
			t.Errorf("what is quick: %q after %v, error %v", &out, time.Since(began), err)
		}
	})
}

func TestUntilGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := progress.Wait{Total: 3, What: "are here", Patience: time.Minute, Out: &bytes.Buffer{}}
		for name, c := range map[string]struct {
			look  progress.Look
			want  string
			after time.Duration
		}{
			"no more":      {after(time.Second, 2, ""), "2 of 3 are here, and no more for 1m0s", 62 * time.Second},
			"not finished": {after(time.Second, 3, "one is open"), "3 of 3 are here, and no more for 1m0s: one is open", 63 * time.Second},
			"blind":        {func(context.Context) (int, string, error) { return 0, "", errors.New("cannot see") }, "cannot see", 0},
		} {
			began := time.Now()
			err := w.Until(t.Context(), c.look)
			if took := time.Since(began); err == nil || err.Error() != c.want || took < c.after || took > c.after+time.Second {
				t.Errorf("%s: %v after %v, want %s after %v", name, err, took, c.want, c.after)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if err := w.Until(ctx, after(time.Hour, 3, "")); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "0 of 3 are here") {
			t.Errorf("in a context that ends: %v", err)
		}
	})
}
