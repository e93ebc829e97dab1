// Package acts does an operation to many consumers: a batch of acts is looked at first, then
// started, and carried out by the sweep's function, page by page.
//
//	Look ──► DRY ──Start──► RUNNING ──Turn … Turn──► DONE
//	          │                │ Stop
//	          │ Stop           ▼
//	          └──► STOPPED ◄── STOPPING: behind the page at hand
//	     an hour: too late
//
// # What is stored
//
// A batch is in the operations table, under (queue, operation), which are " acts", and "of ", its
// tenant, a space and its id; the id begins with the time:
//
//	v            N  layout of the item, 1
//	state        S  DRY, RUNNING, STOPPING, STOPPED or DONE
//	ask          S  what was asked for, JSON: it never changes
//	progress     S  how far it is, JSON: the page at hand, and what became of those before it
//	started, ended   N  ms
//	rev          N  rises with each change of the progress, each of which compares it
//	by           S  who made it
//	leaseUntil   N  ms, until when nobody else goes on
//	expiresOn    N  s, the TTL attribute: a day later, where nobody started it
//
// From its start on, as long as anything is left to do, an item with v alone stands beside it, under "open "
// for "of ": the sweep finds batches by these. It is written before the batch is RUNNING: a batch
// that runs is always found, and one that only was looked at costs no sweep anything. A queue of the name " acts" may be there: its operations have keys
// that begin with a digit, or with "id ".
//
// # What is guaranteed
//
// Each consumer that is selected is acted on once. The page at hand is stored before the first act
// of it, and counted with the next one; an act that was done is not done again
// ([handoff.Deliverer.Act]). So whoever dies, and however many go on with a batch at once, it goes on with that page, and counts
// each consumer once.
//
// Only who is in the state since before the batch was looked at is selected: one that comes into it again,
// by the batch itself perhaps, is not.
package acts
