// Command deploylocal deploys the stack without an AWS account: a real `cdk bootstrap` and `cdk
// deploy` on MiniStack, with IAM enforced; messages through each way in to a consumer's Lambda
// function; a changed stack deployed over it while messages are under way; `cdk diff`, `cdk
// destroy`; and without the CDK, the template and zips of a release by CloudFormation. It ends with
// 1 if a message is lost, repeated or out of order, or a step fails. `make verify S=deploy` runs
// it; docs/internals/testing.md says what the server cannot show.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("INPUT"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploylocal:", err)
		os.Exit(1)
	}
}
