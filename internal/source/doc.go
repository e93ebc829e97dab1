// Package source reads the events with which AWS calls a function, and makes a message of each of
// their records: of SQS, SNS, EventBridge, Kinesis, S3, DynamoDB Streams and Kafka.
//
// Call [Read] for the source that a function's environment describes. For an event, [Source.Split]
// is its records, [Source.Messages] the messages of one, and [Event.Answer] what the function
// answers where some of them are to be repeated.
//
//	event ──Split──► records ─Messages──► messages ──► stored
//	                    │         │                      │
//	                    └─ Err    └── an invalid.Error   └── failed: Answer has it repeated
//	                        └──────────┴── poison: set aside, and done with
//
// # Kinds
//
// A kind ([kinds]) is what the records are, not what brings them: an S3 notification may come by
// itself, within an SQS message, within one of SNS, both, or by EventBridge, and is the same record
// each time. Each kind has fields with names of their own, such as "sequencer", and defaults: which
// field is the queue, the key and the id where the source says nothing else.
//
// # What is guaranteed
//
// The same record makes the same message, however often and in whatever company it comes: nothing
// of a message is taken from what changes from one delivery to the next. So a repeat is known by
// the message's own id, and harmless.
//
// What a record holds is written by others. It never makes Split or Messages panic, and chooses no
// queue outside of the source's prefix.
//
// # What a crash leaves behind
//
// Nothing: this package stores nothing.
package source
