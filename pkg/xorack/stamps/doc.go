// Package stamps is the interface of xor-ack-dynamodb: it detects when a whole tree of work is done
// by stamps of bytes instead of edges. The caller that starts a piece of work stamps its chain, and
// the worker that has done it stamps it with the same bytes; where all stamps come to zero, the
// work is done. New code should use the edges of pkg/xorack, whose ends cost less and are
// identified by their ids.
//
// Make an [xorack.Acker], and a [Stamper] of it with [New]: its table, clock and tombstone are the
// Acker's, and so is what a chain needs when nobody stamps it any more. [Stamper.Create] makes a
// chain with its first stamp, [Stamper.Stamp] adds one, [Stamper.Delete] frees the tag; [XOR] puts
// stamps together before they are sent. Behind the table's stream is [xorack.OnEnds], and
// [xorack.Acker.Sweep] runs on a schedule, as for edges.
//
// # What is stored
//
// An item a chain, in the chains' table. A stamp and a delete are requests of this package's own,
// since no chain has both edges and stamps; the table is one, so that one stream's handler, one
// sweep and one alarm handle all ends. A chain has these of the attributes that xorack lists:
//
//	tag, v, inc, created, deadline, seen, dueShard, due, st, reason, endedAt, lastOp, expiresOn
//
// and, instead of what edges have,
//
//	stampLen   N  the length of its stamps
//	stamps     BS each of them, behind 6 bytes that mark its operation
//
// The stamps are stored one beside the other, and put together by those that read them. So a stamp
// is one write at any number of writers, and one that is repeated under its id ([Options].ID) is
// the same member.
//
// # What is guaranteed
//
//   - A chain is done only if its stamps came to zero, and then for good: exactly
//     one operation is answered that it ended the chain.
//   - A stamp counts once, however often it is repeated under its id.
//   - The order of stamps does not matter; those before Create count.
//   - No stamp joins after the end.
//   - Every chain that was created ends: it is done, deleted, or times out.
//
// Zero is not proof as with edges: two different pieces of work with the same stamp cancel each
// other, so stamps should be random and of 8 bytes or more. A repeated stamp is known for as long
// as the chain and its tombstone live.
//
// # What a crash leaves behind
//
// A worker that dies before a stamp leaves a chain that does not come to zero: a worker that gets
// the work again stamps under the same id, or the deadline ends the chain. The stamp that brings a
// chain to zero is followed by a second write, which records that it is done, on condition that
// there are no other stamps than were seen. A worker that dies between the two leaves it to the
// next stamp, to the stream's handler and to the sweep: each of them makes that write.
package stamps
