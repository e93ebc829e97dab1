// Command app is a new user's stack: Streamsort, and a function in Go behind its cursors' stream.
package main

import (
	"log"
	"runtime"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("App"), nil)
	architecture, processor := streamsort.ARM64, awslambda.Architecture_ARM_64()
	if runtime.GOARCH == "amd64" { // to run on this machine as it is
		architecture, processor = streamsort.AMD64, awslambda.Architecture_X86_64()
	}
	if err := streamsort.Build("dist", architecture, "./consumer"); err != nil {
		log.Fatal(err)
	}
	orders, err := streamsort.New(stack, "Orders",
		&streamsort.Props{Binaries: "dist", Architecture: architecture, Removal: streamsort.Destroy})
	if err != nil {
		log.Fatal(err)
	}
	books := awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		FunctionName: jsii.String("books"), Runtime: awslambda.Runtime_PROVIDED_AL2023(),
		Handler: jsii.String("bootstrap"), Architecture: processor,
		Code:    awslambda.Code_FromAsset(jsii.String("dist/consumer"), nil),
		Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
	})
	if err := orders.AddConsumer("Books", books, streamsort.Consumer{Name: "books"}); err != nil {
		log.Fatal(err)
	}
	app.Synth(nil)
}
