// Package xorack is the acker: it detects when a whole tree of work is done, failed or timed out,
// at one write for each piece of work, with any number of workers.
//
// Make a [Store] with [NewDynamo], or with [NewMemory] in tests, and an [Acker] with [New]:
//
//	acker, err := xorack.New(xorack.NewMemory(), nil)
//	...
//	created, err := acker.Create(ctx, "import 17", nil)
//	...
//	children := created.Root.Children(2)                    // two pieces of work follow
//	_, err = acker.Done(ctx, created.Root, children...)     // the first one is done
//	_, err = acker.Done(ctx, children[0])
//	result, err := acker.Done(ctx, children[1])
//	fmt.Println(result.Outcome)                             // ended
//
// An edge is a piece of work; it travels with the work as a printable token. The worker that has
// done the work calls [Acker.Done], and names the edges of the work that follows from it, in one
// write. [OnEnds] handles the stream of the chains' table, and [Acker.Sweep] runs on a schedule.
// Both announce the end of a chain.
//
// Package stamps beside this one is the interface of xor-ack-dynamodb, stamps of bytes, on the same
// table.
//
// # What is guaranteed
//
//   - A chain is done only if every edge that was started has ended.
//   - An operation counts once, however often it is repeated.
//   - The order of operations does not matter; those before Create count too.
//   - An end is permanent, and is announced under one event id, at least once.
//     Exactly one operation is answered that it ended the chain.
//   - No edge joins after the end.
//   - Every chain that was created ends.
//
// Two edges have the same id with a chance of 1 in 2^95, and a sum of edges that have not ended is
// zero with no greater one. A repeated operation is recognised for as long as the chain and its
// tombstone live: it must not come later ([Options].Tombstone).
//
// # What a crash leaves behind
//
// A worker that dies before Done leaves an edge that has not ended. The worker that gets the work
// again repeats the very same operations, for edges derive from each other. If no worker does, the
// deadline ends the chain. The Done that ends a chain is the end: its stream record announces it,
// and if the stream drops the record, the sweep finds the chain by its index. A crash between
// announcing, carrying and sealing repeats them, under the same id.
//
// docs/internals/acker.md has a drawn tree, the states of a chain and the reasons;
// docs/reference/items.md has the attributes.
package xorack
