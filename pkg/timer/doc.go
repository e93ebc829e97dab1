// Package timer wakes the code that handles a queue, a consumer, a circuit breaker or a chain at
// its due time, instead of with the next message or the next pass of the sweep.
//
// A [WakeUp] says what to look at, and when. A [Timer] notes due times, and [Timer.Flush] sends
// them to an SQS queue with delays. The function behind that queue reads each with [Parse], calls
// Wake of cursor.Sorter, delivery.Deliverer or xorack.Acker, and sends it again if the due time is
// later. In a function of your own behind the cursors' stream:
//
//	wake, err := timer.New(os.Getenv("STREAMSORT_TIMER_QUEUE"))
//	…
//	deliverer, err := delivery.New(store, sorter, &delivery.Options{WakeUp: wake.Consumer, WakeCircuit: wake.Circuit})
//	handler, err := delivery.OnStream(deliverer, names, reader)
//	…
//	lambda.Start(timer.Flushing(wake, handler))
//
// [Timer.Gap], [Timer.Consumer] and [Timer.Chain] fit the options WakeUp of the three, and
// [Timer.Settle] that of cursor.OnArrivals.
//
// # What is sent
//
// A message of the queue, JSON, with no other members and in this order:
//
//	v          the layout, 1
//	kind       gap, consumer, chain, settle or circuit
//	queue      of a gap, a consumer or a settle window
//	consumer   of a consumer or a circuit
//	tag        of a chain
//	upTo       of a settle window, the greatest sort key of the messages, in base64
//	due        ms
//	again      how often it was sent again; left out where it was not
//
// # What is guaranteed
//
// Nothing. Due times are in the tables, and the sweep finds what no wake-up came for. A wake-up
// that is lost, late or repeated, or whose thing is gone, costs one read at most.
//
// A process has one wake-up of a thing under way: a later one is not sent, because the first reads
// when the next is due. Wake-ups of a settle window are bounded by their upTo, so each is sent; one
// is sent again only if none under way covers as much.
//
// SQS delays by 15 minutes at most, and Lambda stops a loop after some 16 calls. So a wake-up is
// sent again 10 times at most, a call continues long work for minutes, and a process notes only due
// times within an hour. The sweep notes the others as they come near.
package timer
