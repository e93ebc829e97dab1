package main

import (
	"errors"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
)

// addSources adds a source of each kind, as the tests of the local stack have them: those that it
// runs, and those whose events are handed to their functions there. A bucket is not among them,
// whose notifications the CDK sets up by a function of its own; its notifications come by a queue
// here.
func addSources(stack *streamsort.Stack) error {
	scope := stack.Stack
	const account = "account"
	payments := awssqs.NewQueue(scope, jsii.String("Payments"), nil)
	notified := awssqs.NewQueue(scope, jsii.String("Notified"), nil)
	ledger := awssqs.NewQueue(scope, jsii.String("Ledger"),
		&awssqs.QueueProps{Fifo: jsii.Bool(true), ContentBasedDeduplication: jsii.Bool(true)})
	accounts := awsdynamodb.NewTableV2(scope, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{
		TableName: jsii.String("accounts"), PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"),
			Type: awsdynamodb.AttributeType_STRING},
		DynamoStream: awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
	})
	return errors.Join(
		stack.AddSource("Payments",
			streamsort.Source{Name: "src", From: payments, Queue: account, Seq: "n"}),
		stack.AddSource("Inbox", streamsort.Source{Name: "src", From: notified, Kind: "s3"}),
		stack.AddSource("Ledger", streamsort.Source{Name: "src", From: ledger}),
		stack.AddSource("Changes", streamsort.Source{Name: "src",
			From: awssns.NewTopic(scope, jsii.String("Topic"), nil), Queue: account}),
		stack.AddSource("Orders", streamsort.Source{
			Name: "src", From: awsevents.NewEventBus(scope, jsii.String("Bus"), nil),
			Pattern: &awsevents.EventPattern{Source: jsii.Strings("com.example.orders")},
			Queue:   account, Key: "@time,n", KeyType: "time,number",
		}),
		stack.AddSource("Clicks",
			streamsort.Source{Name: "src", From: awskinesis.NewStream(scope, jsii.String("Clicks"), nil)}),
		stack.AddSource("Accounts", streamsort.Source{Name: "src", From: accounts}),
		stack.AddSource("Trades",
			streamsort.Source{Name: "src",
				From: streamsort.Kafka{BootstrapServers: []string{"b-1.example.com:9096"},
					Topic: "trades", Pollers: 1}}),
	)
}
