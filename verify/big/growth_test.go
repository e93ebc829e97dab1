package big

import (
	"strings"
	"testing"
)

// TestGrowthIsSeen: what costs more where there is more is an error, but for the look that a burst may take.
func TestGrowthIsSeen(t *testing.T) {
	s := shapes[1] // of 10
	least := perMessage{requests: 4, writes: 2, reads: 1}
	for _, c := range []struct {
		name string
		then perMessage
		want string // in the error; none where it is empty
	}{
		{"the same", least, ""},
		{"a look", perMessage{4.1, 2, 1.05}, ""},
		{"more requests", perMessage{4.2, 2, 1}, "4.200 requests"},
		{"more writes", perMessage{4, 2.1, 1}, "2.100 write"},
		{"more reads", perMessage{4, 2, 1.1}, "1.100 read"},
	} {
		g := growth{world: &world{}, what: "queues", look: perMessage{requests: 1, reads: 0.5}, rows: []row{{s, 10, least}, {s, 1000, c.then}}}
		err := g.tell()
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if len(g.lines) != 2 {
			t.Errorf("%s: %q", c.name, g.lines)
		}
	}
}
