// Package sqs runs a standard SQS queue that a function reads by an event source mapping: the queue
// and the mapping in one, in memory, for the local stack. Make a [Queue] with [New], call
// [Queue.Run], and give it the calls of SDKs ([Queue.Answer]).
//
//	SendMessage ─► waiting: DelaySeconds ─► batch ─► invoke ─► deleted
//	                  ▲                                │
//	                  └──── VisibilityTimeout ◄────────┘ failed, or named in batchItemFailures
//
// A message that was sent comes at least once, until it is older than MessageRetentionPeriod: it is
// dropped then. The order is that of the times at which messages become visible, and no more than
// that. Queues that functions read and that other services write to, FIFO queues among them, are
// not run here.
//
// The rules are those of the Amazon SQS API Reference and of "Using Lambda with Amazon SQS" in the
// AWS Lambda Developer Guide.
package sqs
