// Command shop is a CDK app of a user's own: a stack with a Streamsort in it, a Lambda function
// that consumes its messages, and a queue that its process delivers them to. `npx cdk deploy` runs
// it; README.md has the rest.
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if _, err := addShop(app); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		jsii.Close()
		os.Exit(1)
	}
	app.Synth(nil)
}

// addShop makes the stack. The CDK's context may say architecture=amd64, and try=true: a stack that
// is made to be thrown away.
func addShop(app awscdk.App) (awscdk.Stack, error) {
	said := func(key string) string {
		value, _ := app.Node().TryGetContext(&key).(string)
		return value
	}
	architecture := streamsort.Architecture(cmp.Or(said("architecture"), string(streamsort.ARM64)))
	binaries := filepath.Join(cmp.Or(said("binaries"), "dist"), string(architecture))
	if err := streamsort.Build(binaries, architecture, "./consumer"); err != nil {
		return nil, err
	}
	props := &streamsort.Props{Binaries: binaries, Architecture: architecture}
	if said("try") == "true" {
		props.Removal, props.SavedQueries = streamsort.Destroy, jsii.Bool(false)
	}

	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	orders, err := streamsort.New(stack, "Orders", props)
	if err != nil {
		return nil, err
	}
	books := awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Architecture: processor(architecture),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(binaries, "consumer")), nil),
		MemorySize:   jsii.Number(512), Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
	})
	streamsort.BuiltFrom(books, "consumer")
	if err := orders.AddConsumer("Books", books, streamsort.Consumer{Name: "books"}); err != nil {
		return nil, err
	}
	billing := awssqs.NewQueue(stack, jsii.String("Billing"),
		&awssqs.QueueProps{Fifo: jsii.Bool(true), EnforceSSL: jsii.Bool(true)})
	if err := orders.AddSink(streamsort.Consumer{Name: "billing", To: billing}); err != nil {
		return nil, err
	}
	awscdk.NewCfnOutput(stack, jsii.String("OrdersUrl"),
		&awscdk.CfnOutputProps{Value: orders.APIEndpoint()})
	awscdk.NewCfnOutput(stack, jsii.String("BooksName"),
		&awscdk.CfnOutputProps{Value: books.FunctionName()})
	awscdk.NewCfnOutput(stack, jsii.String("BillingUrl"),
		&awscdk.CfnOutputProps{Value: billing.QueueUrl()})
	return stack, nil
}

func processor(architecture streamsort.Architecture) awslambda.Architecture {
	if architecture == streamsort.AMD64 {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}
