// Package dedup runs an effect once for each id, remembers its result, and fences off owners whose
// lease is over. It is for handlers whose events come more than once, and for requests that their
// callers repeat.
//
// Make a [Store] with [NewDynamo] (or [NewMemory], in tests), a [Deduplicator] with [New], once a
// process, and call [Deduplicator.Once]:
//
//	payments, err := dedup.New[string, Receipt](store, "payments", nil)
//	...
//	out, err := payments.Once(ctx, order.ID, func(ctx context.Context) (Receipt, error) {
//		return charge(ctx, order)
//	})
//
// The first call with an id runs the effect. A call meanwhile waits for it, and a later one gets
// its result. [Each] does so for each item of a batch. Package deduplambda wraps whole Lambda
// handlers: of any event, of HTTP events with an Idempotency-Key, and of batches.
// [Deduplicator.TryStart] is for callers that end their attempt explicitly. [Deduplicator.List] and
// [Deduplicator.Release] are for operators. For another database, write a
// [Store]: it has six methods, and package deduptest holds it to them.
//
// # The table
//
// [Names.Tables] defines it: keys id and processorId, both strings, and TTL by expiresOn. This
// project's stack creates one, under the default [Names]. Elsewhere create it yourself:
// table.Create(ctx, client, dedup.Names{}.Tables()...). The program needs dynamodb:UpdateItem and
// GetItem on it, PutItem for large results, and Scan for List.
//
// # Words
//
// A processor is a kind of work: the same id under another processor is another key. A claim makes
// a caller the owner of a key until its lease is over. A fence is a number that rises with every
// claim. The payload is what came with the id; its hash is stored. A life of a row lasts from its
// first claim until it expires or is invalidated.
//
// # Effects outside the table are at least once
//
// No table knows whether a process that died in its effect had it. The effect runs again after the
// lease, as attempt 2 ([RunOf]). An effect that matters asks the other system whether it ran, or
// passes it the id or the fence. What is exactly once is what is remembered: one result for an id,
// the same bytes for everybody.
//
// # What is guaranteed
//
//   - One owner at a time is valid, and fences only rise.
//   - Only the owner completes, fails or extends; anybody else gets a [LostError].
//   - A completed id gives the same bytes to everybody, until it expires.
//   - The same id with another payload is refused.
//   - A second run begins only after the first one's lease is over, as long as
//     clocks differ by no more than Options.Margin. The rest holds for any clocks.
//   - After a lease is over one caller takes the key, however many try. No caller
//     runs an effect because its wait has ended.
//
// A lost response makes the SDK repeat the request. Each write recognises its own work: a claim by
// its token, a completion by token and completedAt.
//
// docs/internals/dedup.md has the states of a key, what a crash leaves, and the reasons;
// docs/reference/items.md has the attributes.
package dedup
