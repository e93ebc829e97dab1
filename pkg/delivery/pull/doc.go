// Package pull is the two-phase delivery: a consumer with a transactional database of its own,
// anywhere, claims a queue's messages and has the effect of each in that database exactly once.
//
// Begin with [Consume], which is the whole loop, on a [delivery.Claims] and a [Database]. The
// Claims are made by [delivery.NewClaims] where the tables are at hand, on the Deliverer that made
// the consumer ([delivery.Deliverer.Create]), and by package pullhttp over HTTP. The Database is
// package sqlmarker where it is PostgreSQL or SQLite:
//
//	claims, err := pullhttp.New("https://ID.execute-api.REGION.amazonaws.com")
//	markers, err := sqlmarker.Open(ctx, db, sqlmarker.PostgreSQL, stackID)
//	err = markers.Consume(ctx, claims, "orders", "ledger", effect, nil)
//
// A program with a loop of its own calls Claims: Claim, Prepare before the transaction's commit,
// Commit after it, and Settle whenever it is not known how one ended. What can be expected is a
// [delivery.Answer], and its Outcome says how it went.
//
// # What is stored
//
// In the tables nothing but the consumer's item, which package delivery describes: the claim that
// is in flight, how the last four ended, and those in quarantine. In the consumer's database a
// marker for each claim: a row under the claim's whole name that is written in the transaction with
// the effect, COMMITTED and with the replies, or, by the process that settles, ABORTED. Neither
// ever changes.
//
// # The states of a claim
//
//	          claim            prepare               commit, or settled as
//	IDLE ─────────► STARTED ─────────► PREPARED ───► COMMITTED by its marker
//	 ▲                 │                │  │ lease over        │
//	 │ abort;          │ settled as     │  ▼                   ▼
//	 │ lease over:     │ ABORTED by     │ IN_DOUBT ──────────► IDLE, delivered = to
//	 │ CANCELLED       │ its marker     │  │    too long: and the claim
//	 └─────────────────┴────────────────┴──┘    is kept in quarantine
//
// While more is known to wait, a commit makes the next claim in the same write (CommitAndClaim):
// PREPARED goes to STARTED under the next number. A message that failed as often as it may makes
// the consumer BLOCKED.
//
// What a call is answered about a claim that it cannot do anything to:
//
//	the claim is             the outcome and its reason
//	STARTED                  BUSY STARTED
//	PREPARED, IN_DOUBT       IN_DOUBT, and which
//	in quarantine            IN_DOUBT QUARANTINED; LOST ABORTED once it is settled so
//	ended                    COMMITTED, LOST ABORTED or LOST CANCELLED
//	ended long ago           LOST FORGOTTEN: the last four are remembered
//	deferred                 DEFERRED
//	another's                LOST FOREIGN
//
// The words are those of the consumer's states, of the events, and of the answers over HTTP.
//
// # What is guaranteed
//
//   - A claim is committed if and only if the transaction is that has its marker. The
//     effect of each message is in the database once, in the queue's order but for
//     claims in quarantine.
//   - A claim that is PREPARED or IN_DOUBT is never taken over, and never handed out again
//     before it is settled; nothing but its marker, or an operator's word, settles it.
//   - Every call repeated gives the same answer.
//   - Replies are stored exactly once if the claim is committed, and not at all
//     otherwise.
//   - A database, or tables, that were restored from a backup are noticed
//     ([RestoredError], [AheadError]); nothing is done twice, and nobody guesses.
//
// # What a crash leaves behind
//
// Before the prepare: a claim that is STARTED, and taken over when its lease is over, and a
// transaction that is rolled back. After it: a claim that is PREPARED, and in doubt when its lease
// is over; the next process of the consumer finds it so, and settles it by the marker. Where none
// comes, the sweep announces it, and after a time puts it into quarantine, so that what is behind
// it goes on; the process settles it when it is back.
package pull
