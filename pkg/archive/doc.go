// Package archive keeps messages after all consumers have them, and replays ranges
// of them.
//
// Make a [Store] with [NewDynamo] for a table of its own, or write the three
// methods on a bucket of yours; then an [Archive] with [New]. The sweep of
// package handoff archives with it what every consumer of a queue is past
// (handoff.SweepOptions.Archive), and keeps messages from expiring before that, by
// [Archive.Delivered]. [Archive.Replay] puts a range
// to another queue, whose consumers get it like any other message. [Archive.Erase]
// deletes what is archived of a queue that was erased.
//
// # What is stored
//
// A document a message, under the queue's name and the seq; and one a queue,
// which is its mark: up to which seq it is archived. A document is a line of
// JSON with everything but the body, and then the body as it came. Nothing in an
// archive expires: give a bucket a lifecycle rule, if you want one. In a table they
// are, a document an item, under (key):
//
//	document     B  the line and the body
//
//	stored ──every consumer is past it──► archived ──mark──► deleted, or expired
//
// # What is guaranteed
//
//   - No message is deleted behind its consumers, and none expires while the
//     sweep runs, that is not archived. What was gone before, because it expired
//     while nobody swept or somebody deleted it, is counted and stepped over.
//   - A document never changes: archived twice, it is the same bytes. Only where a
//     queue's tables are restored from a backup, its numbers are given out again,
//     and what has them now takes the place of what is lost.
//   - A replay repeated changes nothing: the seqs stay what they were.
//
// # What a crash leaves behind
//
// Messages are archived first, then the mark is put, then they may be deleted.
// A crash in between leaves messages that are archived and still stored: the next
// run archives those behind the mark again, with the same bytes, and goes on. A
// replay that dies has put a part of its range; the next one finds it there.
package archive
