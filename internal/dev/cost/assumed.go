package cost

// What has not been measured on AWS. The bills hardly depend on it, but for the log lines: 100
// messages a second in order cost $330 a month in write units and $21 in enqueue's processor time.
const (
	// trip is a request to DynamoDB from a function, in seconds, and work the rest of an invocation.
	trip, work = 0.005, 0.002
	// sinkTime is how long a consumer's function takes for a batch.
	sinkTime = 0.050
	// memory of the functions in GB, as the stack makes them.
	memory = 0.5
	// apiLine, apiFullLine and invocationLines are bytes of log: a line of the access log, one
	// where all calls are logged, and an invocation's start, report, answer and metrics there.
	apiLine, apiFullLine, invocationLines = 140, 450, 1200
	// polls is how often a second Lambda asks a stream's shard, so a batch has what came in between.
	polls = 4
	// syncWindow is for how long the stack has sort's records gathered where the producer moves the
	// cursors, in seconds; batch is the most records of one call and lanes how many calls run side
	// by side.
	syncWindow, streamBatch, lanes = 1, 1000, 10
	// kept is how long messages are stored, in seconds, and itemMore the bytes that DynamoDB adds
	// to each item.
	kept, itemMore = 14 * 24 * 3600, 100
	// X-Ray records so many calls of each function a second, and this share of the others. AWS says
	// it of a function without a rule of its own; a caller's sampled trace header is recorded
	// besides. https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
	tracedFirst, tracedShare = 1, 0.05
	// scanTime is how long a look at 1 MB of cursors takes that shows few of them.
	scanTime = 0.100
)

// What the stack has once, however little comes in: the metrics that its functions may write,
// alarms and dashboards. Each name is a metric of each function that writes it: most are one
// function's, those of puts are two functions', and those of moves, wake-ups and errors are all
// functions'. Those of keyed queues, of sources, of endpoints and of eager consumers are written
// where there are such only.
const names, keyed, sources, endpoints, eager = 81, 10, 3, 3, 2

const metrics, alarms, dashboards = names - keyed - sources - endpoints - eager + 4 + 4*6, 47, 1
