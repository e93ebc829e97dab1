// Package producer sends messages to Streamsort in batches: [New] returns a [Producer], whose Send
// takes one message and returns a [Future] of its outcome.
//
//	transport, err := producer.HTTP("https://ID.execute-api.REGION.amazonaws.com")
//	p, err := producer.New(transport, nil)
//	future, err := p.Send(ctx, producer.Message{Queue: "orders", Seq: new(int64(7)), Body: body})
//	result, err := future.Wait(ctx) // advanced, parked, duplicate, …
//	err = p.Close(ctx)
//
// # What is sent together
//
// A message waits for up to [Options.Linger] for others of its queue. What has come by then, and
// while the request before was under way, goes in one request: up to [Options.Batch] messages of a
// queue, and of several queues up to 500 messages and [Options.RequestBytes] together. So a
// thousand messages a second that come one by one to many queues are some tens of requests a
// second.
//
// Messages that are in order cost least in a queue in arrival order, with their seqs: each batch is
// one item there. The first one has the Kind arrival. Messages out of order, or with holes between,
// are for a numbered queue.
//
// A queue has one request under way at a time. A request with several queues keeps to that: it
// takes those of which none is under way. So a later message of a queue is never on its way beside
// an earlier one, also where the earlier one is sent again.
//
// # What is sent again
//
// Each message is sent until it is answered for good, under the same seq, key or id, so that a
// repeat is a duplicate: a request without an answer, one answered 401, 403, 404, 408, 429 or 5xx,
// and in an answered one each message with 429 or 5xx. A message that can never be accepted (400,
// 409, 410) fails alone, with a [RefusedError]. One that is ahead of a queue in arrival order goes
// again behind the one that is next, where this producer has that; else its error has the queue's
// position. A message that is full, that is, too far ahead of its queue, is set aside and sent
// again later, so that those behind it, among which is the one that is missing, go on.
//
// A queue whose request failed, or took longer than a tenth of [Options.RequestTimeout], goes in
// requests of its own until one goes well. All such queues together have at most half of
// [Options.Requests]. So queues that hang hold up others once, and only those that were in a
// request with them: for RequestTimeout, and once more for each Requests ÷ 2 queues that hang.
//
// # Bounds
//
// All messages that are not answered for have [Options.MaxBytes] at most, those of one queue
// [Options.QueueBytes]; Send waits where they have. So one queue that is not taken stops its own
// senders, and nobody else's, as long as no more than MaxBytes ÷ QueueBytes − 1 queues are not
// taken.
//
// # When the process dies
//
// Messages without an outcome are only in memory. They are lost when the process dies, unless the
// caller has a queue or an outbox of its own: docs/how-to/producers.md has the pattern. A repeat by
// the next process is a duplicate where the message has a seq, a key or an id of the caller.
package producer
