// Package cdkcli runs the CDK command that infra/cdk pins, and says in a sentence what was wrong
// where it fails for one of the usual reasons.
//
// Call [Open], which refuses another version of the command than the pinned one ([Pinned]), then
// [CLI.Run].
package cdkcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/streamsort/streamsort/internal/dev/child"
)

// CLI is an installed CDK command.
type CLI struct {
	// Folder is infra/cdk, where it runs.
	Folder string
	script string
}

// Open finds the command that `npm ci` installed in infra/cdk of the project at root. The error
// says what to type where it is missing, or is not the version that infra/cdk/package.json pins.
func Open(root string) (*CLI, error) {
	folder := filepath.Join(root, "infra", "cdk")
	pinned, err := Pinned(root)
	if err != nil {
		return nil, err
	}
	installed := filepath.Join(folder, "node_modules", "aws-cdk")
	var command struct{ Version string }
	if err := readJSON(filepath.Join(installed, "package.json"), &command); errors.Is(err,
		os.ErrNotExist) {
		return nil, errors.New("the CDK command is not installed: run npm ci in infra/cdk")
	} else if err != nil {
		return nil, err
	}
	if command.Version != pinned {
		why := ""
		if command.Version == "3.0.0" {
			why = " (3.0.0 is a mistaken release, which cannot read what the app writes)"
		}
		return nil, fmt.Errorf("the CDK command is version %s, not %s, which infra/cdk pins%s: run npm ci in infra/cdk", command.Version, pinned, why)
	}
	return &CLI{Folder: folder, script: filepath.Join(installed, "bin", "cdk")}, nil
}

// Pinned is the version of the command that infra/cdk of the project at root pins.
func Pinned(root string) (string, error) {
	var project struct{ DevDependencies, Dependencies map[string]string }
	err := readJSON(filepath.Join(root, "infra", "cdk", "package.json"), &project)
	return project.DevDependencies["aws-cdk"] + project.Dependencies["aws-cdk"], err
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Call is one run of the command.
type Call struct {
	Args []string
	// Env is the environment; nil means this process's.
	Env []string
	// Folder is where it runs; empty means infra/cdk.
	Folder         string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the command. The error is a sentence where the reason is known, and else what the
// command ended with, and printed where that goes nowhere.
func (c *CLI) Run(ctx context.Context, call Call) error {
	said := &child.Tail{Size: 64 << 10}
	command := exec.CommandContext(ctx, "node", append([]string{c.script}, call.Args...)...)
	command.Dir, command.Env, command.Stdin = cmp.Or(call.Folder, c.Folder), call.Env,
		call.Stdin
	// A terminal is passed on as it is: the command asks its questions there.
	command.Stdout, command.Stderr = call.Stdout, io.MultiWriter(orDiscard(call.Stderr), said)
	if file, ok := call.Stdout.(*os.File); !ok || !isatty.IsTerminal(file.Fd()) {
		command.Stdout = io.MultiWriter(orDiscard(call.Stdout), said)
	}
	err := command.Run()
	if err == nil {
		return nil
	}
	if sentence := Explain(said.String()); sentence != "" {
		return errors.New(sentence)
	}
	if call.Stderr == nil {
		err = fmt.Errorf("%w\n%s", err, said)
	}
	return fmt.Errorf("cdk %s: %w", call.Args[0], err)
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// Explain is a sentence about what the command said before it failed; empty where the reason is not
// among the known ones.
func Explain(said string) string {
	for _, known := range []struct{ part, sentence string }{
		{"Maximum schema version supported", "the CDK command is too old for what the app writes (3.0.0 is a mistaken release of 2025): run npm ci in infra/cdk, and start it with npx"},
		{"Has the environment been bootstrapped", notBootstrapped},
		{"has not been bootstrapped", notBootstrapped},
		{"ExpiredToken", "the AWS credentials have expired: log in again"},
		{"security token included in the request is expired", "the AWS credentials have expired: log in again"},
		{"security token included in the request is invalid", "AWS does not know these credentials: look at AWS_PROFILE, or at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{"Unable to resolve AWS account", noCredentials},
		{"no credentials have been configured", noCredentials},
		{"unable to get a confirmation from the user", "the CDK command asks before it changes rights, and there is no terminal to answer at: look at them with npx cdk diff in infra/cdk, then add --require-approval never (make deploy ARGS='--require-approval never')"},
		{"Unable to determine AWS region", "there is no AWS region: set AWS_REGION"},
	} {
		if strings.Contains(said, known.part) {
			return known.sentence
		}
	}
	return ""
}

const (
	notBootstrapped = "this account has not been bootstrapped for the CDK in this region: run, once, npx cdk bootstrap aws://ACCOUNT/REGION in infra/cdk"
	noCredentials   = "there are no AWS credentials that AWS takes: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION"
)
