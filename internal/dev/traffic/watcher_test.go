package traffic

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestWatcherSeesWhatIsWrong: a check that never fails checks nothing.
func TestWatcherSeesWhatIsWrong(t *testing.T) {
	var arrivals []Arrival
	for seq := 1; seq <= 3; seq++ {
		a := check.Get(NewArrival(fmt.Appendf(nil, `{"queue":"q","seq":%d,"body":%d}`, seq, seq)))
		arrivals = append(arrivals, a)
	}
	token := 0
	line := func(from, to int, seqs ...int) string {
		token++
		var messages []string
		for _, seq := range seqs {
			messages = append(messages, fmt.Sprintf(`{"seq":%d,"sha256":%q}`, seq, arrivals[seq-1].Sum))
		}
		return fmt.Sprintf(`{"message":"batch","queue":"q","token":%d,"from":%d,"to":%d,"messages":[%s]}`, token, from, to, strings.Join(messages, ","))
	}
	for name, c := range map[string]struct {
		lines      []string
		violations int
		repeated   int
		messages   int
	}{
		"right":             {[]string{line(0, 1, 1), line(1, 3, 2, 3)}, 0, 0, 3},
		"again":             {[]string{line(0, 1, 1), line(0, 1, 1), line(1, 3, 2, 3)}, 0, 1, 3},
		"again, same token": {slices.Repeat([]string{line(0, 1, 1)}, 2), 1, 0, 1},
		"half a line":       {[]string{line(0, 1, 1)[:30], line(0, 3, 1, 2, 3)}, 0, 0, 3},
		"a batch lost":      {[]string{line(1, 3, 2, 3)}, 1, 0, 2},
		"swapped":           {[]string{line(0, 3, 1, 3, 2)}, 2, 0, 3},
		"one lost":          {[]string{line(0, 3, 1, 3)}, 1, 0, 2},
		"one too short":     {[]string{line(0, 3, 1, 2)}, 1, 0, 2},
		"other bytes":       {[]string{strings.Replace(line(0, 1, 1), arrivals[0].Sum, "00", 1)}, 1, 0, 1},
	} {
		w := NewWatcher(&bytes.Buffer{}, 0, arrivals)
		for _, l := range c.lines {
			w.Line(l)
		}
		s := w.State()
		if min(len(s.Violations), c.violations) != c.violations || c.violations == 0 && len(s.Violations) > 0 || s.Repeated != c.repeated || s.Messages != c.messages {
			t.Errorf("%s: %+v, want %d violations, %d repeated, %d messages", name, s, c.violations, c.repeated, c.messages)
		}
	}
}
