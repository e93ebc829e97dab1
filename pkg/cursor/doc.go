// Package cursor is the sorter: it takes messages that arrive out of order and
// moves a cursor over every gap-free run of each queue.
//
// Make a [Store] with [NewDynamo] (or [NewMemory] in tests), a [Sorter] with
// [New], and call [Sorter.Put] for what arrives. The
// messages come out, in order, behind the stream of the cursors table: package
// delivery delivers them, and [StatelessConsumer] is a Lambda function there that
// stores nothing. The function behind the stream of the messages
// table is [OnMessages], and [Sorter.Sweep] runs on a schedule; both make up for
// what a crash leaves behind.
//
// Where the producers have no numbers, the queue gives the messages theirs
// as they arrive: see "Queues in arrival order". Where they have a time, a version or
// another key that has gaps, a keyed queue sorts by that: see "Keyed queues". Everything
// else is the same for all kinds of queue, and readers do not see which it is.
//
// # Words
//
// A queue is messages that share one order. A seq is a message's place in its
// queue: contiguous integers. The position is the last seq up to which the
// queue is gap-free. A message is parked when it is stored beyond a gap. A
// tombstone is a record that says that a seq will never come. The log of a queue in arrival
// order, or of a keyed one, is the places of its messages in the order of their seqs. The
// watermark of a keyed queue is the greatest sort key that has its place.
//
// # What is stored
//
// The messages table, a message an item, under (queue, seq):
//
//	v            N  layout of the item, 1
//	op           B  mark of the put that stored it, 8 bytes
//	digest       B  distinguishes two messages, 16 bytes
//	body         B  as it came
//	id, contentType, attributes   where given
//	trace        B  the [Trace], where given: trace id, parent id, flags, tracestate
//	enqueuedAt   N  ms
//	expiresOn    N  s, when TTL may delete it
//	tombstone    S  instead of digest and body: why the seq never comes
//
// The cursors table, a queue an item, under (queue):
//
//	v            N  layout of the item, 1
//	first        N  the queue's first seq
//	position     N  the last seq up to which it is gap-free, first-1 at the start
//	parked       N  a seq known to be stored beyond a gap; never lowered
//	gapSince     N  ms, when the gap opened or the position last moved
//	change       S  what the last write was: advance, park, other
//	policy, gapAfter, maxAhead, mode, kind   the queue's other [Settings]
//	announced    N  the gap that was announced as open, where one is
//	floor        N  the seq up to which all consumers are past, and messages may be deleted
//	floorSince   N  ms, when floor was last raised
//	notify       N  ms, when the queue's consumers were last notified
//
// and those of a queue in arrival order, of layout 2,
//
//	tail         L  the last places, each bytes (see [queuelog.Entry]): 10 of the key, 4 of count and
//	                seen; in a keyed queue its marks, the sort key without the first byte, 4 of seen
//	tailFrom     N  the seq before those of the tail
//	prints       S  the places that left the tail last, 4 characters each (see fingerprints)
//	printsFrom   N  the seq before those of the fingerprints
//
// and those of a keyed queue, of layout 4, which has tail (see below) and tailFrom too,
//
//	keyType      S  what its keys are (see [KeyType])
//	settle       N  ms, the settle window
//	late         S  what becomes of late messages: deliver or drop
//	clockAhead   N  ms, how far a time in a key may be ahead, where a part of the keys is a time
//	high         B  the watermark: the greatest sort key that has its place and is not late
//	low          B  a former high, up to which all that was stored when it was left behind
//	                has its place
//	lateSoFar    N  how many messages were late
//	lateSeq      N  the seq of the last of them
//	lateTold     N  for how many of them that was announced
//	inRow        N  how many were late since the last place that was not, where one was
//	anew         B  a hash of the order by which the keys last began anew, where they did
//
// and that of a queue that was erased, of layout 3, a stub, which has v, first, change and
//
//	erased       N  ms, when it was asked for
//	eraseOp      S  what that was called
//	lastSeq      N  the position that the queue had
//	emptied      N  ms, when nothing of it was stored any more
//
// The sweeps table, a walk over all queues an item, under (name): how far its round has come.
//
//	v            N  layout of the item, 1
//	segments     N  how many parts the round reads the cursors in
//	left         M  the segments in which it has not ended, by their numbers; none between
//	                two rounds; of each
//	  after      S  the last queue that it has looked at; none at the begin
//	  in         S  the queue behind it that the round is in the middle of
//	  kept       N  the seq up to which it has kept that queue's messages from expiring
//	began        N  ms, when the round began
//	since        N  ms, when the last round before it began in which no visit failed
//	failed       BOOL  where a visit of the round failed
//	finished     N  ms, when the last whole round ended
//	sums, peaks  M  what the round has counted, and the longest times that it has seen, in ms
//
// For queues in arrival order, and for keyed ones, the arrivals table, what came under one
// id an item, under (queue, sortKey):
//
//	v            N  layout of the item, 2
//	id           S  the whole id, of which sortKey is 10 bytes of the SHA-256; none of a batch that
//	                was put at a seq: its sortKey is of the seq before, and of digest
//	op, digest, enqueuedAt, expiresOn   as of a message; digest is over all of them
//	seen         N  a position that the queue had before
//	body, contentType, attributes, trace, messageId   of the one message, or:
//	count        N  how many messages
//	frames       B  the messages; deflated where that saves a write unit, as
//	deflated     B
//	trace        B  where given, the trace that all messages have; or, each with its length before it,
//	traces       B  that of each
//
// In a keyed queue the layout is 4, and sortKey is a byte 1, the message's [sortkey.Era] and [Key], and 8
// bytes of the SHA-256 of its id, so that the table has what waits in its order; and
//
//	prev         S  the id of the message that should stand before it, where given
//
// beside the receipts of messages whose key is a time of receipt ([Received]), of layout 4
// too, under a byte 3 and 10 bytes of the SHA-256 of the id:
//
//	received     N  ns, when the first message under the id came
//	expiresOn    N  later than that of the message
//
// and in the messages table, an order item under (queue, its last seq):
//
//	v            N  layout of the item, 2, or 4 of a keyed queue
//	entries      L  24 places that have left the tail
//	expiresOn    N  later than all that it names
//
// # The states of a queue
//
//	             put of position+1: move               put beyond position+1: park
//	            ┌──────────┐   ┌────────────────────────────┐
//	            │          ▼   │                            ▼
//	(no cursor) ──create──► GAP-FREE                       GAP OPEN ◄──┐ put farther beyond: nothing to write
//	                        parked <= position   parked > position ────┘
//	                           ▲                            │
//	                           └────────────────────────────┘
//	             the missing message, or its tombstone: move over all that was parked
//
// The position only rises, so it is itself the value that a move compares: no
// version number is needed. Nobody ever lowers parked: a gap is open if and
// only if it is above the position. Who fills a gap looks at what is stored beyond it, however far,
// and puts the first that it sees beyond the next hole on record with its move.
//
// The move over what was parked is made in pieces, of at most 1,000 messages or
// 1 MB: the next one starts where the last one ended, in this call or in another
// one's. Where more may follow than is on record, a piece ends one message early and
// parks that message, so that the state stays GAP OPEN until the run is over:
//
//	GAP OPEN ──move over a piece──► GAP OPEN ──…──► GAP-FREE
//
// # Queues in arrival order
//
// An arrival is stored first, under its id. Then one update of the cursor gives
// its messages the next seqs: it raises the position and writes the place into
// the tail. That update is the move itself, so there is never a gap, and nothing
// to repair; and it adds to what stands there, so writers do not collide.
//
//	(nothing) ──put──► STORED, without a place ──allocation──► IN THE TAIL
//	                     │ nobody comes                       │ flush: 24 places
//	                     ▼                                    ▼ at once
//	                  (expires)                           IN AN ORDER ITEM
//
// An allocation that is repeated must find its place. As long as that is in the tail,
// the condition "not in the tail" fails, and the answer shows it. It can have
// left the tail only if the tail now begins behind a position that the queue had
// before the arrival was stored, which is kept with it. The fingerprints show for the
// places between the two, if they reach back so far, whether one can be the
// arrival's; where it can be, the allocation fails, and the place is looked for in
// the order items.
//
// Messages with seqs are put to such a queue by [Sorter.Put]: each batch is an arrival, and its
// allocation asks that the position is right before its first seq. So it has those seqs or none, and who
// finds the position beyond them compares what is stored there.
//
// The tail is flushed by first storing the order item and then trimming the
// tail, which leaves the fingerprints; the first 24 entries of a tail never change, so
// anybody may do both, any number of times.
//
// # Keyed queues
//
// A message is stored first, under its sort key, where it waits. When it has waited for the
// settle window, [Sorter.Settle] gives it, and all that wait under lesser sort keys, the next
// seqs, by one update of the cursor: it raises the position and the watermark, and writes the
// places into the tail. As in arrival order, that update is the move itself; but here it
// compares the position, for what it writes was decided on the log as it was.
//
//	             stored, and beyond the watermark still
//	(nothing) ──put──► WAITING ──settle: its window is over, or that of a greater one──► IN THE LOG
//	                     │                                                                ▲
//	                     └──the watermark is beyond it: it is late, or has its place──────┘
//	                        nothing of it in the log: a place at the end, as late, or dropped
//
// Who has stored a message looks at the cursor again, strongly: if the watermark is beyond it
// already, no settler may ever see it, and the writer itself gives it its place, at the end,
// marked as late. Whether it has one is found as in arrival order: by the tail, and by the
// order items behind a position that the queue had before it was stored.
//
// A settler reads what is stored beyond Low, so also what the move before it has placed, and
// looks up what is not in the tail. What was stored under the watermark before that was
// raised, and the move did not see, is found so; what was stored later finds itself late.
//
// [Sorter.RestartKeys] closes an era: it settles all that waits, and then one move places an entry
// without a message, which raises the watermark over all sort keys of the era. What is put by a
// writer that does not know of it has a lesser sort key, and so it is late.
//
// Clocks decide what is late, never the order, and never what is lost.
//
// # Erasing a queue
//
// [Sorter.Erase] makes the cursor a stub by one write, for ever. Every write that moves or
// changes a queue is under a condition of an attribute that a stub has not, so it fails and
// shows the stub: [ErrErased]. A put that stored its message and then finds the stub is
// answered so too.
//
//	(live) ──Erase──► ERASING ──nothing is left──► SETTLING ──EraseGrace after Erase, and
//	                     ▲                             │      nothing is left still
//	                     └── a late message is found ──┘               │
//	                                                                   ▼
//	                                                                ERASED
//
// What is stored is found by queries and deleted, by [Sorter.EraseMore], which the request
// calls at once and each run of the sweep calls again; nothing notes how far it is, for what is deleted is
// not found again. A writer that looked at the cursor before it was a stub may store a
// message, an arrival, a tombstone or an order item later: the messages' stream shows the first
// and the last two to [OnMessages], which deletes them, a look after EraseGrace finds
// what came until then, and the full round of the sweep looks at stubs for ever.
//
// # What is guaranteed
//
//   - The position never decreases, and every seq at or under it is stored or
//     has a tombstone.
//   - The moves in the cursors' stream tile: each starts where the last ended.
//   - An accepted message's bytes never change. An answer that says so means
//     that the message is durable.
//   - In arrival order, an id has one place, for as long as its arrival is kept,
//     and a repeat of the request gets it.
//   - In a keyed queue, a message has one place, or is dropped, and the log says so. Those
//     that are not late stand in the order of their keys, within each era, equal ones in that of
//     the hash of their ids. None is late that was stored before the settle window had passed
//     since the first message with a greater sort key was sent, less what clocks differ.
//   - Queues do not touch each other.
//   - In an erased queue nothing is accepted: see [Sorter.Erase]. In the end nothing of
//     it is stored but its stub.
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
// over, or a part of them. The stream of the messages table names the message, and its handler
// advances the queue; should the stream drop the record, the sweep does. A put
// that is repeated gets Duplicate and goes on where the first one stopped.
//
// No call needs more time than an invocation has. A put moves over what was known
// and two full pieces; a `Heal` that is stopped has kept its last piece, and is
// continued by the same record, which [OnMessages] then names as failed.
//
// Who dies after storing a message of a keyed queue leaves it waiting; the stream of the
// arrivals table names it, and its handler, [OnArrivals], has the queue settled in time; the
// sweep settles every keyed queue in each round. One that was late, and whose writer died
// before it looked, was not answered: its repeat gives it its place.
//
// A response that is lost makes the SDK repeat the request. Each write is made
// such that its repeat finds its own work: a put by its mark, a move by the
// position, a gap by parked.
package cursor
