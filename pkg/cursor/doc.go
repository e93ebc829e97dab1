// Package cursor is the sorter: it takes messages that arrive out of order and moves a cursor over
// every gap-free run of each queue.
//
// Make a [Store] with [NewDynamo] (or [NewMemory] in tests), a [Sorter] with [New], and call
// [Sorter.Put] for each message that arrives:
//
//	ctx := context.Background()
//	sorter, err := cursor.New(cursor.NewMemory(), nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 2, Body: []byte("paid")})
//	r := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: 1, Body: []byte("made")})[0]
//	for m, err := range sorter.Read(ctx, "orders", r.Old, r.New) {
//		fmt.Println(m.Seq, string(m.Body), err) // 1 made <nil>, 2 paid <nil>
//	}
//
// The messages come out, in order, behind the stream of the cursors table: package delivery
// delivers them. [OnMessages] and [OnArrivals] handle the other two streams, and [Sorter.Sweep]
// runs on a schedule: they complete what a crash left.
//
// There are three kinds of queue. In a numbered one the producers give the seqs. A queue in arrival
// order numbers its messages as they arrive. A keyed queue sorts by a time, a version or another
// key that has gaps. Readers see no difference.
//
// # Words
//
// A queue is messages that share one order. A seq is a message's place in its queue: contiguous
// integers. The position is the last seq up to which the queue is gap-free. A message is parked
// when it is stored beyond a gap. A tombstone is a record that says that a seq will never come. The
// log of a queue in arrival order, or of a keyed one, is the places of its messages in the order of
// their seqs. The watermark of a keyed queue is the greatest sort key that has its place.
//
// docs/internals/sorter.md has the states of a queue and of a log, docs/internals/protocols.md the
// requests, and docs/reference/items.md the attributes of each table.
//
// # What is guaranteed
//
//   - The position never decreases, and every seq at or under it is stored or
//     has a tombstone.
//   - The moves in the cursors' stream tile: each starts where the last ended.
//   - An accepted message's bytes never change. An answer that says so means
//     that the message is durable.
//   - In arrival order, an id has one place, for as long as its arrival is stored, and
//     a repeat of the request gets it.
//   - In a keyed queue, a message has one place, or is dropped, and the log says so. Those
//     that are not late are in the order of their keys, within each era, equal ones
//     in that of the hash of their ids. A message is not late if it was stored before the settle
//     window had passed since the first message with a greater sort key was sent, less what
//     clocks differ.
//   - Queues do not touch each other.
//   - An erased queue accepts nothing: see [Sorter.Erase]. In the end nothing of it is
//     stored but its stub.
//   - Once faults stop, the position reaches the end of the gap-free run without
//     a further put.
//
// No wake-up is lost because a writer stores and then reads the cursor, and a mover moves the
// cursor and then reads the messages; both reads are strong, so one of the two sees the other.
//
// # What a crash leaves behind
//
// A writer that dies after its put leaves a message that the cursor does not cover; one that dies
// after a move leaves parked messages behind it. The stream of the messages table names the
// message, and [OnMessages] advances the queue; if the stream drops the record, the sweep does. A
// repeated put gets Duplicate and continues where the first one stopped.
//
// A writer that dies after storing a message of a keyed queue leaves it waiting: [OnArrivals] has
// the queue settled in time, and the sweep settles every keyed queue in each pass. A late message
// whose writer died before its second read was not answered: a repeat places it.
//
// The SDK repeats a request whose response is lost, and each write recognises its own work then: a
// put by its mark, a move by the position, a gap by parked.
package cursor
