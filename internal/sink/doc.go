// Package sink delivers batches of messages to the targets of the ready-made consumer: a Lambda
// function, an SQS FIFO queue, an SNS FIFO topic, an EventBridge bus, an HTTP endpoint or a bucket
// of S3. Each kind is in a folder here; package kind is what they are made of, and
// docs/internals/extend.md how to add one.
//
// Read a [Config] from JSON, call [New] once, and [kind.Sink.Send] for each batch. A sink stores
// nothing, and starts nothing that runs after Send returns.
//
// # What is promised
//
// Send returns nil only when the sink has taken every message of the batch. After any error some of
// them may have been taken: send the batch, or its first messages alone, again. So delivery is at
// least once; each repeat has a token with a higher number.
//
// A message that can never fit the sink's limits is a [*kind.TooLargeError]. It is found before the
// first request, so that nothing of the batch has left: the messages before it go out in a shorter
// batch, once.
//
// An error that is the sink's own, because it is throttled, has a fault, or cannot be reached in
// time, is distinguished from those of a message by [kind.IsAway]: by types, statuses and codes,
// not by words. What a function says that ran is always the message's.
//
//	kind         order of a queue's messages       repeats
//	lambda       kept                              by the token
//	sqs, sns     kept, but see below               dropped by AWS within 5 minutes, then by the token
//	eventbridge  not kept: EventBridge has none    by seq, or by the token
//	http         kept                              by webhook-id, or by the token
//	s3           kept                              by the range of seqs in the key
//
// # What is sent
//
//   - lambda: one JSON document for the batch ([lambda.Document]), or several, one after the other,
//     where it is over the limit. A function that fails, or that answers anything but nothing, null
//     or a JSON object, has not taken it. It runs to its end although its caller has died, so one
//     that must not work for a claim that is over compares tokenN.
//   - sqs, sns: one entry a message, of its queue's group, with [fifo.Attributes]. The
//     deduplication id has the consumer, the queue, the seq and the consumer's rewinds, so that two
//     consumers may share a queue and a replay goes through.
//   - eventbridge: one event a message, with an [eventbridge.Detail].
//   - http: one request a message, of its own body, or one a batch, of the document that a
//     function gets. The next one is made when it was answered 2xx.
//   - s3: one object a batch: see package s3.
//
// Skipped seqs are sent by lambda, by http in that document, and by s3 alone.
//
// docs/reference/events.md shows them, and docs/schema has them as JSON Schema. Queues have their
// whole names there. The tenant that one has in front (package pkg/tenant) is sent beside it.
//
// # Tracked consumers
//
// Where the batch is tracked ([delivery.Reader].Track), each message carries the token of its
// work's edge. Delivery is then not the end of the work: the worker that has done it reports the
// edge as done, to the ack function or by package xorack, and may start edges under it. Messages
// that are delivered again have other edges; an operation on those of the first time is answered
// that they have ended.
//
// # FIFO and failures within a request
//
// SQS and SNS keep the order of a request's entries, but may refuse one and take those after it,
// which have then overtaken it: nothing can call them back. Refused entries go again, in order,
// before anything later does, and the rest of the batch goes one by one, so that no more can
// overtake. Each case is logged ("sink.overtaken"). All entries of a request are of one group, and
// all reasons to refuse an entry that can be known are looked at before, so this is rare. Where it
// must never happen, set maxEntries to 1: it costs up to ten times the requests.
package sink
