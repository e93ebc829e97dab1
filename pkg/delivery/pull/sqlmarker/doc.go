// Package sqlmarker lets a consumer apply messages to its own SQL database exactly once: it keeps
// commit markers in that database, which show, after any failure, whether a claim of the two-phase
// delivery was committed in it.
//
//	sqlmarker.Install(ctx, db, sqlmarker.PostgreSQL)
//	markers, err := sqlmarker.Open(ctx, db, sqlmarker.PostgreSQL, stackID)
//	err = markers.ConsumeAll(ctx, claims, "account/", "ledger", 8,
//		func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error { … }, nil)
//
// The package imports no driver: open the database with any. A program with a loop of its own calls
// [Markers.Mark] last in the transaction, and [Markers.Settle] whenever it is not known how one
// ended.
//
// # What is stored
//
//	streamsort_marker_layout  one row: the tables' version, 4, and the database's name
//	streamsort_markers        (stack, queue, consumer, number, request) → COMMITTED or ABORTED, replies; the batch's rewinds and last seq
//	streamsort_readers        (stack, queue, consumer) → floor: claims of lower numbers can commit no more
//
// # What is guaranteed
//
// A claim is committed if and only if the transaction that has its effect is: the marker COMMITTED
// is inserted in that very transaction. A process that wants to know how a claim ended inserts
// ABORTED under the same key and reads what stands there:
//
//	          (no marker)
//	          /         \
//	 the transaction    Settle
//	    /                   \
//	COMMITTED            ABORTED          neither ever changes
//
// If Settle comes first, the transaction cannot commit any more: its own insert finds the row. If
// the transaction is under way, the database lets Settle wait. The key has the request beside the
// number, and the stack: a number alone can be given twice, when a table is restored from a backup
// or a stack is recreated.
//
// What the effect adds to the batch by [delivery.Batch.Reply] stands beside the marker, as JSON,
// and is sent by the commit, or when the claim is settled: so a reply is sent exactly once if and
// only if the transaction is committed.
//
// A missing marker proves nothing by itself: the floor says from where on markers are complete, and
// it is read in the same transaction, under a lock that keeps it from rising.
//
// # Failure handling
//
// A process that dies before the transaction's commit leaves nothing in the database; one that dies
// after it leaves COMMITTED. In both cases the claim is in doubt in Streamsort until the next
// process settles it. A database that was restored from an older backup does not know the last
// claim that was committed; that is a [pull.RestoredError], and [Markers.Acknowledge] is an
// operator's word that it may go on.
//
// In SQLite open transactions immediately (_txlock=immediate in modernc.org/sqlite), so that two
// processes wait for each other instead of failing. In PostgreSQL set
// idle_in_transaction_session_timeout, so that a process that sleeps in its transaction does not
// hold up those who wait for its end.
package sqlmarker
