package logsim

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// at is a call of messages that are to be at these seqs. The payload distinguishes two under one.
func at(payload string, seqs ...int64) call {
	c := make(call, len(seqs))
	for i, seq := range seqs {
		c[i].messages = []cursor.Message{{
			Queue: queue, Seq: seq, Kind: cursor.KindArrival,
			Body: fmt.Appendf(nil, "at %d%s", seq, payload),
		}}
	}
	return c
}

// expected are the small scenarios of batches at their seqs.
func expected() []sim.Scenario {
	return []sim.Scenario{
		inOrder("at: a new queue", 1, -1, producers([]call{at("", 1)}, arrivals("b"))),
		inOrder("at: one batch from two producers", 2, 0,
			producers([]call{at("", 1, 2)}, []call{at("", 1, 2)})),
		inOrder("at: two messages at one seq", 2, 0,
			producers([]call{at("", 1)}, []call{at("other", 1, 2)})),
		inOrder("at: a repeat that is cut in another way", 1, 0,
			producers([]call{at("", 1, 2), at("", 3)}, []call{at("", 1), at("", 2, 3)})),
		inOrder("at: a plain append between two", 1, 0,
			producers([]call{at("", 1), at("", 2)}, arrivals("b"))),
		inOrder("at: a hole, and what fills it", 1, 0,
			producers([]call{at("", 1, 3), at("", 3)}, []call{at("", 2)})),
		inOrder("at: two flush", 1, nearly-1,
			producers([]call{at("", nearly), at("", nearly+1)}, arrivals("b"))),
		inOrder("at: a lost allocation goes into an order item", 1, nearly,
			producers([]call{at("", nearly+1, nearly+2)}, arrivals("b")), others(1, nearly-1, 0)),
		inOrder("at: full", 1, queuelog.MaxTail,
			producers([]call{at("", queuelog.MaxTail+1)},
				[]call{at("", queuelog.MaxTail+1, queuelog.MaxTail+2)})),
		inOrder("at: read", 1, 0, producers([]call{at("", 1, 2), at("", 3)}), reader(2)),
		expectedKept(0),
	}
}

// expectedKept is a row that got no place, and is given one when it is about to expire, or has.
func expectedKept(more int) sim.Scenario {
	return inOrder(fmt.Sprintf("at: expires without a place, %d faults", 1+more), 1+more, 0, expires,
		producers([]call{at("", 1)}, []call{at("", 1)}), keeper(5))
}

// expectedLarge takes minutes.
func expectedLarge() []sim.Scenario {
	return []sim.Scenario{
		expectedKept(1),
		inOrder("at: three producers, 2 faults", 2, 0,
			producers([]call{at("", 1, 2)}, []call{at("other", 1), at("", 2)}, arrivals("c"))),
	}
}
