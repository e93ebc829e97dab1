// Package bulk does one operation to many consumers, one after the other, through the HTTP API: the
// command line and the live page run the same loop.
//
//	run, err := bulk.Look(ctx, api, bulk.Request{Action: "redrive", Reason: "it is back"}, nil)
//	…                         // a dry run: run.Selected says to whom it would be done
//	report := run.Do(ctx, nil) // does it
//
// The server knows nothing of a run. It ends with the process that runs it; [Request].Run goes on
// with one that was cut short.
//
// # What is guaranteed
//
// What is done to a consumer is an operation like any other, with an entry of its own in the audit
// log. Its id is made of the run's name and the consumer's: a repeat, whether its answer was lost
// or the run was cut short, is the same operation, and the API does it once.
//
// A run does nothing to consumers that came into the state after it began: the run's name has that
// time, by the server's clock. Each consumer is read again before its operation. One that left the
// state, or that somebody else changed, is counted as changed, and nothing is done to it.
//
// # When a run is cut short
//
// The context of [Run.Do] ends: no operation begins any more, those under way have some seconds to
// end. The process dies: operations may be done whose answer nobody read. In both cases the same
// request with the run's name goes on: it reads the audit log first, and counts as already done
// what the log has as done.
package bulk
