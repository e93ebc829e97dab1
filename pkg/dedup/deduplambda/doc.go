// Package deduplambda wraps handlers of Lambda functions so that each event has its effect once, by
// a [dedup.Deduplicator]:
//
//   - [Handler] a whole handler, keyed by a field of its event ([Field]);
//   - [HTTPv2], [HTTPv1] and [FunctionURL] those of HTTP events with an
//     Idempotency-Key;
//   - [OnSQS] those of messages of a queue; batches of other kinds call [dedup.Each].
package deduplambda
