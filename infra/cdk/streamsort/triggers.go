package streamsort

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newFailureQueue makes a queue of what an event source mapping gives up on. A message of the
// stack's own names a stretch of the stream and holds no data.
func (s *Streamsort) newFailureQueue(id string) awssqs.Queue {
	return s.newQueue(id, &awssqs.QueueProps{RetentionPeriod: awscdk.Duration_Days(jsii.Number(14))},
		"This is the queue of failures: nothing reads it but people, so nothing can fail behind it.")
}

// newQueue makes a queue, encrypted with the stack's key or with SQS's own. why says why it has no
// queue of failures.
func (s *Streamsort) newQueue(id string, props *awssqs.QueueProps, why string) awssqs.Queue {
	props.Encryption, props.EnforceSSL = awssqs.QueueEncryption_SQS_MANAGED, jsii.Bool(true)
	if s.Key != nil {
		props.Encryption, props.EncryptionMasterKey = awssqs.QueueEncryption_KMS, s.Key
	}
	queue := awssqs.NewQueue(s.scope, &id, props)
	suppress(s.nameResource(queue, id), suppression{rule: "AwsSolutions-SQS3", reason: why})
	s.nameResource(queue.Node().FindChild(jsii.String("Policy")), id+"Policy")
	return queue
}

// A batch of stream records that fails is tried again so often, and its records go to the failure
// queue at that age. The stream keeps a record for 24 hours: an operator has 12 more to look at it.
const (
	streamRetries = 50
	maxRecordAge  = 12 * time.Hour
)

// waits is the filter of the arrivals' stream: what waits in a keyed queue, also where it stands in
// the place of an item that has expired. A sort key of such a queue begins with the byte 1 and the
// tag of its key's first part, which is less than 16: with AQ, in base64, as the record shows it.
// In a queue in arrival order it is a hash, and one of 4,096 begins so: sort passes over it.
const waits = `{"eventName":["INSERT","MODIFY"],"dynamodb":{"Keys":{"sortKey":{"B":[{"prefix":"AQ"}]}}}}`

// addMappings has the streams call the functions, from the oldest record on. AWS's defaults repeat
// a failing batch until it expires, a day later, and hold everything behind it up: retries and age
// are bounded, a failing batch is halved, and only the records from the first failed one on are
// repeated.
func (s *Streamsort) addMappings() {
	sort, reads := s.liveARN(s.SortFunction), s.props.Functions["sort"]
	s.addMapping("SortMapping", sort, s.MessagesTable, reads, `{"eventName":["INSERT"]}`)

	// What waits in keyed queues comes one batch of a shard at a time: batches side by side are
	// distinguished by item, not by queue, and would ask for a wake-up each, or settle one queue at
	// once. A record that is given up on is a hint that the sweep makes up for. What waits is
	// gathered for a second on top of the queues' settle window, so that more messages are placed
	// by one write.
	reads.Parallelization, reads.BatchWindow = 1, new(time.Second)
	s.addMapping("ArrivalsMapping", sort, s.ArrivalsTable, reads, waits)
	if s.ProcessFunction != nil {
		s.addProcessMapping()
	}

	// Chains that have ended, or may have: those of stamps end by a sum that no filter can make. One
	// whose end is carried out is due no more: that record calls nobody.
	s.addMapping("EndsMapping", s.liveARN(s.AckFunction), s.ChainsTable, s.props.Functions["ack"],
		`{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"st":{"S":[{"exists":true}]}}}}`,
		`{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"n":{"N":["0"]}}}}`,
		`{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"stampLen":{"N":[{"exists":true}]}}}}`,
	)
}

// moves is the filter of the cursors' stream: what moved a position, or wakes consumers up.
const moves = `{"dynamodb":{"NewImage":{"change":{"S":["advance"]}}}}`

// addProcessMapping calls process with each move of a cursor, and with each notification of the
// sweep. A record is only a hint: one that is given up on loses nothing.
func (s *Streamsort) addProcessMapping() {
	s.readers++
	s.addMapping("ProcessMapping", s.liveARN(s.ProcessFunction), s.CursorsTable,
		s.props.Functions["process"], moves)
}

// addMapping calls a function, by its name or ARN, with what the filters let through of a table's
// stream.
func (s *Streamsort) addMapping(id string, called *string, table awsdynamodb.TableV2,
	reads FunctionProps, filters ...string) {
	props := newMapping(called, table.TableStreamArn(), reads.BatchSize, filters)
	props.MaximumBatchingWindowInSeconds = jsii.Number(reads.BatchWindow.Seconds())
	props.ParallelizationFactor = jsii.Number(reads.Parallelization)
	boundRepeats(props, streamRetries, maxRecordAge, s.FailureQueue)
	awslambda.NewCfnEventSourceMapping(s.scope, &id, props)
}

func newMapping(called, source *string, batch int,
	filters []string) *awslambda.CfnEventSourceMappingProps {
	props := &awslambda.CfnEventSourceMappingProps{
		FunctionName: called, EventSourceArn: source, BatchSize: jsii.Number(batch),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
	}
	var all []any
	for _, pattern := range filters {
		all = append(all, &awslambda.CfnEventSourceMapping_FilterProperty{Pattern: &pattern})
	}
	if all != nil {
		props.FilterCriteria = &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: all}
	}
	return props
}

// boundRepeats bounds how often a batch of a stream is repeated, and for how long: AWS's own bounds
// would have one that fails repeated until it expires, and all of its shard wait.
func boundRepeats(props *awslambda.CfnEventSourceMappingProps, retries int, age time.Duration,
	failures awssqs.Queue) {
	props.StartingPosition = jsii.String("TRIM_HORIZON")
	props.BisectBatchOnFunctionError = true
	props.MaximumRetryAttempts = jsii.Number(retries)
	props.MaximumRecordAgeInSeconds = jsii.Number(age.Seconds())
	props.DestinationConfig = givenUp(failures)
}

func givenUp(failures awssqs.Queue) any {
	return &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
		OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: failures.QueueArn()},
	}
}

func atATime(calls int) any {
	return &awslambda.CfnEventSourceMapping_ScalingConfigProperty{
		MaximumConcurrency: jsii.Number(calls),
	}
}

// sweepCalls is the time between two calls of sweep: so long a round that is not over waits to be
// gone on with, at most.
const sweepCalls = time.Minute

// addSweepSchedule calls sweep every minute. A call that failed, or could not be made, is not
// repeated: the next one goes on where it stopped.
func (s *Streamsort) addSweepSchedule() {
	rule := awsevents.NewCfnRule(s.scope, jsii.String("SweepSchedule"), &awsevents.CfnRuleProps{
		Description:        jsii.String("Calls Streamsort's sweep"),
		ScheduleExpression: jsii.String("rate(1 minute)"),
		State:              jsii.String("ENABLED"),
		Targets: []any{
			&awsevents.CfnRule_TargetProperty{
				Id:  jsii.String("sweep"),
				Arn: s.liveARN(s.SweepFunction),
				RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{
					MaximumEventAgeInSeconds: jsii.Number(sweepCalls.Seconds()),
					MaximumRetryAttempts:     jsii.Number(0),
				},
			},
		},
	})
	boundCalls(s.scope, "SweepCalls", s.live[s.SweepFunction], sweepCalls, 0, nil)
	s.permit("SweepSchedule", "events", s.SweepFunction, rule.AttrArn())
}

// boundCalls bounds how often an asynchronous call of a function by its alias is repeated that
// failed, and how old one may get that could not be made. failures, if not nil, is the ARN of where
// those go that are given up.
func boundCalls(scope constructs.Construct, id string, live awslambda.Alias, age time.Duration,
	repeats int, failures *string) {
	props := &awslambda.CfnEventInvokeConfigProps{
		FunctionName:             live.Lambda().FunctionName(),
		Qualifier:                live.AliasName(),
		MaximumEventAgeInSeconds: jsii.Number(age.Seconds()),
		MaximumRetryAttempts:     jsii.Number(repeats),
	}
	if failures != nil {
		props.DestinationConfig = &awslambda.CfnEventInvokeConfig_DestinationConfigProperty{
			OnFailure: &awslambda.CfnEventInvokeConfig_OnFailureProperty{Destination: failures},
		}
	}
	// The name of the alias is a text: nothing else says that it has to be there before.
	awslambda.NewCfnEventInvokeConfig(scope, &id, props).Node().AddDependency(live)
}
