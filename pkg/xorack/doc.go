// Package xorack is the acker: it detects when a whole tree of work is done, failed
// or timed out, at one write a piece of work, at any number of workers.
//
// Make a [Store] with [NewDynamo], or with [NewMemory] in tests, and an [Acker]
// with [New]. [Acker.Create] opens a chain and returns its root edge. An edge
// is a piece of work; it travels with the work as a printable token. The worker
// that has done the work calls [Acker.Done], and names the edges of the work that follows
// from it, in one write. [OnEnds] handles the stream of the chains' table, and
// [Acker.Sweep] runs on a schedule: both announce the end of a chain.
//
// Package stamps beside this one is the interface of xor-ack-dynamodb, stamps of
// bytes, on the same table.
//
// # A tree
//
// A database has two files, and the files have three words. Each line under
// the tree is one write, and what the chain holds after it.
//
//	root ─┬─ file 0 ─┬─ word 0
//	      │          └─ word 1
//	      └─ file 1 ─── word 0'
//
//	Create                         n = root
//	Done(root, file 0, file 1)     n = file 0 + file 1               ops = root
//	Done(file 0, word 0, word 1)   n = file 1 + word 0 + word 1      ops = root file 0
//	Done(word 1)                   n = file 1 + word 0               …
//	Done(file 1, word 0')          n = word 0 + word 0'
//	Done(word 0')                  n = word 0
//	Done(word 0)                   n = 0                             the chain is done
//
// # What is stored
//
// The chains table, a chain an item, under (tag):
//
//	v          N  layout of the item, 1
//	inc        B  8 bytes that distinguish the chain from others of the same tag
//	n          N  the ids of the edges started less the ids of those ended
//	ops        BS 8 bytes of each edge that ended, or call of Add
//	kids       BS 4 bytes that identify the children of each of those that started any
//	edges      N  how many edges were started
//	stampLen   N  instead of these, the length of stamps, and
//	stamps     BS each of them: package stamps
//	created    N  ms; missing where operations came before the chain
//	cd         B  8 bytes that identify the options of its creation
//	deadline   N  ms, when it times out
//	idle       N  ms without progress after which it times out
//	seen       N  ms, the last progress
//	dueShard, due   N  index of the chains that the sweep must look at: ms
//	lastOp     B  the operation that came last: what ended an ended chain; not of stamps
//	st         S  DONE, FAILED, TIMED_OUT, DELETED
//	reason     S  why it failed or timed out
//	endedAt    N  ms
//	parent     B  the edge of another chain that ends with this one
//	data       S  what its owner stores with it
//	expiresOn  N  s, when TTL may delete it; far ahead until it is sealed
//
// # The states of a chain
//
//	             Done, Add                             n = 0 by any Done
//	            ┌─────────┐                          ┌───────────────────► DONE ──────┐
//	            │         ▼                          │         Fail                   │
//	(nothing) ──┴─────► ORPHAN ──────Create──────► OPEN ─────────────────► FAILED ────┤ announce,
//	    │                 │ Fail                   ▲ │   deadline, idle              │ carry to
//	    │                 └───────► FAILED         │ ├───────────────────► TIMED_OUT ─┤ the parent,
//	    └──────────────────Create──────────────────┘ │        Delete                  │ seal
//	                                                 └───────────────────► DELETED ───┤
//	              ┌── tombstone over, TTL ────── SEALED ◄─────────────────────────────┘
//	              ▼
//	          (nothing)
//
// An orphan is what operations left that came before the chain was created:
// they count all the same. One that is never created expires.
//
// # What is guaranteed
//
//   - A chain is done only if every edge that was started has ended.
//   - An operation counts once, however often it is repeated.
//   - The order of operations does not matter.
//   - An end is permanent, and is announced under one event id, at least once.
//     Exactly one operation is answered that it ended the chain.
//   - No edge joins after the end.
//   - Every chain that was created ends.
//
// Two edges have the same id with a chance of 1 in 2^95, and a sum of edges
// that have not ended is zero with no greater one. A repeated operation is
// known for as long as the chain and its tombstone live: it must not come
// later ([Options].Tombstone).
//
// # What a crash leaves behind
//
// A worker that dies before Done leaves an edge that has not ended: the worker that
// gets the work again repeats the very same operations, for the edges are derived from
// each other. If nobody does, the deadline ends the chain. A worker that dies right
// after the Done that ended a chain leaves nothing undone: that write is the end,
// and its stream record announces it; should the stream drop the record, the sweep
// finds the chain by its index. Announcing and carrying come before sealing, so a
// crash between them repeats them, under the same id.
package xorack
