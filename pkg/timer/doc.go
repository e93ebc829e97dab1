// Package timer is a clock: it has a queue, a consumer, a consumer's circuit or a chain looked at
// when something of it is due, instead of with the next message or the next sweep.
//
// A [WakeUp] says what to look at, and when. A [Timer] notes what the sorter, the deliverer
// and the acker tell it of due times ([Timer.Gap], [Timer.Consumer] and [Timer.Chain] are
// made for their options WakeUp, [Timer.Circuit] for WakeCircuit, [Timer.Settle] for that of
// cursor.OnArrivals), and [Timer.Flush] sends it to an SQS queue with delays. The function behind
// that queue reads each with [Parse], looks at the thing (Wake of cursor.Sorter, delivery.Deliverer
// and xorack.Acker; and WakeCircuit of delivery.Deliverer; Settle of cursor.Sorter), and sends it again
// where it is due later.
// In a function of your own behind the cursors' stream:
//
//	wake, err := timer.New(os.Getenv("STREAMSORT_TIMER_QUEUE"))
//	…
//	deliverer, err := delivery.New(store, sorter, &delivery.Options{WakeUp: wake.Consumer, WakeCircuit: wake.Circuit})
//	handler, err := delivery.OnStream(deliverer, names, reader)
//	…
//	lambda.Start(timer.Flushing(wake, handler))
//
// # What is sent
//
// A message of the queue, JSON, with no other members and in this order:
//
//	v          the layout, 1
//	kind       gap, consumer, chain, settle, batch or circuit
//	queue      of a gap, a consumer, a settle window or batches
//	consumer   of a consumer or a circuit
//	tag        of a chain
//	upTo       of a settle window, the greatest sort key of the messages; of batches the last seq, in decimal; base64
//	due        ms
//	again      how often it was sent again; left out where it was not
//
// # What is guaranteed
//
// Nothing. Due times stand in the tables, and the sweep finds what no wake-up came for. A
// wake-up that is lost, late or repeated, or whose thing is gone, costs one read at most.
//
// Wake-ups of a thing are at most one outstanding of each process: one that is due later
// than one under way is not sent, since that one looks when the next is due. Those of a settle
// window are all sent: each is only for the messages up to its upTo, so that a long window is not
// read from end to end by each; of those that are sent again, only where none is under way that
// sees as much. When batches grow, one that is due no later than one
// under way is not sent: most are delivered before it comes out. A wake-up is sent
// again 10 times at most, because Lambda stops what it takes for a loop after some 16 calls; and
// SQS delays by 15 minutes at most. So the function behind the queue goes on for minutes with what
// takes long, and who tells of due times tells of those within
// an hour, and the sweep, which comes by often, of those that were farther ahead.
package timer
