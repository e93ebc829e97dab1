// Package eventsource runs an event source mapping from a DynamoDB stream to a function by AWS
// Lambda's rules: what Lambda does by itself on AWS, done here for the local stack. Make a [Runner]
// with [New] from a [template.Mapping] (what the template says) and a [Config] (what the stack
// gives), then call [Runner.Run]; [Runner.Stats] and [Runner.Idle] show how far it is.
//
// # From the stream to the function
//
//	DescribeStream -> shards, a child only after its parent is done
//	GetRecords     -> records in order
//	                  | records that AWS would not have written: dropped
//	                  | filter patterns
//	                  v
//	hash of the item's key -> lane 1 .. lane N (N = ParallelizationFactor)
//	                  | batch: size, window, 6 MB
//	                  v
//	               invoke; one invocation at a time in a lane
//
// A lane goes through these states; it is the unit of order. Everything that has the same item key
// passes through the same lane.
//
//	        records arrive            batch is due
//	empty ----------------> gathering ------------> invoking <-----------+
//	  ^                                                |                 |
//	  |   success: the checkpoint moves past the batch |                 | back-off
//	  +------------------------------------------------+                 |
//	  |                                                | failure         |
//	  |                                                v                 |
//	  |   retries or age used up                    retrying ------------+
//	  +---- on-failure message <-----------------------+   (whole, from the
//	                                                        failed record, or
//	                                                        in two halves)
//
// # Guarantees
//
// At least once: every record that passes the filters is delivered until the function accepts it,
// its retries are used up, or it is too old; then one on-failure message names it. The records of
// one item arrive in the order of its changes; a repetition starts again from an earlier record and
// goes on in order from there.
//
// # Failure handling
//
// Nothing is stored: a runner that is started anew begins at its StartingPosition. Errors of the
// stream's API are logged and tried again for ever, only a stream that does not exist ends Run with
// an error. When Run's context ends, invocations under way are waited for, and none is begun.
//
// # Where AWS says so
//
// The rules are those of AWS's developer guides and API references of Lambda, DynamoDB and
// EventBridge; the page is named where the rule is. What they leave open is marked so.
package eventsource
