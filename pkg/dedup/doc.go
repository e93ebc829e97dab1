// Package dedup runs an effect once for each id, remembers its result, and
// fences off owners whose lease is over: for handlers whose events come more than
// once, and for requests that their callers repeat.
//
// Make a [Store] with [NewDynamo] (or [NewMemory], in tests), a [Deduplicator]
// with [New], once a process, and call [Deduplicator.Once]:
//
//	payments, err := dedup.New[string, Receipt](store, "payments", nil)
//	...
//	out, err := payments.Once(ctx, order.ID, func(ctx context.Context) (Receipt, error) {
//		return charge(ctx, order)
//	})
//
// The first call with an id runs the effect; a call meanwhile waits for it, and
// a later one gets its result. [Each] does so with each item of a batch. Package
// deduplambda wraps whole handlers of Lambda functions: of any event, of HTTP
// events with an Idempotency-Key, and of batches. [Deduplicator.TryStart] is for
// callers that end their attempt explicitly. [Deduplicator.List],
// [Deduplicator.Release] and [Deduplicator.ForceComplete] are for operators. For
// another database, write a [Store]: it has six methods.
//
// # The table
//
// Its definition is [Names.Tables]: keys id and processorId, both strings, and
// TTL by expiresOn. This project's stack has it, under the default name of
// [Names]; elsewhere you make it yourself (docs/dedup.md has the two commands):
// nothing here does, and a table that is not there is an error of the first
// call. The functions need dynamodb:UpdateItem and GetItem on it, PutItem for larger
// results, and Scan for List.
//
//	config, err := config.LoadDefaultConfig(ctx)
//	...
//	store, err := dedup.NewDynamo(dynamodb.NewFromConfig(config), dedup.Names{Table: "processes"})
//
// # Words
//
// A processor is a kind of work: the same id under another processor is
// another key. A claim makes a caller the owner of a key, until its lease is
// over. A fence is a number that rises with every claim. The payload is what
// came with the id, of which a hash is stored. A life of a row is from its first
// claim until it expires or is invalidated.
//
// # Effects outside the table are at least once
//
// No table can know whether a process that died in the middle of its effect had
// it. So the effect runs again after the lease, as attempt 2 ([RunOf]), and an
// effect that matters must detect that it ran before: it asks the other system, or
// passes it the id or the fence, so that it can refuse. What is exactly once is
// what is remembered: one result for an id, the same bytes for everybody.
//
// # What is stored
//
// One table, a key an item, under (id, processorId); in a table with one key
// only, under "8:payments:order-1": the processor's length, the processor, the
// id.
//
//	v             N  layout of the item, 1
//	fence         N  rises with every claim and override; begins at the clock's ms
//	attempt       N  claims of this life, from 1
//	token         B  of the last claim, 16 bytes
//	startedAt     N  ms, when that was
//	leaseUntil    N  ms, its end; 0 where it was given back
//	validUntil    N  ms, when the row counts as not there; 0 where invalidated
//	expiresOn     N  s, when TTL may delete it: an hour after validUntil, or later
//	payloadHash   B  SHA-256, where a payload was given
//	completedAt   N  ms, where the effect is done
//	failed        N  1 where it is done in that it failed
//	error         S  the remembered error, or the last attempt's; 256 bytes of it
//	result        B  encoded
//	codec         S  how: the codec's name, and "+zstd" where it is compressed
//	resultIn      S  item, overflow or omitted, where the result is not in the row
//	resultUntil   N  ms, when the result counts as omitted
//	repair, repairedBy, repairedAt, reason   the last override
//
// A row stays under 1 KB, for every claim that fails pays for its size. A
// larger result has an item of its own, under the same id and the processor
// "#" and the token ("#" and the token alone in a table with one key), with
//
//	v, result, expiresOn   as of a row
//	resultOf      S  the processor
//
// # The states of a key
//
//	                claim                 complete
//	NOT STARTED ────────────► RUNNING ──────────────► COMPLETED
//	     ▲                    │  │  ▲ ▲                   │
//	     │               fail │  │  │ └── replace ──┐     │ invalidate, or
//	     │                    ▼  │  │ claim         │     │ validUntil is over
//	     │                FAILED─┼──┤               │     ▼
//	     │     lease and margin  ▼  │               └── EXPIRED
//	     │          over:  TIMED OUT                      │
//	     └────────────────────────────────────────────────┘
//	               TTL, an hour or more later
//
// RUNNING, FAILED and TIMED OUT expire as well, when their validUntil is over,
// which is never before the lease is. FAILED or TIMED OUT with as many attempts
// as Options.MaxAttempts is QUARANTINED: only an operator's release, or its
// expiry, lets it run again.
//
// Every arrow but those of the clock and TTL is one conditional update. A claim
// takes a row that is not there, failed or timed out, and raises fence and
// attempt. All else swaps the row that was seen for its next one, if token, fence,
// lease and completion are those that were seen: an owner that was replaced changes
// nothing any more, nor does a late copy of a swap.
//
// # What is guaranteed
//
//   - One owner at a time is valid, and fences only rise.
//   - Only the owner completes, fails or extends; anybody else gets a [LostError].
//   - A completed id gives the same bytes to everybody, until it expires.
//   - The same id with another payload is refused.
//   - A second run begins only after the first one's lease is over, as long as
//     clocks are not farther apart than Options.Margin. All else holds whatever
//     clocks say.
//   - After a lease is over one caller takes the key, however many try, and
//     nobody runs an effect because its wait has ended.
//
// # What a crash leaves behind
//
// A caller that dies after its claim leaves a row that is taken over after the
// lease; one that dies in Complete may have stored it or not, and the row says
// which. A result's item that was stored before such a death belongs to nobody,
// and TTL takes it. Rows outlive their end by an hour, so that a late copy of a
// request finds them: fences never fall back.
//
// A response that is lost makes the SDK repeat the request. Each write is
// identified: a claim by its token, a completion by token and completedAt. So no
// caller waits for its own claim.
package dedup
