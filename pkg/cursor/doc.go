// Package cursor is the sorter: it takes messages that arrive out of order and
// moves a cursor over every gap-free run of each queue.
//
// Make a [Store] with [NewDynamo] (or take a [Memory] in tests), a [Sorter]
// with [New], and call [Sorter.Put] or [Sorter.PutGroup] for what arrives. The
// messages come out, in order, behind the stream of the cursors table: a
// Lambda function there is [OnStream]. The function behind the stream of the
// messages table is [OnMessages], and [Sorter.Sweep] runs on a schedule; both
// make up for what a crash leaves behind.
//
// # Words
//
// A queue is messages that share one order. A seq is a message's place in its
// queue: contiguous integers. The position is the last seq up to which the
// queue is gap-free. A message is parked when it is stored beyond a gap. A
// tombstone is a record that says that a seq will never come.
//
// # What is stored
//
// The messages table, a message an item, under (queue, seq):
//
//	v            N  layout of the item, 1
//	op           B  mark of the put that stored it, 8 bytes
//	digest       B  tells two messages apart, 16 bytes
//	body         B  as it came
//	id, contentType, attributes   where given
//	enqueuedAt   N  ms
//	expiresOn    N  s, when TTL may delete it
//	tombstone    S  instead of digest and body: why the seq never comes
//
// The cursors table, a queue an item, under (queue):
//
//	v            N  layout of the item, 1
//	first        N  the queue's first seq
//	position     N  the last seq up to which it is gap-free, first-1 at the start
//	parked       N  the highest seq known to be stored beyond a gap; never lowered
//	gapSince     N  ms, when the gap opened or the position last moved
//	change       S  what the last write was: advance, park, other
//	policy, gapAfter, maxAhead, mode   the queue's settings
//	announced    N  the gap that was announced as open, where one is
//
// The sweeps table, a segment an item, under (name): how far a sweep has come.
//
// # The states of a queue
//
//	             put of position+1: move               put beyond position+1: park
//	            ┌──────────┐   ┌────────────────────────────┐
//	            │          ▼   │                            ▼
//	(no cursor) ──create──► GAP-FREE                       GAP OPEN ◄──┐ put farther beyond: widen
//	                        parked <= position   parked > position ────┘
//	                           ▲                            │
//	                           └────────────────────────────┘
//	             the missing message, or its tombstone: move over all that was parked
//
// The position only rises, so it is itself the value that a move compares: no
// version number is needed. Nobody ever lowers parked: a gap is open if and
// only if it is above the position.
//
// # What is guaranteed
//
//   - The position never decreases, and every seq at or under it is stored or
//     has a tombstone.
//   - The moves in the cursors' stream tile: each starts where the last ended.
//   - An accepted message's bytes never change. An answer that says so means
//     that the message is durable.
//   - Queues do not touch each other.
//   - Once faults stop, the position reaches the end of the gap-free run
//     without a further put.
//
// No wake-up is lost because a writer stores and then looks at the cursor, and
// a mover moves the cursor and then looks at the messages; both looks are
// strong, so one of the two sees the other.
//
// # What a crash leaves behind
//
// A writer that dies after its put leaves a message that the cursor does not
// know of; one that dies after a move leaves parked messages that nobody moved
// over. The stream of the messages table names the message, and its handler
// heals the queue; should the stream drop the record, the sweep does. A put
// that is repeated is told Duplicate and goes on where the first one stopped.
//
// A response that is lost makes the SDK repeat the request. Each write is made
// such that its repeat finds its own work: a put by its mark, a move by the
// position, a gap by parked.
package cursor
