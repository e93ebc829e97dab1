package streamsort

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3notifications"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

func (a *addedSource) connect() {
	switch from := a.From.(type) {
	case awssqs.IQueue:
		from.GrantConsumeMessages(a.function)
		props := a.mappingProps(from.QueueArn())
		if a.MaxConcurrency > 0 {
			props.ScalingConfig = atATime(a.MaxConcurrency)
		}
		a.mapped(props)
	case awskinesis.IStream:
		from.GrantRead(a.function)
		a.mapShards(from.StreamArn())
	case awsdynamodb.ITable:
		from.GrantStreamRead(a.function)
		a.mapShards(from.TableStreamArn())
	case Kafka:
		a.connectKafka(from)
	case awssns.ITopic:
		a.boundCalls()
		from.AddSubscription(awssnssubscriptions.NewLambdaSubscription(a.live,
			&awssnssubscriptions.LambdaSubscriptionProps{DeadLetterQueue: a.failures}))
	case awsevents.IEventBus:
		a.boundCalls()
		awsevents.NewRule(a.scope, jsii.String(a.id+"Rule"), &awsevents.RuleProps{
			EventBus: from, EventPattern: a.Pattern,
			Description: jsii.String("Brings " + a.Name + " to Streamsort"),
			Targets:     &[]awsevents.IRuleTarget{a.target()},
		})
	case awsevents.Rule:
		a.boundCalls()
		from.AddTarget(a.target())
	case awss3.IBucket:
		a.boundCalls()
		from.AddEventNotification(awss3.EventType_OBJECT_CREATED,
			awss3notifications.NewLambdaDestination(a.live))
		if a.Removed {
			from.AddEventNotification(awss3.EventType_OBJECT_REMOVED,
				awss3notifications.NewLambdaDestination(a.live))
		}
	}
}

// target is the function as a rule's target. What the rule cannot bring goes to the failure queue.
func (a *addedSource) target() awsevents.IRuleTarget {
	return awseventstargets.NewLambdaFunction(a.live, &awseventstargets.LambdaFunctionProps{
		DeadLetterQueue: a.failures, MaxEventAge: seconds(maxAsyncAge),
		RetryAttempts: jsii.Number(maxRuleRetries),
	})
}

// Bounds of asynchronous calls: Lambda repeats one that fails twice, and keeps it for six hours
// where it is throttled; a rule tries for as long to make it.
const (
	maxAsyncAge     = 6 * time.Hour
	maxAsyncRetries = 2
	maxRuleRetries  = 185
)

func (a *addedSource) boundCalls() {
	boundCalls(a.scope, a.id+"Calls", a.live, maxAsyncAge, maxAsyncRetries, a.failures.QueueArn())
}

func (a *addedSource) mappingProps(arn *string) *awslambda.CfnEventSourceMappingProps {
	props := newMapping(a.liveARN(a.function), arn, a.BatchSize, a.Filters)
	if a.BatchWindow > 0 {
		props.MaximumBatchingWindowInSeconds = jsii.Number(a.BatchWindow.Seconds())
	}
	return props
}

func (a *addedSource) mapShards(arn *string) {
	props := a.mappingProps(arn)
	props.ParallelizationFactor = jsii.Number(a.Parallelization)
	boundRepeats(props, a.Retries, a.MaxRecordAge, a.failures)
	a.mapped(props)
}

// mapped makes the mapping, once the function may read what it is of.
func (a *addedSource) mapped(props *awslambda.CfnEventSourceMappingProps) {
	mapping := awslambda.NewCfnEventSourceMapping(a.scope, jsii.String(a.id+"Mapping"), props)
	if policy := a.function.Role().Node().TryFindChild(jsii.String("DefaultPolicy")); policy != nil {
		mapping.Node().AddDependency(policy)
	}
}

// connectKafka maps a topic. Only provisioned pollers bound retries, and take partial answers.
func (a *addedSource) connectKafka(from Kafka) {
	props := a.mappingProps(from.ClusterARN)
	props.Topics = jsii.Strings(from.Topic)
	props.StartingPosition = jsii.String("TRIM_HORIZON")
	props.DestinationConfig = givenUp(a.failures)
	if from.Pollers > 0 {
		boundRepeats(props, a.Retries, a.MaxRecordAge, a.failures)
		props.ProvisionedPollerConfig =
			&awslambda.CfnEventSourceMapping_ProvisionedPollerConfigProperty{
				MinimumPollers: jsii.Number(from.Pollers),
			}
	} else {
		props.FunctionResponseTypes = nil
	}
	if from.ClusterARN == nil {
		props.SelfManagedEventSource = &awslambda.CfnEventSourceMapping_SelfManagedEventSourceProperty{
			Endpoints: &awslambda.CfnEventSourceMapping_EndpointsProperty{
				KafkaBootstrapServers: jsii.Strings(from.BootstrapServers...),
			},
		}
		if from.ConsumerGroup != "" {
			props.SelfManagedKafkaEventSourceConfig =
				&awslambda.CfnEventSourceMapping_SelfManagedKafkaEventSourceConfigProperty{
					ConsumerGroupId: &from.ConsumerGroup,
				}
		}
	} else {
		a.function.AddToRolePolicy(allow([]string{"kafka:DescribeCluster", "kafka:DescribeClusterV2",
			"kafka:GetBootstrapBrokers"}, from.ClusterARN))
		if from.ConsumerGroup != "" {
			props.AmazonManagedKafkaEventSourceConfig =
				&awslambda.CfnEventSourceMapping_AmazonManagedKafkaEventSourceConfigProperty{
					ConsumerGroupId: &from.ConsumerGroup,
				}
		}
	}
	var access []any
	for _, c := range from.Access {
		access = append(access,
			&awslambda.CfnEventSourceMapping_SourceAccessConfigurationProperty{Type: &c.Type, Uri: &c.URI})
		if strings.Contains(c.URI, ":secretsmanager:") {
			a.function.AddToRolePolicy(allow([]string{"secretsmanager:GetSecretValue"}, &c.URI))
		}
	}
	if access != nil {
		props.SourceAccessConfigurations = access
	}
	// What Lambda does to reach a cluster within a VPC; none of these actions takes a narrower
	// resource.
	a.function.AddToRolePolicy(allow([]string{
		"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces",
		"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
	}, jsii.String("*")))
	suppress(policyOf(a.function), anyResource)
	a.mapped(props)
}
