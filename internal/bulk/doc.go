// Package bulk does one operation to many consumers, one after the other, through the HTTP API:
// the command line and the live page run the same loop.
//
//	run, err := bulk.Look(ctx, api, bulk.Request{Action: "redrive", Reason: "the ledger is back"}, nil)
//	…                         // a dry run: run.Selected says to whom it would be done
//	report := run.Do(ctx, nil) // does it
//
// The server knows nothing of a run. It ends with the process that runs it; [Request].Run goes on
// with one that was cut short.
//
// # What is guaranteed
//
// Each act is an operation of its consumer, with an entry of its own in the audit log and an id
// made of the run's name and the consumer's. So a repeat, whether its answer was lost or the run
// was cut short, is the same operation, and the API does it once.
//
// A run acts on nobody who came into the state after it began: the run's name has that time, by
// the server's clock. Before each act the consumer is read again. One that left the state, or that
// somebody else changed, is counted as changed, and nothing is done to it.
//
// # When a run is cut short
//
// The context of [Run.Do] ends: no act begins any more, those under way have some seconds to end.
// The process dies: acts may be done whose answer nobody read. In both cases the same request with
// the run's name goes on: it reads the audit log first, and counts as already done what the log
// has as done.
package bulk
