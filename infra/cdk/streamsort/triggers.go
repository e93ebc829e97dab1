package streamsort

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// addFailureQueue makes the queue of what the event source mapping gives up
// on. A message there names a stretch of the stream and holds no data.
func (s *Stack) addFailureQueue() {
	s.FailureQueue = awssqs.NewQueue(s.Stack, jsii.String("FailureQueue"), &awssqs.QueueProps{
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:      jsii.Bool(true),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
	})
	suppress(nameResource(s.FailureQueue, "FailureQueue"), suppression{
		rule:   "AwsSolutions-SQS3",
		reason: "This is the queue of failures: nothing reads it but people, so nothing can fail behind it.",
	})
	policy := s.FailureQueue.Node().FindChild(jsii.String("Policy"))
	nameResource(policy, "FailureQueuePolicy")
}

// addSortMapping calls sort with what is inserted into the messages' stream,
// from the oldest record on. AWS's defaults repeat a failing batch until it
// expires, a day later, and hold everything behind it up: retries and age are
// bounded, a failing batch is halved, and only the records from the first
// failed one on are repeated.
func (s *Stack) addSortMapping() {
	p := s.props
	awslambda.NewCfnEventSourceMapping(s.Stack, jsii.String("SortMapping"), &awslambda.CfnEventSourceMappingProps{
		FunctionName:                   s.SortFunction.FunctionName(),
		EventSourceArn:                 s.MessagesTable.TableStreamArn(),
		StartingPosition:               jsii.String("TRIM_HORIZON"),
		BatchSize:                      jsii.Number(p.SortBatchSize),
		MaximumBatchingWindowInSeconds: jsii.Number(p.SortBatchWindow.Seconds()),
		ParallelizationFactor:          jsii.Number(p.SortParallelization),
		BisectBatchOnFunctionError:     true,
		FunctionResponseTypes:          jsii.Strings("ReportBatchItemFailures"),
		MaximumRetryAttempts:           jsii.Number(p.SortRetries),
		MaximumRecordAgeInSeconds:      jsii.Number(p.SortMaxRecordAge.Seconds()),
		DestinationConfig: &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: s.FailureQueue.QueueArn()},
		},
		FilterCriteria: &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{
			Filters: []any{
				&awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(`{"eventName":["INSERT"]}`)},
			},
		},
	})
}

// addSweepSchedule calls sweep on a schedule. A call that could not be made
// is dropped once the next one is due: it would do the same.
func (s *Stack) addSweepSchedule() {
	interval := s.props.SweepInterval
	unit := "minutes"
	if interval.Minutes() == 1 {
		unit = "minute"
	}
	rule := awsevents.NewCfnRule(s.Stack, jsii.String("SweepSchedule"), &awsevents.CfnRuleProps{
		Description:        jsii.String("Calls Streamsort's sweep"),
		ScheduleExpression: jsii.String(fmt.Sprintf("rate(%d %s)", int(interval.Minutes()), unit)),
		State:              jsii.String("ENABLED"),
		Targets: []any{
			&awsevents.CfnRule_TargetProperty{
				Id:  jsii.String("sweep"),
				Arn: s.SweepFunction.FunctionArn(),
				RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{
					MaximumEventAgeInSeconds: jsii.Number(interval.Seconds()),
					MaximumRetryAttempts:     jsii.Number(2),
				},
			},
		},
	})
	awslambda.NewCfnPermission(s.Stack, jsii.String("SweepSchedulePermission"), &awslambda.CfnPermissionProps{
		Action:       jsii.String("lambda:InvokeFunction"),
		FunctionName: s.SweepFunction.FunctionArn(),
		Principal:    jsii.String("events.amazonaws.com"),
		SourceArn:    rule.AttrArn(),
	})
}
