package handoff

import (
	"strconv"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Token says whose claim it is. Its number rises with every claim of a
// consumer, so a sink that remembers the highest number it has seen, and
// refuses lower ones, is safe from a process that wakes up after its claim was
// taken over.
type Token struct {
	// N is the claim's number, from 1 up.
	N int64
	// Req is what the claimer called its request, 1 to 64 characters.
	Req string
}

// String is the token as it travels: number, hyphen, request.
func (t Token) String() string { return strconv.FormatInt(t.N, 10) + "-" + t.Req }

// Batch is a part of a queue, in order and without a gap, handed on to one
// consumer under a claim.
type Batch struct {
	Queue    string
	Consumer string
	Token    Token
	// From and To: the batch is the seqs From < seq <= To.
	From, To int64
	// Messages are the messages of the range, in order; the skipped seqs are
	// not among them.
	Messages []cursor.Message
	// Skipped are the seqs of the range that will never come, in order.
	Skipped []int64
	// Edges are, where the batch is tracked, the root edges of its chain's tree,
	// one a message: its work is done when [xorack.Acker.Done] was told of each of
	// them, and of all that was started under them. nil where it is not.
	Edges []xorack.Edge
	// Attempt is 1 the first time that the range is handed on, and rises each
	// time until it is committed.
	Attempt int
	// Rewinds is how often an operator set this consumer back. A sink that
	// drops repeats has it in the repeat's key, so that a replay goes through.
	Rewinds int64

	// outbox gathers the replies of a batch that takes some: see Reply.
	outbox *outbox
}
