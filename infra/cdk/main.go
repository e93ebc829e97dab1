// Command cdk is the CDK app of Streamsort: `cdk synth` and `cdk deploy` run it. README.md says how
// to configure it. With -release it writes the template of a release instead, which CloudFormation
// deploys without the CDK.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	version := flag.String("release", "",
		"write the template of the release of this version, such as 1.2.3, to -out")
	out := flag.String("out", "", "the file to write; its folder is made")
	flag.Parse()
	err := app(*version, *out)
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func app(version, out string) error {
	if version != "" || out != "" {
		return release(version, out)
	}
	app := awscdk.NewApp(nil)
	if _, err := addStack(app); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
