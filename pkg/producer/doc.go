// Package producer sends messages to Streamsort in batches: [New] returns a [Producer], whose
// Send takes one message and returns a [Future] of its outcome.
//
//	transport, err := producer.HTTP("https://ID.execute-api.REGION.amazonaws.com")
//	p, err := producer.New(transport, &producer.Options{Spool: &producer.Spool{Dir: "/var/lib/shop/spool"}})
//	future, err := p.Send(ctx, producer.Message{Queue: "orders", Seq: new(int64(7)), Body: body})
//	result, err := future.Wait(ctx) // advanced, parked, duplicate, …
//	err = p.Close(ctx)
//
// # What is sent together
//
// A message waits for up to [Options.Linger] for others of its queue. What has come by then,
// and while the request before was under way, goes in one request: up to [Options.Batch]
// messages of a queue, and of several queues up to 500 messages and [Options.RequestBytes]
// together. So a thousand messages a second that come one by one to many queues are some tens of
// requests a second, and those of one queue that come in order are stored as one item each, where the queue
// has packs.
//
// Of a queue there is one request under way at a time. A request with several queues keeps to
// that: it takes those of which none is under way. So a later message of a queue is never on
// its way beside an earlier one, also where the earlier one is sent again.
//
// # What is sent again
//
// Each message is sent until it is answered for good, under the same seq, key or id, so that a
// repeat is a duplicate: a request without an answer, one answered 401, 403, 404, 408, 429 or 5xx, and
// in an answered one each message with 429 or 5xx. A message that can never be accepted (400, 409,
// 410) fails alone, with a [RefusedError]. A message that is full, that is, too far ahead of its
// queue, is set aside and sent again later, so that those behind it, among which is the one that is
// missing, go on.
//
// A queue whose request failed, or took longer than a tenth of [Options.RequestTimeout], goes in
// requests of its own until one goes well. All such queues together have at most half of
// [Options.Requests]. So queues that hang hold up others once, and only those that were in a request
// with them: for RequestTimeout, and once more for each Requests ÷ 2 queues that hang.
//
// # Bounds
//
// All messages that are not answered for have [Options.MaxBytes] at most, those of one queue
// [Options.QueueBytes]; Send waits where they have. So one queue that is not taken stops its own
// senders, and nobody else's, as long as no more than MaxBytes ÷ QueueBytes − 1 queues are not taken.
//
// # What is stored, and what a crash leaves behind
//
// Without a [Spool], nothing is: what is not answered for is lost with the process, as its
// futures have told nobody that it was stored. With one, each message is written to a file before
// it is sent, and [Future.Spooled] says when it is there. A process that is killed then loses
// nothing of it: the next one with the same folder sends what was not answered for, under the
// same ids and in the same order, before anything new. What had been stored without an answer is a duplicate.
//
// Files: NUMBER.spool, of records with a length and a checksum each; docs/producer.md has the format. A record that
// the process died in is cut off, in the last file. Anywhere else a broken record is an error of New.
package producer
