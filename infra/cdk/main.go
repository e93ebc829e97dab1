// Command cdk is the CDK app of Streamsort: `cdk synth` and `cdk deploy` run
// it. README.md says how to configure it.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if _, err := addStack(app); err != nil {
		fmt.Fprintln(os.Stderr, err)
		jsii.Close()
		os.Exit(1)
	}
	app.Synth(nil)
}
