// Package delivery delivers every queue's messages, in order, to named consumers, each with a place
// of its own.
//
// Package deliverylambda makes it a Lambda function behind the stream of the cursors table. With
// settings of its own, or elsewhere, make a [Store] with [NewDynamo] (or [NewMemory] in tests), a
// [cursor.Sorter] on the sorter's tables, and a [Deliverer] with [New]. A consumer is a [Reader].
// [OnStream] is the function behind the stream; it calls [Deliverer.Deliver] for each queue that a
// record names. [Deliverer.Sweep] runs on a schedule, and makes up for what the stream drops and
// what a crash leaves behind. A consumer that pulls has its [Claims] from [NewClaims], over HTTP
// from package pullhttp. Operators have [Deliverer.Operate].
//
// A record of the stream is only a hint. A delivery begins behind what the consumer has committed.
// So records may be dropped, repeated or late.
//
// # Words
//
// Delivered is the last seq that was delivered and committed. A claim is the right to deliver a
// range; it has a token, whose number rises with every claim, and a lease, after which another
// process may take it over. A consumer is blocked when a message failed as often, and for as long,
// as it may. Sink health is what all queues of a consumer's name know of its sink.
//
// docs/internals/delivery.md draws the states of a consumer, of its replies and of deferred work;
// docs/reference/items.md has the items of the tables.
//
// # What is guaranteed
//
//   - A consumer gets each queue in order and without a hole. What is not there any more is
//     announced and waited for, never stepped over.
//   - Delivered rises only over what was delivered under the claim that is committed, over what
//     an operator skips, or where an operator sets it.
//   - At most one token is valid at any time. A claim that was taken over can never commit.
//   - A tracked batch is committed by its chain only when all edges of that have ended.
//   - A message that fails, or kills its worker, stops its own queue for its own consumer and
//     nothing else. A sink that is away blocks no queue.
//   - Every accepted message is delivered, or every run of the sweep announces its consumer as
//     blocked, lagging or missing something.
//
// # What is not
//
// A batch is delivered at least once. A process that dies between the delivery and the commit
// leaves it to be delivered again, under a higher token. One that sleeps past its lease may deliver
// an old batch after newer ones. Its commit fails, but its sink has the batch. A sink that
// remembers the highest token of each queue and consumer, in the transaction of its effect, and
// refuses lower ones, is safe from both. So is a handler that calls dedup.Each (package pkg/dedup).
//
// A consumer that is removed and created again counts its tokens from 1: a sink that fences must
// forget the old ones.
package delivery
