// Command deploy runs `cdk deploy` in infra/cdk with the pinned CDK command and whatever arguments
// it is given, and says in a sentence what is wrong where the account is not bootstrapped,
// credentials are missing or the command is another version. `make deploy` runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := deploy(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func deploy(ctx context.Context, args []string) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	cli, err := cdkcli.Open(root)
	if err != nil {
		return err
	}
	return cli.Run(ctx, cdkcli.Call{
		Args: append([]string{"deploy"}, args...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
}
