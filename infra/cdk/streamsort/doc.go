// Package streamsort is Streamsort's stack for the AWS CDK: the tables, the functions, the HTTP
// API, the streams' triggers, the schedule, the alarms and a dashboard.
//
// Call [NewStack] with a [Props] for a stack of its own, or [New] for a construct within a stack of
// yours; nil means all defaults:
//
//	stack, err := streamsort.NewStack(app, "Streamsort", &streamsort.Props{Mode: cursor.ModeAsync})
//
//	orders, err := streamsort.New(stack, "Orders", nil)
//	err = orders.AddSink(streamsort.Consumer{Name: "billing", To: queue}) // process delivers
//	err = orders.AddConsumer("Books", books) // a function behind the cursors' stream
//	err = orders.AddSource("Clicks", streamsort.Source{From: clicks}) // records of AWS become messages
//	orders.GrantProduce(shop)
//
// # What is made
//
// The names are the logical ids in the template. They do not change from version to version: a
// table whose logical id changed would be replaced.
//
//	MessagesTable    TableV2; stream KEYS_ONLY, TTL
//	CursorsTable     TableV2; stream NEW_AND_OLD_IMAGES, for its consumers
//	ArrivalsTable    TableV2; stream KEYS_ONLY, TTL; the messages of queues in arrival order, and of keyed ones
//	ConsumersTable   TableV2; the consumers, and how far they are
//	AuditTable        TableV2; what operators did, and why
//	TroubleTable     TableV2; TTL, an index of what is oldest; which queues and consumers somebody should look at,
//	                 where a sweep left off, and what tenants have taken of their quotas
//	ChainsTable      TableV2; stream NEW_IMAGE, TTL, an index of what is due: the acker's
//	ArchiveBucket    S3; what a consumer that is an archive has, where it names no bucket of yours
//	DedupTable       TableV2; TTL; for functions of your own that use package dedup
//	EnqueueFunction  takes messages in: called by Api, or directly
//	SortFunction     called by SortMapping with the inserts of MessagesTable's stream, and by
//	                 ArrivalsMapping with what waits in keyed queues, of ArrivalsTable's
//	SweepFunction    called by SweepSchedule
//	DeliveryFunction  operates consumers: called by Api, or directly
//	ProcessFunction  called by ProcessMapping with the moves of CursorsTable's stream; only with Props.Consumers
//	ProcessSlowFunction  process once more, called by it for what would hold up others; only where
//	                 queues have endpoints
//	AckFunction      called by Api, by EndsMapping with the ends of ChainsTable's stream, or directly
//	WebhookFunction  takes what senders have signed: called by Api; only with Props.Webhooks
//	Source…Function  takes the records of a source, and Source…Failures, SQS, those that make no message; only with AddSource
//	…Alias           the alias live of each function, by which everything calls it
//	EnqueuePutAlias  the alias put of enqueue: it puts, and does nothing else
//	EnqueueUrlAlias  the alias url of enqueue, and EnqueuePutUrl the function URL before it; only with Props.FunctionURL
//	…Shift           CodeDeploy; moves the aliases; only with Props.Shift
//	…Alarm           CloudWatch; docs/reference/alarms.md; DownAlarm only with Props.PageTopic
//	Dashboard        CloudWatch
//	…Throttled       CloudWatch Logs; counts what an API answered 429, in its access log
//	…Query           CloudWatch Logs Insights, saved; only with Props.SavedQueries
//	TimerQueue       SQS; wake-ups for what is due
//	TimerMapping     calls sweep with the wake-ups that are due
//	FailureQueue     SQS; where the mappings put what they give up on: positions in a stream, no messages
//	Api              HTTP API with IAM authorisation on every route but PostWebhooks…Route, one for each of Props.Webhooks
//	TenantApi        HTTP API for tenants, by their tokens; only with Props.TenantClaim
//
// The tables' keys, stream views and TTL attributes come from cursor.Names.Tables and
// delivery.Names.Tables, which the functions, the tests and the local stack read too.
//
// # What is guaranteed
//
// No property is taken as it comes: [NewStack] checks all of them, and that the functions' binaries
// are there and built for the architecture, before it makes anything; the error names each field
// that is wrong, its bound and what to write instead.
//
// Each function may do what it does and no more: the actions it calls, on the tables it calls them
// on, and its own log group. The wildcards, X-Ray's and those of a source of Kafka, carry their
// reason in the template.
//
// Taking the stack away leaves the tables and the logs behind ([Retain]), and DynamoDB refuses to
// delete the tables by mistake.
//
// A user's own stack reads the batches from CursorsTable's stream; its ARN is the output
// CursorsStreamArn, exported as <stack name>-CursorsStreamArn, and the tables' names are exported
// alike. A stream has at most two readers.
package streamsort
